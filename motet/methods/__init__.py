"""Published inference methods, one small file each, in folders by mechanism.

Each is a team: cast it, set its knobs, run it. `METHODS` says where each comes from and what it costs.

>>> from motet import Task
>>> self_consistency(n=3).cast("sim:skill=1").run(Task("2 + 2?", target="4", kind="number")).answer
'4'
"""

from motet.errors import UnknownName
from motet.methods.aggregate.best_of_n import best_of_n
from motet.methods.aggregate.mixture_of_agents import mixture_of_agents
from motet.methods.aggregate.self_consistency import self_consistency
from motet.methods.aggregate.self_moa import self_moa
from motet.methods.aggregate.self_moa_seq import self_moa_seq
from motet.methods.aggregate.smoa import smoa
from motet.methods.code.agent_coder import agent_coder
from motet.methods.discuss.debate import debate
from motet.methods.discuss.dylan import best_agents, dylan, importance_scores
from motet.methods.info import Method
from motet.methods.refine.self_refine import self_refine
from motet.methods.route.cascade import cascade
from motet.methods.single.chain_of_thought import chain_of_thought
from motet.methods.single.direct import direct

METHODS: dict[str, Method] = {
    "direct": Method(direct, "single", "none: the baseline", "1"),
    "chain_of_thought": Method(chain_of_thought, "single", "Kojima et al. 2022, arXiv:2205.11916", "1"),
    "self_consistency": Method(self_consistency, "aggregate", "Wang et al. 2022, arXiv:2203.11171", "n"),
    "best_of_n": Method(best_of_n, "aggregate", "Cobbe et al. 2021, arXiv:2110.14168", "n + 1"),
    "mixture_of_agents": Method(
        mixture_of_agents, "aggregate", "Wang et al. 2024, arXiv:2406.04692", "n * (layers - 1) + 1"
    ),
    "self_moa": Method(self_moa, "aggregate", "Li et al. 2025, arXiv:2502.00674", "n + 1", 120),
    "self_moa_seq": Method(
        self_moa_seq,
        "aggregate",
        "Li et al. 2025, arXiv:2502.00674",
        "n + max(0, ceil((n - w) / (w - 1))) + 1",
        120,
    ),
    "smoa": Method(smoa, "aggregate", "Li et al. 2024, arXiv:2411.03284", "≤ (n + 2) * (layers - 1)", 121),
    "self_refine": Method(self_refine, "refine", "Madaan et al. 2023, arXiv:2303.17651", "≤ 1 + 2 * r"),
    "debate": Method(debate, "discuss", "Du et al. 2023, arXiv:2305.14325", "≤ n * (r + 1)", 169),
    "dylan": Method(
        dylan,
        "discuss",
        "Liu et al. 2023, arXiv:2310.02170",
        "≤ n * ceil(T / 2) + min(1, T - 1) + k * floor(T / 2)",
        310,
    ),
    "agent_coder": Method(agent_coder, "code", "Huang et al. 2023, arXiv:2312.13010", "≤ 2 + r", 2),
    "cascade": Method(cascade, "route", "Yue et al. 2023, arXiv:2310.03094", "≤ k + 1"),
}


def method(name: str) -> Method:
    """Find a method by name.

    Raises:
        UnknownName: there is none; close names are given.
    """
    if name not in METHODS:
        raise UnknownName("method", name, METHODS)
    return METHODS[name]


__all__ = [
    "METHODS", "Method", "agent_coder", "best_agents", "best_of_n", "cascade", "chain_of_thought", "debate",
    "direct", "dylan", "importance_scores", "method", "mixture_of_agents", "self_consistency", "self_moa",
    "self_moa_seq", "self_refine", "smoa",
]  # fmt: skip
