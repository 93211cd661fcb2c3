"""A small world for PettingZoo in which seats are of known worth: all earn the same, a point for each seat
among those that count whose number (0 or 1) is the one that all see."""

import random
from typing import Any

import numpy
from gymnasium.spaces import Box, Discrete

AGENTS = ("one", "two", "idle")
COUNT = AGENTS[:2]


class CommonWorld:
    """What `idle` says changes nothing."""

    def __init__(self, steps: int) -> None:
        self.possible_agents, self.agents = list(AGENTS), list(AGENTS)
        self.metadata = {"name": "common"}
        self.left = steps

    def action_space(self, agent: str) -> Any:
        return Discrete(2)

    def observation_space(self, agent: str) -> Any:
        return Box(0, 1, (1,))

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        self.rng = random.Random(seed)
        return self._look(), {}

    def _look(self) -> dict[str, Any]:
        self.wanted = self.rng.randrange(2)
        return {a: numpy.array([self.wanted], dtype=numpy.float32) for a in AGENTS}

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        earned = float(sum(int(actions[a]) == self.wanted for a in COUNT))
        self.left -= 1
        self.agents = list(AGENTS) if self.left else []
        none = dict.fromkeys(AGENTS, False)
        return self._look(), dict.fromkeys(AGENTS, earned), none, none, {a: {} for a in AGENTS}

    def close(self) -> None:
        pass


def parallel_env(steps: int = 4) -> Any:
    return CommonWorld(steps)
