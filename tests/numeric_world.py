"""A small world for PettingZoo: each agent sees two numbers and should say whether the first is above 0. What
it earns besides is luck that only the other agent sees."""

import random
from typing import Any

import numpy
from gymnasium.spaces import Box, Discrete

AGENTS = ("left", "right")


class ParallelWorld:
    """Options are those of `parallel_env`."""

    def __init__(self, steps: int, luck: float, continuous: bool) -> None:
        self.possible_agents, self.agents = list(AGENTS), list(AGENTS)
        self.metadata = {"name": "sign"}
        self.steps, self.luck = steps, luck
        self.action: Any = Box(-1, 1, (1,)) if continuous else Discrete(2)

    def action_space(self, agent: str) -> Any:
        return self.action

    def reset(self, seed: int) -> tuple[dict[str, Any], dict[str, Any]]:
        self.rng, self.left = random.Random(seed), self.steps
        return self._look(), {}

    def _look(self) -> dict[str, Any]:
        numbers = {a: [self.rng.uniform(-1, 1), self.rng.uniform(-1, 1)] for a in AGENTS}
        self.seen = {a: numpy.array(x, dtype=numpy.float32) for a, x in numbers.items()}
        return self.seen

    def step(self, actions: dict[str, Any]) -> tuple[Any, ...]:
        right = {a: float((self.seen[a][0] > 0) == bool(actions[a] > 0)) for a in AGENTS}
        luck = {"left": float(self.seen["right"][1]), "right": float(self.seen["left"][1])}
        self.left -= 1
        self.agents = list(AGENTS) if self.left else []
        none = dict.fromkeys(AGENTS, False)
        rewards = {a: right[a] + self.luck * luck[a] for a in AGENTS}
        return self._look(), rewards, none, none, {a: {} for a in AGENTS}

    def close(self) -> None:
        pass


def parallel_env(steps: int = 1, luck: float = 0.0, continuous: bool = False) -> Any:
    return ParallelWorld(steps, luck, continuous)
