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
MOST, MOST_MOVES = 15_000, 300_000
MASK = 2**64 - 1


class Position(Generic[S]):
    """A state, the step that led there, and what has been found out: what is seen, and where actions lead."""

    __slots__ = ("acting", "after", "kept", "seen", "state", "step")

    def __init__(self, state: S, acting: tuple[Seat, ...], rewards: dict[Seat, float], kept: bool) -> None:
        self.state = state
        self.acting = acting
        self.step = Step(rewards, not acting) if rewards or not acting else GOES_ON
        self.kept = kept
        self.seen: dict[Seat, Observation] = UNSEEN
        self.after: list[Position[S] | None] = NOWHERE


GOES_ON = Step({})
"""The step of most moves: nobody earns anything and nothing ends."""
UNSEEN: dict[Seat, Observation] = {}
NOWHERE: list[Any] = []
"""Both are replaced, never changed: positions that look alike share what is seen."""


class Graph(Generic[S]):
    """All positions of one set of rules. Those of rules that list their first states (`deals`) are kept, up
    to 15,000, and up to 300,000 moves between them; of other rules none, since no two episodes are likely to
    meet. What a step costs then is the way to memory, so little is kept of each: where moves lead is a list,
    in which `places` has the place of every choice that was ever made."""

    def __init__(self, rules: Any) -> None:
        self.rules = rules
        self.places: dict[Any, int] = {}
        self._known: dict[Any, Position[S]] = {}
        self._views: dict[tuple[Any, ...], dict[Seat, Observation]] = {}
        self._moves = 0
        deals = list(rules.deals()) if hasattr(rules, "deals") else []
        self._starts = [self._shared(state, {}) for _, state in deals]
        self._chances = list(accumulate(chance for chance, _ in deals))
        self._even = len({chance for chance, _ in deals}) == 1

    def start(self, seed: int) -> Position[S]:
        """The first position of the episode with this seed."""
        if not self._starts:
            state = self.rules.start(Random(seed))
            return Position(state, self.rules.acting(state), {}, False)
        if self._even:
            return self._starts[scrambled(seed) % len(self._starts)]
        point = scrambled(seed) / 2**64 * self._chances[-1]
        return self._starts[min(bisect(self._chances, point), len(self._starts) - 1)]

    def see(self, at: Position[S], seat: Seat) -> Observation:
        """What a seat sees at a position."""
        rules = self.rules
        array = rules.array(at.state, seat) if hasattr(rules, "array") else None
        seen = Observation(rules.text(at.state, seat), rules.legal(at.state, seat), array)
        if at.seen or array is not None or not at.kept:
            at.seen = {**at.seen, seat: seen}
        else:
            at.seen = self._views.setdefault((seat, seen.text, seen.legal), {seat: seen})
        return at.seen[seat]

    def take(self, at: Position[S], taken: Any, actions: Mapping[Seat, Action]) -> Position[S]:
        """The position after legal actions. `taken` is the actions as a key."""
        state, rewards = self.rules.step(at.state, actions)
        if not at.kept:
            return Position(state, self.rules.acting(state), rewards, False)
        after = self._shared(state, rewards)
        if after.kept:
            self._keep(at, taken, after)
        return after

    def _keep(self, at: Position[S], taken: Any, after: Position[S]) -> None:
        place = self.places.get(taken, len(self.places))
        room = max(place + 1, len(self.places)) - len(at.after)
        if room > 0:
            if self._moves + room > MOST_MOVES:
                return
            at.after = [*at.after, *[None] * room]
            self._moves += room
        self.places[taken] = place
        at.after[place] = after

    def _shared(self, state: S, rewards: dict[Seat, float]) -> Position[S]:
        key = (state, *rewards.items()) if rewards else state
        if (known := self._known.get(key)) is not None:
            return known
        made = Position(state, self.rules.acting(state), rewards, len(self._known) < MOST)
        if made.kept:
            self._known[key] = made
        return made


def scrambled(seed: int) -> int:
    """A well-mixed word of 64 bits from a seed (SplitMix64, Steele et al., 2014); seeding a `Random` takes
    longer than a whole episode of Kuhn poker."""
    word = (seed + 1) * 0x9E3779B97F4A7C15 & MASK
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ (word >> 27)) * 0x94D049BB133111EB & MASK
    return word ^ (word >> 31)
