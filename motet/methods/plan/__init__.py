"""Plans and answers found by search over steps."""

from motet.methods.info import Method
from motet.methods.plan.master import master
from motet.methods.plan.plangen import plangen

METHODS: dict[str, Method] = {
    "master": Method(master, "plan", "Gan et al. 2025, arXiv:2501.14304", "≤ 3 * (1 + b * E)", 323),
    "plangen": Method(
        plangen, "plan", "Parmar et al. 2025, arXiv:2502.16111", "≤ 3 + r * (1 + 2 * n * D)", 35
    ),
}

__all__ = ["METHODS", "master", "plangen"]
