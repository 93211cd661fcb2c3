"""The sequential public-goods reward of MAC-SPGG (Liang et al., 2025, arXiv:2508.02076; catalogue 12).

Voices act in sequence and each puts in a contribution c_i ≥ 0. With n voices and final quality Q:

    r_i = −cost·c_i^power + bonus·c_i·(c_1 + … + c_{i−1}) + share·Q/n − penalty·[Q < threshold]

From the paper's abstract and its authors' README: the four terms (own strictly convex cost, a bonus scaled by
the predecessors' accumulated contributions, an equal share of the common good, a common penalty under a
threshold). Our own choice: how the bonus is multiplied out, and the numbers.
"""

from collections.abc import Callable, Sequence

from msgspec import Struct

from motet.errors import BadInput


class Rules(Struct, frozen=True):
    """The numbers of the game, as in the formula. `share` multiplies the common good."""

    cost: float = 1.0
    power: float = 2.0
    bonus: float = 1.0
    share: float = 1.5
    penalty: float = 2.0
    threshold: float = 0.0


PLAIN = Rules(power=1.0, bonus=0.0, penalty=0.0)
"""The game without the paper's mechanism: one unit costs 1 and gives everybody share/n."""


def payoffs(contributions: Sequence[float], quality: float, rules: Rules) -> list[float]:
    """What each voice gets, in the order in which they acted.

    Raises:
        BadInput: a contribution is less than 0.
    """
    if any(c < 0 for c in contributions):
        raise BadInput(f"contributions are {list(contributions)!r}; nobody can put in less than 0")
    common = rules.share * quality / len(contributions) - rules.penalty * (quality < rules.threshold)
    return [
        -rules.cost * c**rules.power + rules.bonus * c * sum(contributions[:i]) + common
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
