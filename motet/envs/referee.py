"""The book of an episode: what each seat has earned, and what becomes of actions that are not legal."""

from collections.abc import Mapping
from copy import copy
from typing import Any, Protocol, Self

from msgspec import Struct

from motet.envs.protocol import Action, Seat, Step
from motet.errors import BadInput


class Illegal(Struct, frozen=True):
    """What an action that is not legal costs.

    The state stays as it is, the seat pays `penalty`, is told why and acts again (where several act at once,
    all do). After `forfeit` of them in a row the episode ends: the seat loses the world's stake.
    """

    penalty: float = 0.0
    forfeit: int = 3


NONE: dict[Seat, Any] = {}
"""Stands for both dicts of most episodes; they are replaced, never changed."""


class Terms(Protocol):
    """What the referee must know of the rules. `stake` is what a seat that forfeits loses; with `zero_sum`
    the other seats share it."""

    @property
    def seats(self) -> tuple[Seat, ...]: ...
    @property
    def stake(self) -> float: ...
    @property
    def zero_sum(self) -> bool: ...


class Referee:
    """Keeps the returns and the illegal actions in a row of one episode."""

    __slots__ = ("_earned", "_faults", "illegal", "over", "terms", "why")

    def __init__(self, terms: Terms, illegal: Illegal) -> None:
        self.terms, self.illegal = terms, illegal
        self._earned: dict[Seat, float] = {}
        self.over = False
        self.why = self._faults = NONE

    @property
    def returns(self) -> dict[Seat, float]:
        """What each seat has earned."""
        return dict.fromkeys(self.terms.seats, 0.0) | self._earned

    def pay(self, rewards: Mapping[Seat, float]) -> None:
        """Book the rewards of a step that was taken."""
        if self._faults:
            self.why = self._faults = NONE
        self._book(rewards)

    def refuse(self, wrong: Mapping[Seat, Action | None]) -> Step:
        """The step that was not taken, because these seats' actions are not legal."""
        rewards = dict.fromkeys(wrong, -self.illegal.penalty)
        self._faults = self._faults | {seat: self._faults.get(seat, 0) + 1 for seat in wrong}
        self.why = {
            seat: "No action could be read." if action is None else f"{action!r} is not a legal action."
            for seat, action in wrong.items()
        }
        losers = [seat for seat in wrong if self._faults[seat] >= self.illegal.forfeit]
        if losers:
            self.over = True
            self._forfeit(losers, rewards)
        self._book(rewards)
        return Step(rewards, self.over, dict(self.why), {"forfeit": losers} if losers else {})

    def _book(self, rewards: Mapping[Seat, float]) -> None:
        earned = self._earned
        for seat, reward in rewards.items():
            earned[seat] = earned.get(seat, 0.0) + reward

    def _forfeit(self, losers: list[Seat], rewards: dict[Seat, float]) -> None:
        for seat in losers:
            rewards[seat] -= self.terms.stake
        winners = [seat for seat in self.terms.seats if seat not in losers]
        if self.terms.zero_sum:
            for seat in winners:
                rewards[seat] = rewards.get(seat, 0.0) + self.terms.stake * len(losers) / len(winners)

    def told(self, seat: Seat, text: str) -> str:
        """What a seat sees, after the reason why its last action was refused."""
        return f"{self.why[seat]}\n\n{text}" if seat in self.why else text

    def copy(self) -> Self:
        """An independent copy."""
        other = copy(self)
        other._earned = dict(self._earned)
        return other


def wrong_seats(name: str, actions: Mapping[Seat, Action | None], acting: tuple[Seat, ...]) -> BadInput:
    """The error when there is not one action of each acting seat, and no other."""
    return BadInput(
        f"step() of {name} got actions of {sorted(actions)}; expected one of each acting seat: "
        f"{', '.join(acting) or 'none, the episode is over'}"
    )
