"""Who works with whom, on what, is settled as the work goes on."""

from motet.methods.info import Method
from motet.methods.organise.agent_verse import agent_verse
from motet.methods.organise.internet_of_agents import internet_of_agents
from motet.methods.organise.magentic_one import magentic_one
from motet.methods.organise.meta_gpt import meta_gpt
from motet.methods.organise.self_organized import self_organized
from motet.methods.organise.workforce import workforce

METHODS: dict[str, Method] = {
    "agent_verse": Method(
        agent_verse, "organise", "Chen et al. 2023, arXiv:2308.10848", "≤ T * (n * k + 4)", 73
    ),
    "meta_gpt": Method(
        meta_gpt, "organise", "Hong et al. 2023, arXiv:2308.00352", "≤ 4 + r + min(1, r)", 200
    ),
    "magentic_one": Method(
        magentic_one,
        "organise",
        "Fourney et al. 2024, arXiv:2411.04468",
        "≤ 3 + 2 * T + floor((T - 1) / S)",
        293,
    ),
    "workforce": Method(
        workforce, "organise", "Hu et al. 2025, arXiv:2505.23885", "≤ (1 + r) * (m + 2) + 1", 420
    ),
    "self_organized": Method(
        self_organized,
        "organise",
        "Ishibashi and Nishimura 2024, arXiv:2404.02183",
        "≤ min(1, r) + (1 + r) * (b ** D - 1) / (b - 1)",
        5,
    ),
    "internet_of_agents": Method(
        internet_of_agents,
        "organise",
        "Chen et al. 2024, arXiv:2407.07061",
        "≤ (t + 3) * (t ** D - 1) / (t - 1) + t ** D",
        172,
    ),
}

__all__ = [
    "METHODS",
    "agent_verse",
    "internet_of_agents",
    "magentic_one",
    "meta_gpt",
    "self_organized",
    "workforce",
]
