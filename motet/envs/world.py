"""An episode of a world whose rules are pure functions of an immutable state.

All chance of such a world is drawn when it starts. From there on a step is a function, so a clone is a
reference, a state can be hashed and kept, and a game tree can be walked exactly (`motet.envs.exact`).
"""

from collections.abc import Mapping
from hashlib import blake2b
from random import Random
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

import msgspec

from motet.envs.actions import pick
from motet.envs.protocol import Action, Observation, Seat, Step
from motet.envs.referee import Illegal, Referee, check_seats

S = TypeVar("S")
T = TypeVar("T", contravariant=True)
Rewards = dict[Seat, float]


class Rules(Protocol[S]):
    """The rules of a world; a frozen dataclass, whose fields are the world's options.

    `stake` is what a seat that forfeits loses; with `zero_sum` the other seats share it. `legal` lists the
    actions of a seat, or is None when any text that `read` accepts may be said.
    """

    stake: ClassVar[float]
    zero_sum: ClassVar[bool]

    @property
    def seats(self) -> tuple[Seat, ...]: ...

    def start(self, rng: Random) -> S: ...

    def brief(self, seat: Seat) -> str: ...

    def acting(self, state: S) -> tuple[Seat, ...]: ...

    def legal(self, state: S, seat: Seat) -> tuple[str, ...] | None: ...

    def text(self, state: S, seat: Seat) -> str: ...

    def step(self, state: S, actions: Mapping[Seat, str]) -> tuple[S, Rewards]: ...


class Speaks(Protocol[T]):
    """What rules have besides when their actions cannot be listed."""

    def read(self, state: T, seat: Seat, text: str) -> str | None: ...

    def sample(self, state: T, seat: Seat, rng: Random) -> str: ...


class World(Generic[S]):
    """One episode under `rules`. See `Env` for the methods.

    >>> from motet.envs.tic_tac_toe import TicTacToe
    >>> world = World(TicTacToe(), seed=0)
    >>> world.acting(), world.step({"x": "5"}).done, world.acting()
    (('x',), False, ('o',))
    """

    __slots__ = ("_book", "name", "rules", "state")

    def __init__(self, rules: Any, seed: int = 0, illegal: Illegal = Illegal(), name: str = "") -> None:
        self.rules = rules
        self.name = name or type(rules).__name__
        self.state: S = rules.start(Random(seed))
        self._book = Referee(rules.seats, illegal, rules.stake, rules.zero_sum)

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Who takes part."""
        seats: tuple[Seat, ...] = self.rules.seats
        return seats

    def brief(self, seat: Seat) -> str:
        """The rules, as told to this seat."""
        brief: str = self.rules.brief(seat)
        return brief

    def acting(self) -> tuple[Seat, ...]:
        """Who must act now."""
        return () if self._book.over else self.rules.acting(self.state)

    def observe(self, seat: Seat) -> Observation:
        """What this seat sees; after an action that was refused, the reason comes first."""
        text = self._book.told(seat, self.rules.text(self.state, seat))
        array = getattr(self.rules, "array", None)
        return Observation(
            text, self.rules.legal(self.state, seat), array(self.state, seat) if array else None
        )

    def read_action(self, seat: Seat, text: str) -> str | None:
        """The action that a text names (see `motet.envs.actions.pick`)."""
        legal = self.rules.legal(self.state, seat)
        return self.rules.read(self.state, seat, text) if legal is None else pick(text, legal)

    def step(self, actions: Mapping[Seat, Action | None]) -> Step:
        """Take the actions of the acting seats; `Illegal` says what becomes of those that are not legal."""
        acting = self.acting()
        check_seats(self.name, actions, acting)
        for seat in acting:
            if not self._allows(seat, actions[seat]):
                return self._book.refuse({s: actions[s] for s in acting if not self._allows(s, actions[s])})
        self.state, rewards = self.rules.step(self.state, actions)
        self._book.pay(rewards)
        return Step(rewards, not self.rules.acting(self.state))

    def _allows(self, seat: Seat, action: Action | None) -> bool:
        legal = self.rules.legal(self.state, seat)
        if legal is not None:
            return action in legal
        return isinstance(action, str) and self.rules.read(self.state, seat, action) is not None

    def sample(self, seat: Seat, rng: Random) -> str:
        """A random legal action."""
        legal = self.rules.legal(self.state, seat)
        action: str = self.rules.sample(self.state, seat, rng) if legal is None else rng.choice(legal)
        return action

    def perfect(self, seat: Seat, rng: Random) -> str | None:
        """What the perfect player of this world would do; None where there is none."""
        solve = getattr(self.rules, "perfect", None)
        return solve(self.state, seat, rng) if solve else None

    def returns(self) -> Rewards:
        """Sum of the rewards so far, by seat."""
        return dict(self._book.returns)

    def state_hash(self) -> str:
        """Hash of rules and state."""
        content = msgspec.json.encode(self.state, order="deterministic")
        return blake2b(repr(self.rules).encode() + content, digest_size=16).hexdigest()

    def clone(self) -> Self:
        """An independent copy: it shares the state, which never changes."""
        other = object.__new__(type(self))
        other.rules, other.name, other.state = self.rules, self.name, self.state
        other._book = self._book.copy()
        return other

    def close(self) -> None:
        """There is nothing to give back."""
