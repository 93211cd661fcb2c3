"""An episode of a world whose rules are pure functions of an immutable state.

All chance of such a world is drawn when it starts. From there on a step is a function, so a clone is a
reference, a state can be hashed and kept, and a game tree can be walked exactly (`motet.envs.exact`).
"""

from collections.abc import Iterator, Mapping
from hashlib import blake2b
from random import Random
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar, runtime_checkable

import msgspec

from motet.envs.actions import pick
from motet.envs.positions import Graph
from motet.envs.protocol import Action, Observation, Seat, Step
from motet.envs.referee import Illegal, Referee, wrong_seats

S = TypeVar("S")
T = TypeVar("T", contravariant=True)
Rewards = dict[Seat, float]


class Rules(Protocol[S]):
    """The rules of a world; a frozen dataclass, whose fields are the world's options.

    They have either `start`, which draws the first state, or `deals`, which lists all first states with their
    probabilities. `stake` is what a seat that forfeits loses; with `zero_sum` the other seats share it.
    `legal` lists the actions of a seat, or is None when any text that `read` accepts may be said.
    """

    stake: ClassVar[float]
    zero_sum: ClassVar[bool]

    @property
    def seats(self) -> tuple[Seat, ...]: ...

    def brief(self, seat: Seat) -> str: ...

    def acting(self, state: S) -> tuple[Seat, ...]: ...

    def legal(self, state: S, seat: Seat) -> tuple[str, ...] | None: ...

    def text(self, state: S, seat: Seat) -> str: ...

    def step(self, state: S, actions: Mapping[Seat, str]) -> tuple[S, Rewards]: ...


class Drawn(Rules[S], Protocol):
    """Rules whose first state is drawn."""

    def start(self, rng: Random) -> S: ...


@runtime_checkable
class Dealt(Rules[S], Protocol):
    """Rules with few enough first states to list them. The states near them are kept from one episode to the
    next (see `motet.envs.positions`)."""

    def deals(self) -> Iterator[tuple[float, S]]: ...


class Speaks(Protocol[T]):
    """What rules have besides when their actions cannot be listed."""

    def read(self, state: T, seat: Seat, text: str) -> str | None: ...

    def sample(self, state: T, seat: Seat, rng: Random) -> str: ...


class World(Generic[S]):
    """One episode under `rules`. See `Env` for the methods.

    >>> from motet.envs.tic_tac_toe import TicTacToe
    >>> world = World(Graph(TicTacToe()), seed=0)
    >>> world.acting(), world.step({"x": "5"}).done, world.acting()
    (('x',), False, ('o',))
    """

    __slots__ = ("_at", "_book", "_graph", "_illegal", "name", "rules")

    def __init__(self, graph: Graph[S], seed: int = 0, illegal: Illegal = Illegal(), name: str = "") -> None:
        self.rules: Any = graph.rules
        self.name = name or type(graph.rules).__name__
        self._graph = graph
        self._at = graph.start(seed)
        self._illegal = illegal
        self._book: Referee | None = None  # opened by the first step that pays or is refused

    @property
    def seats(self) -> tuple[Seat, ...]:
        """Who takes part."""
        seats: tuple[Seat, ...] = self.rules.seats
        return seats

    @property
    def state(self) -> S:
        """Where the episode stands."""
        return self._at.state

    def brief(self, seat: Seat) -> str:
        """The rules, as told to this seat."""
        brief: str = self.rules.brief(seat)
        return brief

    def acting(self) -> tuple[Seat, ...]:
        """Who must act now."""
        return self._at.acting if self._book is None or not self._book.over else ()

    def observe(self, seat: Seat) -> Observation:
        """What this seat sees; after an action that was refused, the reason comes first."""
        seen = self._at.seen.get(seat) or self._graph.see(self._at, seat)
        if self._book is not None and seat in self._book.why:
            return Observation(self._book.told(seat, seen.text), seen.legal, seen.array)
        return seen

    def read_action(self, seat: Seat, text: str) -> str | None:
        """The action that a text names (see `motet.envs.actions.pick`)."""
        legal = self.rules.legal(self.state, seat)
        return self.rules.read(self.state, seat, text) if legal is None else pick(text, legal)

    def step(self, actions: Mapping[Seat, Action | None]) -> Step:
        """Take the actions of the acting seats; `Illegal` says what becomes of those that are not legal."""
        at = self._at
        acting = at.acting if self._book is None else self.acting()
        try:
            taken = actions[acting[0]] if len(acting) == 1 else tuple([actions[seat] for seat in acting])
        except KeyError:
            raise wrong_seats(self.name, actions, acting) from None
        if len(actions) != len(acting) or not acting:
            raise wrong_seats(self.name, actions, acting)
        try:
            known = at.after[self._graph.places[taken]]
        except (KeyError, IndexError):
            known = None
        if known is None:
            wrong = {seat: actions[seat] for seat in acting if not self._allows(seat, actions[seat])}
            if wrong:
                return self._referee().refuse(wrong)
            known = self._graph.take(at, taken, actions)
        self._at, step = known, known.step
        if step.rewards or self._book is not None:
            self._referee().pay(step.rewards)
        return step

    def _referee(self) -> Referee:
        if self._book is None:
            self._book = Referee(self.rules, self._illegal)
        return self._book

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
        return self._referee().returns

    def state_hash(self) -> str:
        """Hash of rules and state."""
        content = msgspec.json.encode(self.state, order="deterministic")
        return blake2b(repr(self.rules).encode() + content, digest_size=16).hexdigest()

    def clone(self) -> Self:
        """An independent copy: it shares the state, which never changes."""
        other = object.__new__(type(self))
        other.rules, other.name, other._graph, other._at = self.rules, self.name, self._graph, self._at
        other._illegal, other._book = self._illegal, self._book and self._book.copy()
        return other

    def close(self) -> None:
        """There is nothing to give back."""
