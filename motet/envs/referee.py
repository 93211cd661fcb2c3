"""The book of an episode: what each seat has earned, and what becomes of actions that are not legal."""

from collections.abc import Mapping
from copy import copy
from typing import Self

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


class Referee:
    """Keeps the returns and the illegal actions in a row of one episode.

    Args:
        seats: who takes part.
        illegal: the rule.
        stake: what a seat that forfeits loses; with `zero_sum` the other seats share it.
    """

    __slots__ = ("_faults", "illegal", "over", "returns", "seats", "stake", "why", "zero_sum")

    def __init__(self, seats: tuple[Seat, ...], illegal: Illegal, stake: float, zero_sum: bool) -> None:
        self.seats, self.illegal, self.stake, self.zero_sum = seats, illegal, stake, zero_sum
        self.returns = dict.fromkeys(seats, 0.0)
        self.why: dict[Seat, str] = {}
        self.over = False
        self._faults: dict[Seat, int] = {}

    def pay(self, rewards: Mapping[Seat, float]) -> None:
        """Book the rewards of a step that was taken."""
        if self._faults:
            self._faults, self.why = {}, {}
        for seat, reward in rewards.items():
            self.returns[seat] += reward

    def refuse(self, wrong: Mapping[Seat, Action | None]) -> Step:
        """The step that was not taken, because these seats' actions are not legal."""
        rewards = dict.fromkeys(wrong, -self.illegal.penalty)
        for seat, action in wrong.items():
            self._faults[seat] = self._faults.get(seat, 0) + 1
            said = "No action could be read." if action is None else f"{action!r} is not a legal action."
            self.why[seat] = said
        losers = [seat for seat in wrong if self._faults[seat] >= self.illegal.forfeit]
        if losers:
            self.over = True
            self._forfeit(losers, rewards)
        for seat, reward in rewards.items():
            self.returns[seat] += reward
        invalid = {seat: self.why[seat] for seat in wrong}
        return Step(rewards, self.over, invalid, {"forfeit": losers} if losers else {})

    def _forfeit(self, losers: list[Seat], rewards: dict[Seat, float]) -> None:
        for seat in losers:
            rewards[seat] -= self.stake
        winners = [seat for seat in self.seats if seat not in losers]
        if self.zero_sum:
            for seat in winners:
                rewards[seat] = rewards.get(seat, 0.0) + self.stake * len(losers) / len(winners)

    def told(self, seat: Seat, text: str) -> str:
        """What a seat sees, after the reason why its last action was refused."""
        return f"{self.why[seat]}\n\n{text}" if seat in self.why else text

    def copy(self) -> Self:
        """An independent copy."""
        other = copy(self)
        other.returns, other.why = dict(self.returns), dict(self.why)
        other._faults = dict(self._faults)
        return other


def wrong_seats(name: str, actions: Mapping[Seat, Action | None], acting: tuple[Seat, ...]) -> BadInput:
    """The error when there is not one action of each acting seat, and no other."""
    return BadInput(
        f"step() of {name} got actions of {sorted(actions)}; expected one of each acting seat: "
        f"{', '.join(acting) or 'none, the episode is over'}"
    )
