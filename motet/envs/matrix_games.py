"""Games of one table, played over and over by two seats at once.

Matching pennies: zero-sum; in equilibrium both toss a fair coin, which is the perfect player. Iterated
prisoner's dilemma: 3/3 for cooperation, 1/1 for defection, 5/0 for betrayal (Axelrod, 1984); what is best
depends on the other, so there is no perfect player.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import ClassVar

from msgspec import Struct

from motet.errors import BadInput

SEATS = ("row", "column")
PENNIES = {
    ("heads", "heads"): (1, -1),
    ("heads", "tails"): (-1, 1),
    ("tails", "heads"): (-1, 1),
    ("tails", "tails"): (1, -1),
}
DILEMMA = {
    ("cooperate", "cooperate"): (3, 3),
    ("cooperate", "defect"): (0, 5),
    ("defect", "cooperate"): (5, 0),
    ("defect", "defect"): (1, 1),
}
BRIEF = """{title}, {rounds} round(s); both choose at the same time. You are the {seat} player.
Points (row, column):
{table}
Answer with your choice, as in "Action: {example}"."""


class Rounds(Struct, frozen=True):
    """What was chosen so far: (row, column) of each round."""

    played: tuple[tuple[str, str], ...] = ()


class TableGame:
    """What both games share; a subclass gives the title and the table."""

    seats: ClassVar[tuple[str, ...]] = SEATS
    title: ClassVar[str]
    table: ClassVar[dict[tuple[str, str], tuple[int, int]]]
    actions: ClassVar[tuple[str, ...]]
    rounds: int

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise BadInput(f"rounds is {self.rounds!r}; expected 1 or more")

    @cached_property
    def told(self) -> dict[str, dict[tuple[str, str], str]]:
        """A round in words, for each seat."""
        return {
            "row": {(a, b): f"you {a}, the other {b}" for a, b in self.table},
            "column": {(a, b): f"you {b}, the other {a}" for a, b in self.table},
        }

    def deals(self) -> Iterator[tuple[float, Rounds]]:
        yield 1.0, Rounds()

    def brief(self, seat: str) -> str:
        table = "\n".join(f"  {a}, {b}: {x}, {y}" for (a, b), (x, y) in self.table.items())
        return BRIEF.format(
            title=self.title, rounds=self.rounds, seat=seat, table=table, example=self.actions[0]
        )

    def acting(self, state: Rounds) -> tuple[str, ...]:
        return SEATS if len(state.played) < self.rounds else ()

    def legal(self, state: Rounds, seat: str) -> tuple[str, ...]:
        return self.actions

    def text(self, state: Rounds, seat: str) -> str:
        told = self.told[seat]
        past = "; ".join([told[pair] for pair in state.played])
        return f"Round {len(state.played) + 1} of {self.rounds}. So far: {past or 'nothing yet'}."

    def step(self, state: Rounds, actions: Mapping[str, str]) -> tuple[Rounds, dict[str, float]]:
        pair = (actions["row"], actions["column"])
        row, column = self.table[pair]
        return Rounds((*state.played, pair)), {"row": float(row), "column": float(column)}


@dataclass(frozen=True)
class MatchingPennies(TableGame):
    """The row player wins when the pennies match.

    Args:
        rounds: how often they are shown.
    """

    rounds: int = 1
    title: ClassVar[str] = "Matching pennies"
    table: ClassVar[dict[tuple[str, str], tuple[int, int]]] = PENNIES
    actions: ClassVar[tuple[str, ...]] = ("heads", "tails")
    stake: ClassVar[float] = 1.0
    zero_sum: ClassVar[bool] = True

    def perfect(self, state: Rounds, seat: str, rng: Random) -> str:
        """A fair coin."""
        return rng.choice(self.actions)


@dataclass(frozen=True)
class PrisonersDilemma(TableGame):
    """The iterated prisoner's dilemma.

    Args:
        rounds: how often they meet.
    """

    rounds: int = 10
    title: ClassVar[str] = "Prisoner's dilemma"
    table: ClassVar[dict[tuple[str, str], tuple[int, int]]] = DILEMMA
    actions: ClassVar[tuple[str, ...]] = ("cooperate", "defect")
    stake: ClassVar[float] = 5.0
    zero_sum: ClassVar[bool] = False
