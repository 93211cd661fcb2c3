"""An episode of a foreign environment.

Such environments can rarely be copied or looked into. So a clone is a new episode of the same seed that
has taken the same actions, and the state hash is a hash of just that: name, options, seed, what is seen at
the start, and actions.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from random import Random
from typing import NamedTuple, Protocol, Self

from motet.envs.protocol import Action, Observation, Seat, Step
from motet.envs.referee import Illegal, Referee, wrong_seats
from motet.errors import BadInput

Taken = tuple[dict[Seat, float], bool]


class Foreign(Protocol):
    """What an adapter must supply of its package's episode."""

    @property
    def seats(self) -> tuple[Seat, ...]: ...

    def brief(self, seat: Seat) -> str: ...

    def acting(self) -> tuple[Seat, ...]: ...

    def observe(self, seat: Seat) -> Observation: ...

    def read(self, seat: Seat, text: str) -> Action | None: ...

    def allows(self, seat: Seat, action: Action) -> bool: ...

    def sample(self, seat: Seat, rng: Random) -> Action: ...

    def take(self, actions: Mapping[Seat, Action]) -> dict[Seat, float]:
        """Take legal actions; the rewards of this step."""
        ...

    def close(self) -> None: ...


class Stakeless(NamedTuple):
    """Forfeiting a foreign episode ends it, and costs nothing more."""

    seats: tuple[Seat, ...]
    stake: float = 0.0
    zero_sum: bool = False


class Adapted:
    """A foreign episode with the manners of ours. See `Env` for the methods.

    Args:
        name: how it was asked for.
        key: what decides the episode, to be hashed: options and seed.
        begin: begins the episode anew, always in the same way.
        illegal: what an action costs that cannot be read, or that the foreign environment does not list;
            forfeiting ends the episode with what was earned so far.
    """

    def __init__(
        self, name: str, key: str, begin: Callable[[], Foreign], illegal: Illegal = Illegal()
    ) -> None:
        self.name = name
        self._begin = begin
        self._inner = begin()
        self.seats = self._inner.seats
        self._book = Referee(Stakeless(self.seats), illegal)
        self._taken: list[dict[Seat, Action]] = []
        self._begun = _sights(self._inner)
        self._hash = _digest(f"{name}\n{key}\n{self._begun}")

    def brief(self, seat: Seat) -> str:
        """The rules, as far as the package tells them."""
        return self._inner.brief(seat)

    def acting(self) -> tuple[Seat, ...]:
        """Who must act now."""
        return () if self._book.over else self._inner.acting()

    def observe(self, seat: Seat) -> Observation:
        """What this seat sees."""
        seen = self._inner.observe(seat)
        return Observation(self._book.told(seat, seen.text), seen.legal, seen.array, seen.media)

    def read_action(self, seat: Seat, text: str) -> Action | None:
        """The action that a text names."""
        return self._inner.read(seat, text)

    def step(self, actions: Mapping[Seat, Action | None]) -> Step:
        """Take the actions of the acting seats."""
        acting = self.acting()
        if actions.keys() != set(acting):
            raise wrong_seats(self.name, actions, acting)
        wrong = {s: a for s, a in actions.items() if a is None or not self._inner.allows(s, a)}
        if wrong:
            return self._book.refuse(wrong)
        self._taken.append(dict(actions))
        self._hash = _digest(f"{self._hash}\n{actions!r}")
        rewards = self._inner.take(actions)
        self._book.pay(rewards)
        return Step(rewards, not self._inner.acting())

    def sample(self, seat: Seat, rng: Random) -> Action:
        """A random action."""
        return self._inner.sample(seat, rng)

    def perfect(self, seat: Seat, rng: Random) -> Action | None:
        """The package's own solution, where it has one."""
        solve = getattr(self._inner, "perfect", None)
        return solve(seat) if solve else None

    def returns(self) -> dict[Seat, float]:
        """Sum of the rewards so far, by seat."""
        return dict(self._book.returns)

    def state_hash(self) -> str:
        """Hash of name, options, seed and the actions taken."""
        return self._hash

    def clone(self) -> Self:
        """A new episode that has taken the same actions; costs as much as playing them."""
        other = object.__new__(type(self))
        other.name, other.seats, other._begin, other._hash = self.name, self.seats, self._begin, self._hash
        other._inner, other._begun = self._begin(), self._begun
        if _sights(other._inner) != self._begun:
            other._inner.close()
            raise BadInput(f"{self.name} begins differently with the same seed, so it cannot be cloned")
        for actions in self._taken:
            other._inner.take(actions)
        other._taken, other._book = list(self._taken), self._book.copy()
        return other

    def close(self) -> None:
        """Close the foreign environment."""
        self._inner.close()


def _sights(inner: Foreign) -> tuple[str, ...]:
    return tuple(inner.observe(seat).digest for seat in inner.acting())


def _digest(text: str) -> str:
    return blake2b(text.encode(), digest_size=16).hexdigest()
