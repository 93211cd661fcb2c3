"""An answer is criticised and written again."""

from motet.methods.info import Method
from motet.methods.refine.e2g import e2g
from motet.methods.refine.self_refine import self_refine
from motet.methods.refine.talkhier import talkhier

METHODS: dict[str, Method] = {
    "self_refine": Method(self_refine, "refine", "Madaan et al. 2023, arXiv:2303.17651", "≤ 1 + 2 * r"),
    "e2g": Method(e2g, "refine", "Parvez 2024, arXiv:2401.05787", "2", 4),
    "talkhier": Method(talkhier, "refine", "Wang et al. 2025, arXiv:2502.11098", "≤ 2 + T * (n + 5)", 11),
}

__all__ = ["METHODS", "e2g", "self_refine", "talkhier"]
