"""Kuhn poker (Kuhn, 1950): three cards, one bet; the smallest game in which bluffing pays.

Both ante 1 chip and get one of J, Q, K. Rewards are chips won. The value of the game to the first player
is -1/18. The perfect player is the equilibrium with bluffing rate `alpha` in [0, 1/3] for the first seat.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from random import Random
from typing import Any, ClassVar

from msgspec import Struct

CARDS = "JQK"
SEATS = ("first", "second")
OPEN, FACING = ("check", "bet"), ("call", "fold")
BRIEF = """Kuhn poker. Three cards: J < Q < K. You and one other player ante 1 chip and get one card each.
You may check or bet 1 chip; a bet is called (1 chip) or folded. The higher card takes the pot.
You act {seat}. Answer with one of the legal actions, as in "Action: check"."""
TO_ACT: dict[tuple[str, ...], tuple[str, ...]] = {
    (): ("first",),
    ("check",): ("second",),
    ("bet",): ("second",),
    ("check", "bet"): ("first",),
}


class Hand(Struct, frozen=True):
    """The two cards and what was done."""

    cards: tuple[str, str]
    history: tuple[str, ...] = ()


@dataclass(frozen=True)
class Kuhn:
    """Rules of Kuhn poker.

    Args:
        alpha: how often the perfect first player bets with J (and a third of how often with K).
    """

    alpha: float = 1 / 3
    seats: ClassVar[tuple[str, ...]] = SEATS
    stake: ClassVar[float] = 2.0
    zero_sum: ClassVar[bool] = True

    def deals(self) -> Iterator[tuple[float, Hand]]:
        """All starts, each with its probability."""
        for first, second in permutations(CARDS, 2):
            yield 1 / 6, Hand((first, second))

    def brief(self, seat: str) -> str:
        return BRIEF.format(seat=seat)

    def acting(self, state: Hand) -> tuple[str, ...]:
        return TO_ACT.get(state.history, ())

    def legal(self, state: Hand, seat: str) -> tuple[str, ...]:
        return FACING if state.history and state.history[-1] == "bet" else OPEN

    def text(self, state: Hand, seat: str) -> str:
        said = ", ".join(state.history) or "nothing yet"
        legal = " or ".join(self.legal(state, seat))
        return f"Your card: {state.cards[seat == 'second']}. So far: {said}. Legal: {legal}."

    def array(self, state: Hand, seat: str) -> Any:
        """Shape (9,): own card (3), seat (2), which of the four decisions this is (4)."""
        import numpy

        ones = (CARDS.index(state.cards[SEATS.index(seat)]), 3 + SEATS.index(seat))
        made = numpy.zeros(9, numpy.float32)
        made[list(ones)] = 1
        if state.history in TO_ACT:
            made[5 + list(TO_ACT).index(state.history)] = 1
        return made

    def step(self, state: Hand, actions: Mapping[str, str]) -> tuple[Hand, dict[str, float]]:
        ((seat, action),) = actions.items()
        after = Hand(state.cards, (*state.history, action))
        if after.history in TO_ACT:
            return after, {}
        if action == "fold":
            won = -1.0 if seat == "first" else 1.0
        else:
            stake = 2.0 if action == "call" else 1.0
            higher = CARDS.index(state.cards[0]) > CARDS.index(state.cards[1])
            won = stake if higher else -stake
        return after, {"first": won, "second": -won}

    def perfect(self, state: Hand, seat: str, rng: Random) -> str:
        """A draw from the equilibrium."""
        bold = rng.random() < self.boldness(state, seat)
        return (
            ("bet" if bold else "check") if self.legal(state, seat) is OPEN else ("call" if bold else "fold")
        )

    def boldness(self, state: Hand, seat: str) -> float:
        """Probability of betting or calling in equilibrium."""
        card = state.cards[SEATS.index(seat)]
        chances = {
            (): (self.alpha, 0.0, 3 * self.alpha),
            ("check",): (1 / 3, 0.0, 1.0),
            ("bet",): (0.0, 1 / 3, 1.0),
            ("check", "bet"): (0.0, self.alpha + 1 / 3, 1.0),
        }
        return chances[state.history][CARDS.index(card)]
