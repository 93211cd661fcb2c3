"""What the general tests of methods need for those that route and compose."""

import json
import re
from typing import Any

from motet.methods.route.controller import NOBODY_ELSE, Controller, D
from motet.methods.route.features import features
from motet.methods.route.mas_router import MODES


def everybody_debates() -> Controller:
    """A controller that always draws a debate, and the largest team."""
    mode, stop = features(MODES["debate"], D), features(NOBODY_ELSE, D)
    rest = ((0.0,) * D,) * (3 * D)
    return Controller(
        mode=(tuple(1000 * x for x in mode), *rest[:D]), role=(tuple(-1000 * x for x in stop), *rest)
    )


def skills(prompt: str) -> str:
    """As many skills as are allowed, each of an agent of its own."""
    found = re.search(r"at most (\d+) skills", prompt)
    names = [f"agents_{i + 1}" for i in range(int(found[1]))] if found else []
    needed = [{"skill": name, "weight": 1, "probes": ["1?", "2?", "3?"]} for name in names]
    return json.dumps({"skills": needed}) if found else "Answer: 42"


def parts(prompt: str) -> str:
    """As many subtasks as are allowed, for the first agent."""
    found = re.search(r"at most (\d+) subtasks", prompt)
    subtasks = [{"agent": "agents_1", "do": f"part {i}"} for i in range(int(found[1]))] if found else []
    return json.dumps({"subtasks": subtasks}) if found else "Answer: 42"


NEVER_DONE: dict[str, dict[str, Any]] = {
    "knapsack_composer": {
        "composer": skills,
        "judge": lambda _: '{"helpful": true}',
        "agents": [lambda _: "Answer: 42"] * 3,
    },
    "agent_store": {"manager": parts},
}
QUICK: dict[str, dict[str, Any]] = {"mas_router": {"controller": everybody_debates()}}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "llm_selector": [{}],
    "mas_router": [{"gamma": 1}, {"gamma": 3}],
    "knapsack_composer": [{"m": m, "K": 1, "q": q, "B": 9.0} for m, q in [(1, 1), (2, 1), (3, 2)]],
    "free_agents": [{"n": 1}, {"n": 5}, {"n": 3, "active": (2, 0), "trial": (1,)}],
    "agent_store": [{"k": 2}, {"k": 4}],
    "improper_mixture": [{"T": 1}, {"T": 3}],
}
