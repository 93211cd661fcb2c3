"""Programs, mended by running them."""

from motet.methods.code.agent_coder import agent_coder
from motet.methods.code.attempts import EditTree
from motet.methods.code.chase_sql import chase_sql
from motet.methods.code.codecor import codecor
from motet.methods.code.swe_search import swe_search
from motet.methods.info import Method

METHODS: dict[str, Method] = {
    "agent_coder": Method(
        agent_coder, "code", "Huang et al. 2023, arXiv:2312.13010", "≤ 1 + r + min(1, r)", 2
    ),
    "chase_sql": Method(
        chase_sql,
        "code",
        "Pourreza et al. 2024, arXiv:2410.01943",
        "≤ 2 + 3 * n * (1 + beta) + 3 * n * (3 * n - 1)",
        34,
    ),
    "codecor": Method(
        codecor, "code", "Pan et al. 2025, arXiv:2501.07811", "≤ 3 * n + 2 + r * (2 * n + 1)", 56
    ),
    "swe_search": Method(
        swe_search,
        "code",
        "Antoniades et al. 2024, arXiv:2410.20285",
        "≤ 2 * iterations + n * R + 1",
        321,
    ),
}

__all__ = ["METHODS", "EditTree", "agent_coder", "chase_sql", "codecor", "swe_search"]
