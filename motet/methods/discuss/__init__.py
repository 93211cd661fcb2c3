"""Voices read each other over several rounds."""

from motet.methods.discuss.agent4debate import agent4debate, winner
from motet.methods.discuss.debate import debate, judged_debate
from motet.methods.discuss.discussion import discussion
from motet.methods.discuss.dylan import dylan
from motet.methods.discuss.elo import elo_ratings
from motet.methods.discuss.evidence import Evidence, evidence
from motet.methods.discuss.guard import Guard, distil
from motet.methods.discuss.importance import best_agents, importance_scores
from motet.methods.discuss.jail_judge import Verdict, jail_judge, verdict
from motet.methods.discuss.meters import Drift, drift, message_shares, monopoly
from motet.methods.info import Method

METHODS: dict[str, Method] = {
    "debate": Method(debate, "discuss", "Du et al. 2023, arXiv:2305.14325", "≤ n * (r + 1)", 169),
    "judged_debate": Method(
        judged_debate, "discuss", "Yang et al. 2025, arXiv:2505.22960", "≤ n * (r + 1) + min(1, n - 1)", 169
    ),
    "dylan": Method(
        dylan,
        "discuss",
        "Liu et al. 2023, arXiv:2310.02170",
        "≤ n * ceil(T / 2) + min(1, T - 1) + k * floor(T / 2)",
        310,
    ),
    "discussion": Method(
        discussion, "discuss", "Becker 2024, arXiv:2410.22932", "≤ 1 + T * (1 + (n - 1) * D)", 244
    ),
    "agent4debate": Method(
        agent4debate, "discuss", "Zhang et al. 2024, arXiv:2408.04472", "≤ 22 + 12 * R", 202
    ),
    "jail_judge": Method(jail_judge, "discuss", "Liu et al. 2024, arXiv:2410.12855", "≤ k + v + 2", 290),
}

__all__ = [
    "METHODS", "Drift", "Evidence", "Guard", "Verdict", "agent4debate", "best_agents", "debate", "discussion",
    "distil", "drift", "dylan", "elo_ratings", "evidence", "importance_scores", "jail_judge", "judged_debate",
    "message_shares", "monopoly", "verdict", "winner",
]  # fmt: skip
