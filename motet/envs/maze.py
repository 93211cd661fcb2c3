"""A maze of which two seats see different parts ("The Collaboration Gap", catalogue 111).

Every inner cell is hidden from one of the two, so neither knows the way alone: they must tell each other.
They speak in turn; a move is made when both propose the same one, one after the other. With `solo` there
is one seat, which sees all and moves at once. Both seats get 1 when the goal is reached, else 0.
"""

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from msgspec import Struct

from motet.errors import BadInput

WAYS = {"north": (-1, 0), "south": (1, 0), "west": (0, -1), "east": (0, 1)}
MOVE = re.compile(r"\bmove\s*:?\s*(north|south|west|east)\b", re.IGNORECASE)
LONGEST = 600
SHOWN = 12
BRIEF = """A maze of {size} x {size} cells: @ is where you are, G the goal, . free, # wall{hidden}.
Rows go from north to south, columns from west to east. {how}
You have {turns} turns in all. Say a move as in "move north"; a turn may also hold other words."""
TOGETHER = """You walk it with another player, who sees other parts than you: tell each other what
you see. You speak in turn; a step is taken when both of you propose the same move, one after the other."""
Cell = tuple[int, int]


class Walk(Struct, frozen=True):
    """The maze (`#` and `.`), who is blind where, where we are, what was said and proposed."""

    grid: tuple[str, ...]
    hidden: tuple[str, ...]
    at: tuple[int, int]
    goal: tuple[int, int]
    said: tuple[str, ...] = ()
    proposed: str = ""


@dataclass(frozen=True)
class Maze:
    """Rules of the maze.

    Args:
        size: cells in a row.
        turns: of all seats together.
        solo: one seat that sees everything.
    """

    size: int = 6
    turns: int = 60
    solo: bool = False
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.size < 3:
            raise BadInput(f"size is {self.size!r}; expected 3 or more")

    @property
    def seats(self) -> tuple[str, ...]:
        return ("walker",) if self.solo else ("first", "second")

    def start(self, rng: Random) -> Walk:
        while True:
            cells = [
                ["#" if rng.random() < 0.35 else "." for _ in range(self.size)] for _ in range(self.size)
            ]
            start, goal = (rng.randrange(self.size), 0), (rng.randrange(self.size), self.size - 1)
            for row, column in (start, goal):
                cells[row][column] = "."
            grid = tuple("".join(row) for row in cells)
            if way(grid, start, goal):
                hidden = tuple("".join(rng.choice("01") for _ in range(self.size)) for _ in range(self.size))
                return Walk(grid, hidden, start, goal)

    def brief(self, seat: str) -> str:
        hidden, how = ("", "") if self.solo else (", ? not known to you", TOGETHER)
        return BRIEF.format(size=self.size, hidden=hidden, how=how, turns=self.turns)

    def acting(self, state: Walk) -> tuple[str, ...]:
        if state.at == state.goal or len(state.said) >= self.turns:
            return ()
        return (self.seats[len(state.said) % len(self.seats)],)

    def legal(self, state: Walk, seat: str) -> None:
        return None

    def read(self, state: Walk, seat: str, text: str) -> str | None:
        """All that is said, in one line; talk without a move is fine."""
        return " ".join(text.split())[:LONGEST] or None

    def sample(self, state: Walk, seat: str, rng: Random) -> str:
        return f"move {rng.choice(tuple(WAYS))}"

    def text(self, state: Walk, seat: str) -> str:
        drawn = "\n".join(
            "".join(self._cell(state, seat, (r, c)) for c in range(self.size)) for r in range(self.size)
        )
        talk = list(enumerate(state.said))[-SHOWN:]
        said = "\n".join(f"{self.seats[i % len(self.seats)]}: {words}" for i, words in talk)
        left = self.turns - len(state.said)
        return f"You are {seat}. Turns left: {left}.\n{drawn}\n{said or 'Nothing was said yet.'}"

    def _cell(self, state: Walk, seat: str, cell: Cell) -> str:
        if cell == state.at:
            return "@"
        if cell == state.goal:
            return "G"
        row, column = cell
        blind = not self.solo and state.hidden[row][column] == str(self.seats.index(seat))
        return "?" if blind else state.grid[row][column]

    def step(self, state: Walk, actions: Mapping[str, str]) -> tuple[Walk, dict[str, float]]:
        ((seat, text),) = actions.items()
        words = self.read(state, seat, text) or ""
        moves = MOVE.findall(words)
        move = moves[-1].lower() if moves else ""
        agreed = move and (self.solo or move == state.proposed)
        at = step_from(state.grid, state.at, move) if agreed else state.at
        said = (*state.said, words)
        after = Walk(state.grid, state.hidden, at, state.goal, said, "" if agreed else move)
        return after, dict.fromkeys(self.seats, 1.0) if at == state.goal else {}

    def perfect(self, state: Walk, seat: str, rng: Random) -> str:
        """An oracle that sees the whole maze: the next step of a shortest way."""
        return f"move {state.proposed or way(state.grid, state.at, state.goal)[0]}"


def step_from(grid: tuple[str, ...], at: Cell, move: str) -> Cell:
    """Where a move leads; a wall or the edge leaves us where we are."""
    row, column = at[0] + WAYS[move][0], at[1] + WAYS[move][1]
    inside = 0 <= row < len(grid) and 0 <= column < len(grid)
    return (row, column) if inside and grid[row][column] == "." else at


def way(grid: tuple[str, ...], start: Cell, goal: Cell) -> tuple[str, ...]:
    """A shortest way as moves; empty when there is none."""
    todo: deque[tuple[Cell, tuple[str, ...]]] = deque([(start, ())])
    seen = {start}
    while todo:
        at, found = todo.popleft()
        if at == goal:
            return found
        for move in WAYS:
            after = step_from(grid, at, move)
            if after not in seen:
                seen.add(after)
                todo.append((after, (*found, move)))
    return ()
