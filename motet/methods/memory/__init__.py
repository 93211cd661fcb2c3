"""What was learned and lived through before: kept, recalled, and reflected upon."""

from motet.methods.info import Method
from motet.methods.memory.experience import Episode, Experience
from motet.methods.memory.generative_agents import generative_agents, reflect
from motet.methods.memory.stream import Stream
from motet.methods.memory.xolver import xolver

METHODS: dict[str, Method] = {
    "xolver": Method(xolver, "memory", "Hosain et al. 2025, arXiv:2506.14234", "≤ 2 + 2 * T * m", 398),
    "generative_agents": Method(
        generative_agents, "memory", "Park et al. 2023, arXiv:2304.03442", "≤ n + r * (1 + q) + 1", 54
    ),
}

__all__ = ["METHODS", "Episode", "Experience", "Stream", "generative_agents", "reflect", "xolver"]
