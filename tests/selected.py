"""What the general tests of methods need for those that aggregate, select and search."""

from itertools import count
from typing import Any

_NUMBERS = count()
NEVER_DONE: dict[str, dict[str, Any]] = {
    "chase_sql": {"generator": lambda _: "No idea.", "fixer": lambda _: f"Answer: {next(_NUMBERS)}"},
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "patched_moa": [{"n": 1}, {"n": 4}],
    "rank_and_fuse": [{"n": 1, "k": 1}, {"n": 3, "k": 0}, {"n": 4, "k": 2}],
    "symbolic_moe": [{"n": 1, "k": 1, "q": 1}, {"n": 3, "k": 5, "q": 2}],
    "focal_fusion": [{"n": 1}, {"n": 5}],
    "chase_sql": [{"n": 1, "beta": 1}, {"n": 2, "beta": 1}],
    "mcts": [{"n": 1, "simulations": 1, "depth": 0}, {"n": 2, "simulations": 3}, {"depth": 2}],
    "toa": [{"n": 3, "N": 2}, {"n": 2, "N": 9}, {"n": 1, "N": 1}],
}
