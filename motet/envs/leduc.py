"""Leduc poker (Southey et al., 2005): six cards, two rounds of betting, one public card.

Three ranks in two suits. Both ante 1 chip; bets are 2 chips in the first round and 4 in the second, and at
most two are made in a round. A pair with the public card wins, else the higher card; equal cards share.
Rewards are chips won. Uniform random play has a NashConv of 4.747 chips.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import Any, ClassVar

from msgspec import Struct

RANKS = "JQK"
DECK = "JJQQKK"
SEATS = ("first", "second")
BETS = (2, 4)
MOST_RAISES = 2
BRIEF = """Leduc poker. The deck: J, Q, K, twice each, J lowest. You and one other player ante 1 chip
and get one card. After a round of betting a public card is shown, and there is a second round. A raise is
{0} chips in the first round and {1} in the second, at most two a round. A pair with the public card wins,
else the higher card. You act {seat} in both rounds. "call" without a bet is a check.
Answer with one of the legal actions, as in "Action: call"."""


class Deal(Struct, frozen=True):
    """The cards (first seat, second seat, public) and the actions of the two rounds."""

    cards: tuple[str, str, str]
    rounds: tuple[tuple[str, ...], ...] = ((),)


@dataclass(frozen=True)
class Leduc:
    """Rules of Leduc poker."""

    seats: ClassVar[tuple[str, ...]] = SEATS
    stake: ClassVar[float] = 13.0
    zero_sum: ClassVar[bool] = True

    def deals(self) -> Iterator[tuple[float, Deal]]:
        """All starts that differ, each with its probability."""
        counted = Counter(permutations(DECK, 3))
        for cards, times in counted.items():
            yield times / counted.total(), Deal(cards)

    def brief(self, seat: str) -> str:
        return BRIEF.format(*BETS, seat=seat)

    def acting(self, state: Deal) -> tuple[str, ...]:
        if state.rounds[-1][-1:] == ("fold",) or len(state.rounds) > len(BETS):
            return ()
        return ("second",) if len(state.rounds[-1]) % 2 else ("first",)

    def legal(self, state: Deal, seat: str) -> tuple[str, ...]:
        said = state.rounds[-1]
        facing = said[-1:] == ("raise",)
        can_raise = said.count("raise") < MOST_RAISES
        return (("fold",) if facing else ()) + ("call",) + (("raise",) if can_raise else ())

    def text(self, state: Deal, seat: str) -> str:
        mine = state.cards[SEATS.index(seat)]
        public = state.cards[2] if len(state.rounds) > 1 else "not shown yet"
        said = "; then ".join(", ".join(r) or "nothing yet" for r in state.rounds[: len(BETS)])
        legal = ", ".join(self.legal(state, seat))
        return f"Your card: {mine}. Public card: {public}. So far: {said}. Legal: {legal}."

    def array(self, state: Deal, seat: str) -> Any:
        """Shape (24,): own rank (3), public rank or none (4), seat (1), each round's four actions as
        call and raise (2 x 4 x 2)."""
        import numpy

        made = numpy.zeros(24, numpy.float32)
        made[RANKS.index(state.cards[SEATS.index(seat)])] = 1
        made[3 + (RANKS.index(state.cards[2]) if len(state.rounds) > 1 else 3)] = 1
        made[7] = seat == "second"
        for r, said in enumerate(state.rounds[: len(BETS)]):
            for i, action in enumerate(said):
                if action != "fold":
                    made[8 + 8 * r + 2 * i + (action == "raise")] = 1
        return made

    def step(self, state: Deal, actions: Mapping[str, str]) -> tuple[Deal, dict[str, float]]:
        ((seat, action),) = actions.items()
        said = (*state.rounds[-1], action)
        rounds = (*state.rounds[:-1], said)
        if action == "fold":
            after = Deal(state.cards, rounds)
            return after, _pay("second" if seat == "first" else "first", paid(rounds)[SEATS.index(seat)])
        if action == "raise" or len(said) == 1:
            return Deal(state.cards, rounds), {}
        after = Deal(state.cards, (*rounds, ()))
        if len(rounds) < len(BETS):
            return after, {}
        return after, _pay(_winner(state.cards), paid(rounds)[0])


def paid(rounds: tuple[tuple[str, ...], ...]) -> list[int]:
    """Chips that each seat has put in."""
    chips = [1, 1]
    for said, bet in zip(rounds, BETS, strict=False):
        for i, action in enumerate(said):
            if action != "fold":
                chips[i % 2] = max(chips) + (bet if action == "raise" else 0)
    return chips


def _winner(cards: tuple[str, str, str]) -> str | None:
    first, second = (3 if card == cards[2] else RANKS.index(card) for card in cards[:2])
    return None if first == second else SEATS[second > first]


def _pay(winner: str | None, chips: int) -> dict[str, float]:
    if winner is None:
        return {}
    return {seat: float(chips if seat == winner else -chips) for seat in SEATS}
