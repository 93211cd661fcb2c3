"""Many answers become one: by vote, by judge, or by synthesis."""

from motet.methods.aggregate.adaptive_consistency import adaptive_consistency
from motet.methods.aggregate.best_of_n import best_of_n
from motet.methods.aggregate.focal_diversity import Log, fittest, focal_diversity, read_log
from motet.methods.aggregate.focal_fusion import focal_fusion
from motet.methods.aggregate.focal_training import train_decider, train_fusion
from motet.methods.aggregate.grouped import run_grouped
from motet.methods.aggregate.mixture_of_agents import mixture_of_agents
from motet.methods.aggregate.patched_moa import patched, patched_moa
from motet.methods.aggregate.rank_and_fuse import rank_and_fuse
from motet.methods.aggregate.self_consistency import self_consistency
from motet.methods.aggregate.self_moa import self_moa
from motet.methods.aggregate.self_moa_seq import self_moa_seq
from motet.methods.aggregate.skill_profiles import best_aggregator, skill_probe, skill_profiles
from motet.methods.aggregate.smoa import smoa
from motet.methods.aggregate.symbolic_moe import symbolic_moe
from motet.methods.info import Method

METHODS: dict[str, Method] = {
    "self_consistency": Method(self_consistency, "aggregate", "Wang et al. 2022, arXiv:2203.11171", "n"),
    "best_of_n": Method(best_of_n, "aggregate", "Cobbe et al. 2021, arXiv:2110.14168", "n + min(1, n - 1)"),
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
    "adaptive_consistency": Method(
        adaptive_consistency, "aggregate", "Aggarwal et al. 2023, arXiv:2305.11860", "≤ n"
    ),
    "patched_moa": Method(patched_moa, "aggregate", "Sharma 2024, arXiv:2407.18521", "n + 2", 124),
    "rank_and_fuse": Method(
        rank_and_fuse, "aggregate", "Jiang et al. 2023, arXiv:2306.02561", "n + n * (n - 1) + min(1, k)"
    ),
    "symbolic_moe": Method(symbolic_moe, "aggregate", "Chen et al. 2025, arXiv:2503.05641", "q + k + 1", 141),
    "focal_fusion": Method(focal_fusion, "aggregate", "Tekin et al. 2025, arXiv:2502.04492", "≤ n", 173),
}

__all__ = [
    "METHODS",
    "Log",
    "adaptive_consistency",
    "best_aggregator",
    "best_of_n",
    "fittest",
    "focal_diversity",
    "focal_fusion",
    "mixture_of_agents",
    "patched",
    "patched_moa",
    "rank_and_fuse",
    "read_log",
    "run_grouped",
    "self_consistency",
    "self_moa",
    "self_moa_seq",
    "skill_probe",
    "skill_profiles",
    "smoa",
    "symbolic_moe",
    "train_decider",
    "train_fusion",
]
