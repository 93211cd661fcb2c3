"""The numbers that go into every formula: two groups of four replies of up to five tokens."""

from random import Random

GROUPS, SIZE, WIDTH = 2, 4, 5
ROWS = GROUPS * SIZE
_RANDOM = Random("golden")


def _table(low: float, high: float) -> list[list[float]]:
    return [[round(_RANDOM.uniform(low, high), 3) for _ in range(WIDTH)] for _ in range(ROWS)]


LENGTHS = [5, 3, 4, 1, 2, 5, 3, 4]
REWARDS = [0.0, 1.0, 0.5, 1.0, 0.25, 0.0, 0.0, 1.0]
OLD = _table(-4.0, -0.5)
LOGP = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(OLD, _table(-0.6, 0.45), strict=True)]
REFERENCE = [[x + y for x, y in zip(a, b, strict=True)] for a, b in zip(OLD, _table(-0.7, 0.3), strict=True)]
ADVANTAGES = [row[0] for row in _table(-2.0, 2.0)]
VALUES = _table(-1.0, 1.0)
OBSERVED = (5, 1)
"""Row and token of something that was not sampled, but stands between tokens that were."""
DESIRED = [True, False, True, True, False, True, False, False]
LOW, HIGH, DUAL, BETA, GAMMA, LAMBDA = 0.2, 0.28, 1.5, 0.1, 0.95, 0.9
LONGEST, CACHE = 5, 3
"""DAPO's soft penalty sets in at LONGEST - CACHE tokens."""
