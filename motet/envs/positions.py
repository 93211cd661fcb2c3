"""The positions of a world, made when they are reached, and of small games kept for all later episodes.

A game such as tic-tac-toe has few positions, and thousands of episodes pass through the same ones. So who
acts there, what they see and what each action leads to is worked out once.
"""

from bisect import bisect
from collections.abc import Mapping
from itertools import accumulate
from random import Random
from typing import Any, Generic, TypeVar

from motet.envs.protocol import Action, Observation, Seat

S = TypeVar("S")
MOST = 20_000
WORD = 2**64


class Position(Generic[S]):
    """A state, and what has been found out about it: what is seen there, and where actions lead."""

    __slots__ = ("acting", "after", "seen", "state")

    def __init__(self, state: S, acting: tuple[Seat, ...]) -> None:
        self.state = state
        self.acting = acting
        self.seen: dict[Seat, Observation] = {}
        self.after: dict[Any, tuple[Position[S], dict[Seat, float]]] = {}


class Graph(Generic[S]):
    """All positions of one set of rules. Those of rules that list their first states (`deals`) are kept, up
    to 20,000; of others none is, since no two episodes are likely to meet."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self._known: dict[S, Position[S]] = {}
        self._keeps = hasattr(rules, "deals")
        deals = list(rules.deals()) if self._keeps else []
        self._starts = [self._position(state) for _, state in deals]
        self._chances = list(accumulate(chance for chance, _ in deals))

    def start(self, seed: int) -> Position[S]:
        """The first position of the episode with this seed."""
        if not self._starts:
            return self._position(self.rules.start(Random(seed)))
        if len(self._starts) == 1:
            return self._starts[0]
        point = scrambled(seed) / WORD * self._chances[-1]
        return self._starts[min(bisect(self._chances, point), len(self._starts) - 1)]

    def see(self, at: Position[S], seat: Seat) -> Observation:
        """What a seat sees at a position."""
        rules = self.rules
        array = rules.array(at.state, seat) if hasattr(rules, "array") else None
        seen = Observation(rules.text(at.state, seat), rules.legal(at.state, seat), array)
        at.seen[seat] = seen
        return seen

    def take(
        self, at: Position[S], taken: Any, actions: Mapping[Seat, Action]
    ) -> tuple[Position[S], dict[Seat, float]]:
        """The position after legal actions, and the rewards. `taken` is the actions as a key."""
        state, rewards = self.rules.step(at.state, actions)
        after = self._position(state)
        if state in self._known and at.state in self._known:
            at.after[taken] = (after, rewards)
        return after, rewards

    def _position(self, state: S) -> Position[S]:
        if (known := self._known.get(state)) is not None:
            return known
        made = Position(state, self.rules.acting(state))
        if self._keeps and len(self._known) < MOST:
            self._known[state] = made
        return made


def scrambled(seed: int) -> int:
    """A well-mixed word of 64 bits from a seed (SplitMix64, Steele et al., 2014); seeding a `Random` takes
    longer than a whole episode of Kuhn poker."""
    word = (seed * 0x9E3779B97F4A7C15 + 0x9E3779B97F4A7C15) % WORD
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB % WORD
    return word ^ (word >> 31)
