"""How sure a number is: intervals for one mean, for the difference of two, and exact tests.

Numpy is imported only when something is resampled.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

from msgspec import Struct

from motet.errors import BadInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

CELLS = 1 << 22  # counts drawn at once, which bounds memory


class Interval(Struct, frozen=True, omit_defaults=True):
    """A mean and the interval that holds the truth with the confidence asked for.

    `p` is the two-sided p-value of 'the truth is 0', where one was computed.
    """

    mean: float
    low: float
    high: float
    p: float | None = None


def mean_ci(
    values: Sequence[float], *, level: float = 0.95, resamples: int = 10_000, seed: int = 0
) -> Interval:
    """Mean with its interval: Wilson's for zeros and ones, the bootstrap's for anything else.

    One value that is not 0 or 1 tells nothing of its spread: its interval is unbounded. The bootstrap's is
    widened by sqrt(n / (n - 1)), so for a few values it may pass the ends of their range.

    Raises:
        BadInput: no values, or one that is not a finite number.
    """
    _check(values)
    if all(value in (0, 1) for value in values):
        return wilson(round(sum(values)), len(values), level=level)
    means = _resample(values, resamples, seed)
    return Interval(math.fsum(values) / len(values), *_percentiles(means, level))


def wilson(successes: int, n: int, *, level: float = 0.95) -> Interval:
    """Interval of a proportion (Wilson, 1927): sound for small `n` and near 0 and 1."""
    if not 0 <= successes <= n or n < 1:
        raise BadInput(f"{successes!r} successes of {n!r}: expected 0 <= successes <= n and n >= 1")
    z = NormalDist().inv_cdf((1 + level) / 2)
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return Interval(p, 0.0 if successes == 0 else centre - half, 1.0 if successes == n else centre + half)


def paired_bootstrap(
    a: Sequence[float], b: Sequence[float], *, resamples: int = 10_000, seed: int = 0, level: float = 0.95
) -> Interval:
    """Mean of `a - b` over the same items, with a percentile interval and a two-sided p-value.

    Items are resampled in pairs, so what makes an item hard for both cancels. Where all differences are
    equal there is nothing to resample and the interval is a point: see `never_seen`.

    Raises:
        BadInput: lengths differ, are zero, or a value is not a finite number.
    """
    if len(a) != len(b):
        raise BadInput(f"got {len(a)} and {len(b)} values; pairs need as many of each, in the same order")
    differences = [x - y for x, y in zip(a, b, strict=True)]
    _check(differences)
    means = _resample(differences, resamples, seed)
    tail = min(int((means <= 0).sum()), int((means >= 0).sum()))
    p = min(1.0, 2 * (tail + 1) / (resamples + 1))
    return Interval(math.fsum(differences) / len(differences), *_percentiles(means, level), p)


def never_seen(n: int, *, level: float = 0.95) -> float:
    """How often something may happen that was not seen in `n` draws (Clopper and Pearson, 1934).

    >>> round(never_seen(100), 3)
    0.036
    """
    return float(1 - ((1 - level) / 2) ** (1 / n))


def mcnemar(a: Sequence[float], b: Sequence[float]) -> float:
    """Exact two-sided p-value that `a` and `b` (zeros and ones, same items) are equally good.

    Only the items that one got right and the other wrong count (McNemar, 1947; the binomial form).
    """
    if len(a) != len(b) or any(value not in (0, 1) for value in (*a, *b)):
        raise BadInput(f"got {len(a)} and {len(b)} values; expected zeros and ones, as many of each")
    wins = sum(x > y for x, y in zip(a, b, strict=True))
    losses = sum(x < y for x, y in zip(a, b, strict=True))
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / (1 << n))


def binomial_majority(p: float, n: int) -> float:
    """How often the majority of `n` independent voices is right, each right with chance `p`, two answers.

    Exact (Condorcet, 1785); a draw, possible for even `n`, is decided by a coin.
    """
    if not 0 <= p <= 1 or n < 1:
        raise BadInput(f"p={p!r}, n={n!r}: expected 0 <= p <= 1 and n >= 1")

    chance = Fraction(p)

    def right(k: int) -> Fraction:
        return math.comb(n, k) * chance**k * (1 - chance) ** (n - k)

    draw = right(n // 2) / 2 if n % 2 == 0 else 0
    return float(sum(right(k) for k in range(n // 2 + 1, n + 1)) + draw)


def _check(values: Sequence[float]) -> None:
    if not values:
        raise BadInput("no values: a mean needs at least one")
    for i, value in enumerate(values):
        if not math.isfinite(value):
            raise BadInput(f"value {i} is {value!r}; expected a finite number (a failure counts as 0)")


def _resample(values: Sequence[float], resamples: int, seed: int) -> "Floats":
    """Means of `resamples` bootstrap samples.

    Drawing how often each distinct value comes up is the same as drawing items, and cheap for marks. The
    spread is widened by sqrt(n / (n - 1)): the plain bootstrap's is that of the biased variance.
    """
    import numpy as np

    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    n, rng = len(values), np.random.default_rng(seed)
    rows = max(1, CELLS // len(distinct))
    means = np.concatenate(
        [
            rng.multinomial(n, counts / n, size=min(rows, resamples - done)) @ distinct / n
            for done in range(0, resamples, rows)
        ]
    )
    if n == 1:
        return np.where(np.arange(resamples) % 2, np.inf, -np.inf)
    mean = float(np.mean(values))
    return mean + (means - mean) * math.sqrt(n / (n - 1))


def _percentiles(means: "Floats", level: float) -> tuple[float, float]:
    import numpy as np

    if np.isinf(means).any():
        return -math.inf, math.inf
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
