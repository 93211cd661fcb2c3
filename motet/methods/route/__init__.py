"""Who should answer: the cheap voice or the strong one, which model in which seat, which agents of many."""

from motet.methods.info import Method
from motet.methods.route.agent_store import agent_store, token_chances
from motet.methods.route.agent_tokens import Entry, self_instruct, train_tokens
from motet.methods.route.allocation import Allocation, allocate
from motet.methods.route.cascade import cascade
from motet.methods.route.controller import Controller
from motet.methods.route.free_agents import free_agents
from motet.methods.route.improper_critic import actor_critic
from motet.methods.route.improper_learning import Episode, ascend, train_mixture
from motet.methods.route.improper_mixture import improper_mixture
from motet.methods.route.knapsack import Knapsack, psi
from motet.methods.route.knapsack_composer import knapsack_composer
from motet.methods.route.llm_selector import llm_selector
from motet.methods.route.mas_router import mas_router
from motet.methods.route.router_training import train_router
from motet.methods.route.season import Roster, season

METHODS: dict[str, Method] = {
    "cascade": Method(cascade, "route", "Yue et al. 2023, arXiv:2310.03094", "≤ k + 1"),
    "llm_selector": Method(llm_selector, "route", "Chen et al. 2025, arXiv:2502.14815", "3", 231),
    "mas_router": Method(
        mas_router,
        "route",
        "Yue et al. 2025, arXiv:2502.11133",
        "≤ gamma * (1 + min(1, gamma - 1))",
        278,
    ),
    "knapsack_composer": Method(
        knapsack_composer,
        "route",
        "Yuan et al. 2025, arXiv:2510.16499",
        "≤ 1 + 2 * m * K * q + m + min(1, m - 1)",
        167,
    ),
    "free_agents": Method(free_agents, "route", "Liu 2025, arXiv:2501.17903", "≤ n", 71),
    "agent_store": Method(agent_store, "route", "Jia et al. 2024, arXiv:2410.18603", "≤ k + 2", 176),
    "improper_mixture": Method(improper_mixture, "route", "Zaki et al. 2022, arXiv:2207.09090", "T", 196),
}

__all__ = [
    "METHODS",
    "Allocation",
    "Controller",
    "Entry",
    "Episode",
    "Knapsack",
    "Roster",
    "actor_critic",
    "agent_store",
    "allocate",
    "ascend",
    "cascade",
    "free_agents",
    "improper_mixture",
    "knapsack_composer",
    "llm_selector",
    "mas_router",
    "psi",
    "season",
    "self_instruct",
    "token_chances",
    "train_mixture",
    "train_router",
    "train_tokens",
]
