"""What each voice was worth: the team with it against the team without it.

`value(coalition)` is the team's reward when only these voices sing, found by replaying the tape without the
others; it is asked once for each coalition. Replays for n voices: leave-one-out n + 1, exact Shapley 2ⁿ,
sampled Shapley at most n·samples + 1.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from itertools import combinations
from math import comb, fsum
from random import Random

from motet.errors import BadInput

Value = Callable[[frozenset[str]], float]
MOST_EXACT = 12


def leave_one_out(voices: Sequence[str], value: Value) -> dict[str, float]:
    """v(all) − v(all but i): the difference reward (Wolpert & Tumer, 2002), silence being the default."""
    everyone = frozenset(voices)
    whole = value(everyone)
    return {voice: whole - value(everyone - {voice}) for voice in voices}


def shapley(voices: Sequence[str], value: Value) -> dict[str, float]:
    """Exact Shapley values (Shapley, 1953): φ_i = Σ_S |S|!(n−|S|−1)!/n! · (v(S∪i) − v(S)).

    Raises:
        BadInput: more than 12 voices, which would be over 4,096 replays.
    """
    if len(voices) > MOST_EXACT:
        raise BadInput(
            f"exact Shapley values of {len(voices)} voices need {2 ** len(voices):,} replays; "
            f"use shapley_sampled, or at most {MOST_EXACT} voices"
        )
    n, worth = len(voices), cache(value)
    return {
        voice: fsum(
            (worth(frozenset(rest) | {voice}) - worth(frozenset(rest))) / (n * comb(n - 1, size))
            for size in range(n)
            for rest in combinations([v for v in voices if v != voice], size)
        )
        for voice in voices
    }


def shapley_sampled(
    voices: Sequence[str], value: Value, *, samples: int = 100, seed: int = 0
) -> dict[str, float]:
    """Shapley values from orders drawn at random, each with its reverse (Castro et al., 2009; antithetic).

    Unbiased; the values of one order always sum to v(all) − v(nobody), so theirs do too.

    Args:
        samples: how many orders, an odd number being made even.
        seed: of the order's own generator.
    """
    random, worth = Random(seed), cache(value)
    gains: dict[str, list[float]] = {voice: [] for voice in voices}
    for _ in range((samples + 1) // 2):
        order = list(voices)
        random.shuffle(order)
        for line in (order, order[::-1]):
            present: frozenset[str] = frozenset()
            for voice in line:
                gains[voice].append(worth(present | {voice}) - worth(present))
                present |= {voice}
    return {voice: fsum(found) / len(found) for voice, found in gains.items()}


def asked(worth: Callable[[Sequence[str], Value], object], voices: Sequence[str]) -> list[frozenset[str]]:
    """The coalitions whose value a method asks for, so that they can be played beforehand."""
    seen: dict[frozenset[str], None] = {}

    def value(coalition: frozenset[str]) -> float:
        seen.setdefault(coalition)
        return 0.0

    worth(voices, value)
    return list(seen)


def name_of(coalition: Collection[str]) -> str:
    """A coalition as tables name it: its voices joined with `+`."""
    return "+".join(sorted(coalition))


def from_table(table: Mapping[str, float]) -> Value:
    """A `value` that reads a table keyed by voices joined with `+`, in any order; "" is nobody.

    Raises:
        BadInput: (when asked) the table lacks the coalition.
    """
    known = {frozenset(filter(None, key.split("+"))): worth for key, worth in table.items()}

    def value(coalition: frozenset[str]) -> float:
        if coalition not in known:
            raise BadInput(
                f"coalitions lack {name_of(coalition)!r}; expected the team's reward for every set "
                f'of voices that the preset asks for, names joined by "+", "" for nobody'
            )
        return known[coalition]

    return value
