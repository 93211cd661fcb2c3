"""Tic-tac-toe: two players, full information; perfect play is a draw.

Rewards: 1 to the winner, -1 to the loser, 0 for a draw. The perfect player is minimax over the 5,478
positions, each solved once a process.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, ClassVar

from msgspec import Struct

LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
BRIEF = """Tic-tac-toe on cells 1 to 9, row by row. You are {mark}; x begins. Three in a row wins.
Answer with the number of a free cell, as in "Action: 5"."""


class Board(Struct, frozen=True):
    """Nine cells, each `x`, `o` or its own number."""

    cells: str = "123456789"


@dataclass(frozen=True)
class TicTacToe:
    """Rules of tic-tac-toe."""

    seats: ClassVar[tuple[str, ...]] = ("x", "o")
    stake: ClassVar[float] = 1.0
    zero_sum: ClassVar[bool] = True

    def deals(self) -> Iterator[tuple[float, Board]]:
        yield 1.0, Board()

    def brief(self, seat: str) -> str:
        return BRIEF.format(mark=seat)

    def acting(self, state: Board) -> tuple[str, ...]:
        return _acting(state.cells)

    def legal(self, state: Board, seat: str) -> tuple[str, ...]:
        return _free(state.cells)

    def text(self, state: Board, seat: str) -> str:
        return _drawn(state.cells)

    def array(self, state: Board, seat: str) -> Any:
        """Shape (2, 9): own marks, the other's marks."""
        import numpy

        other = "o" if seat == "x" else "x"
        return numpy.array([[cell == mark for cell in state.cells] for mark in (seat, other)], numpy.float32)

    def step(self, state: Board, actions: Mapping[str, str]) -> tuple[Board, dict[str, float]]:
        ((seat, cell),) = actions.items()
        cells = state.cells.replace(cell, seat)
        if _won(cells):
            return Board(cells), {seat: 1.0, "o" if seat == "x" else "x": -1.0}
        return Board(cells), {}

    def perfect(self, state: Board, seat: str, rng: Random) -> str:
        """A random one of the moves that lose nothing."""
        value = {cell: -solve(state.cells.replace(cell, seat)) for cell in _free(state.cells)}
        return rng.choice([cell for cell in value if value[cell] == max(value.values())])


@lru_cache(maxsize=8192)
def solve(cells: str) -> int:
    """Value of a position to whoever is to move: 1, 0 or -1."""
    if _won(cells):
        return -1
    to_move = _acting(cells)
    if not to_move:
        return 0
    return max(-solve(cells.replace(cell, to_move[0])) for cell in _free(cells))


@lru_cache(maxsize=8192)
def _acting(cells: str) -> tuple[str, ...]:
    if _won(cells) or not _free(cells):
        return ()
    return ("x",) if cells.count("x") == cells.count("o") else ("o",)


@lru_cache(maxsize=8192)
def _won(cells: str) -> bool:
    return any(cells[a] == cells[b] == cells[c] for a, b, c in LINES)


@lru_cache(maxsize=8192)
def _free(cells: str) -> tuple[str, ...]:
    return tuple(cell for cell in cells if cell.isdigit())


@lru_cache(maxsize=8192)
def _drawn(cells: str) -> str:
    rows = "\n---+---+---\n".join(f" {a} | {b} | {c}" for a, b, c in zip(*[iter(cells)] * 3, strict=True))
    return f"The board:\n{rows}"
