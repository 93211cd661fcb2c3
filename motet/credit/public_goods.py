"""The sequential public-goods reward of MAC-SPGG (Liang et al., 2025, arXiv:2508.02076; catalogue 12).

Voices act in sequence and each puts in a contribution c_i ≥ 0. With n voices and final quality Q:

    r_i = −cost·c_i² + bonus·c_i·mean(c_1 … c_{i−1}) + share·Q/n − penalty·[Q < threshold]

From the paper's abstract and its authors' README: the four terms (own strictly convex cost, a bonus scaled by
what the predecessors put in, an equal share of the common good, a common penalty under a threshold). Our own
choice: the square, the mean, the default numbers, and that the first voice, who has no predecessors, gets the
bonus for c_1 itself (1 in place of the mean). With bonus = penalty = 0 it is the plain game, in which a voice
gains share/n for each unit put in.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from motet.credit.compare import mean


class Rules(Struct, frozen=True):
    """The numbers of the game. `share` multiplies the common good; the rest are as in the formula."""

    cost: float = 0.25
    bonus: float = 0.5
    share: float = 1.5
    penalty: float = 1.0
    threshold: float = 0.0


PLAIN = Rules(cost=1.0, bonus=0.0, share=1.5, penalty=0.0)
"""The game without the paper's mechanism."""


def payoffs(contributions: Sequence[float], quality: float, rules: Rules) -> list[float]:
    """What each voice gets, in the order in which they acted."""
    n = len(contributions)
    common = rules.share * quality / n - rules.penalty * (quality < rules.threshold)
    return [
        -rules.cost * c * c + rules.bonus * c * (mean(contributions[:i]) if i else 1.0) + common
        for i, c in enumerate(contributions)
    ]


def subgame_perfect(
    levels: Sequence[float], n: int, rules: Rules, quality: Callable[[Sequence[float]], float] = sum
) -> tuple[float, ...]:
    """What n rational voices put in, found by backward induction over all histories.

    Args:
        levels: the contributions a voice may choose from; of equally good ones the first is taken.
        quality: the common good that contributions make.
    """

    def play(history: tuple[float, ...]) -> tuple[float, ...]:
        if len(history) == n:
            return history
        ends = [play((*history, level)) for level in levels]
        return max(ends, key=lambda end: payoffs(end, quality(end), rules)[len(history)])

    return play(())
