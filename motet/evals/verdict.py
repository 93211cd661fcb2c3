"""What a comparison comes to, in one plain sentence a method."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import Literal

from msgspec import Struct

from motet.evals.stats import Interval
from motet.viewer.words import count

WORTH = 0.01
"""A gain that is surely smaller than this (one point) counts as none."""

FEWEST = 10
"""From fewer items nothing is concluded: a bootstrap of so few knows nothing of the rest."""

UNSEEN = 370
"""So many items without a difference rule out one of a point (`never_seen`)."""

Finding = Literal["earned", "not_earned", "unclear"]


class Verdict(Struct, frozen=True):
    """A finding and the sentence that says it. `items_needed` is there when nothing could be told."""

    finding: Finding
    sentence: str
    items_needed: int | None = None


def judge(name: str, gains: Sequence[float], gain: Interval, against: str, currency: str) -> Verdict:
    """Say whether a method was worth what it spent.

    Args:
        name: the method.
        gains: its gain on each item over the baseline, -1 to 1.
        gain: the mean of these and its 95% interval.
        against: the baseline in words, e.g. `self-consistency (n=5) at equal tokens`.
        currency: what was spent: `tokens`, `calls` or `money`.
    """
    over = f"{'against' if gain.mean < 0 else 'over'} {against}"
    interval = f"95% CI {points(gain.low)} to {points(gain.high)}"
    found = f"{points(gain.mean, signed=True)} points ({interval}) {over}"
    if len(gains) >= FEWEST:
        if gain.low > 0:
            return Verdict("earned", f"{name} earned its {currency}: {found}.")
        if gain.high < WORTH:
            return Verdict("not_earned", f"{name} did not earn its {currency}: {found}.")
    needed = max(items_needed(gains), FEWEST)
    wish = f"about {needed:,} items would be needed" if needed > len(gains) else "more items would be needed"
    return Verdict(
        "unclear",
        f"cannot tell from {count(len(gains), 'item')} whether {name} earned its {currency}: "
        f"{found}; {wish}.",
        needed,
    )


def items_needed(gains: Sequence[float]) -> int:
    """Items with which a gain as large as the one seen (a point at least) would be found four times in
    five, at 5% error on both sides, given how much gains differ from item to item.

    Two digits are kept: it is an estimate.
    """
    if len(gains) < 2 or not (spread := stdev(gains)):
        return FEWEST if any(gains) else UNSEEN
    effect = max(abs(fmean(gains)), WORTH)
    exact = ((1.96 + 0.84) * spread / effect) ** 2
    step: int = 10 ** max(0, int(math.log10(exact)) - 1) if exact >= 1 else 1
    return step * math.ceil(exact / step)


def points(share: float, digits: int = 1, *, signed: bool = False) -> str:
    """A share in points, with a true minus sign and no minus zero.

    >>> points(-0.051), points(0.08, signed=True)
    ('−5.1', '+8.0')
    """
    return f"{round(100 * share, digits) + 0.0:{'+' if signed else ''}.{digits}f}".replace("-", "−")
