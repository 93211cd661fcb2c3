"""The positions of a world, made when they are reached, and of small games kept for all later episodes.

A game such as tic-tac-toe has few positions, and thousands of episodes pass through the same ones. So who
acts there, what they see and what each action leads to is worked out once.
"""

from bisect import bisect
from collections.abc import Mapping
from itertools import accumulate
from random import Random
from typing import Any, Generic, TypeVar

from motet.envs.protocol import Action, Observation, Seat, Step

S = TypeVar("S")
MOST, MOST_MOVES = 12_000, 60_000
MASK = 2**64 - 1


class Position(Generic[S]):
    """A state, and what has been found out about it: what is seen there, and where actions lead."""

    __slots__ = ("acting", "after", "kept", "seen", "state")

    def __init__(self, state: S, acting: tuple[Seat, ...], kept: bool) -> None:
        self.state = state
        self.acting = acting
        self.kept = kept
        self.seen: dict[Seat, Observation] = {}
        self.after: dict[Any, tuple[Position[S], Step]] = {}


class Graph(Generic[S]):
    """All positions of one set of rules. Those of rules that list their first states (`deals`) are kept, up
    to 12,000, and up to 60,000 moves between them (some 25 MB); of other rules none, since no two episodes
    are likely to meet."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self._known: dict[S, Position[S]] = {}
        self._moves = 0
        deals = list(rules.deals()) if hasattr(rules, "deals") else []
        self._starts = [self._shared(state) for _, state in deals]
        self._chances = list(accumulate(chance for chance, _ in deals))
        self._even = len({chance for chance, _ in deals}) == 1

    def start(self, seed: int) -> Position[S]:
        """The first position of the episode with this seed."""
        if not self._starts:
            state = self.rules.start(Random(seed))
            return Position(state, self.rules.acting(state), False)
        if self._even:
            return self._starts[scrambled(seed) % len(self._starts)]
        point = scrambled(seed) / 2**64 * self._chances[-1]
        return self._starts[min(bisect(self._chances, point), len(self._starts) - 1)]

    def see(self, at: Position[S], seat: Seat) -> Observation:
        """What a seat sees at a position."""
        rules = self.rules
        array = rules.array(at.state, seat) if hasattr(rules, "array") else None
        seen = Observation(rules.text(at.state, seat), rules.legal(at.state, seat), array)
        at.seen[seat] = seen
        return seen

    def take(self, at: Position[S], taken: Any, actions: Mapping[Seat, Action]) -> tuple[Position[S], Step]:
        """The position after legal actions, and the step. `taken` is the actions as a key."""
        state, rewards = self.rules.step(at.state, actions)
        after = self._shared(state) if at.kept else Position(state, self.rules.acting(state), False)
        step = Step(rewards, not after.acting)
        if after.kept and self._moves < MOST_MOVES:
            at.after[taken] = (after, step)
            self._moves += 1
        return after, step

    def _shared(self, state: S) -> Position[S]:
        if (known := self._known.get(state)) is not None:
            return known
        made = Position(state, self.rules.acting(state), len(self._known) < MOST)
        if made.kept:
            self._known[state] = made
        return made


def scrambled(seed: int) -> int:
    """A well-mixed word of 64 bits from a seed (SplitMix64, Steele et al., 2014); seeding a `Random` takes
    longer than a whole episode of Kuhn poker."""
    word = (seed + 1) * 0x9E3779B97F4A7C15 & MASK
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)
