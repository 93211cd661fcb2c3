"""Guess my number: higher or lower, in a limited number of guesses. The perfect player halves the range.

What is seen is what the answers have left of the range, so states recur.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import ClassVar

from msgspec import Struct

from motet.errors import BadInput

MOST = 10_000
BRIEF = """I think of a whole number from {low} to {high}. You have {guesses} guesses; after each I say
whether mine is higher or lower. Answer with a number, as in "Action: 7"."""


class Range(Struct, frozen=True):
    """The number, where it can still be, the guesses that are left, and whether it was found."""

    number: int
    low: int
    high: int
    left: int
    found: bool = False


@dataclass(frozen=True)
class GuessNumber:
    """Reward 1 for the right number, else 0.

    Args:
        low, high: the range, ends included.
        guesses: how many are allowed.
    """

    low: int = 1
    high: int = 20
    guesses: int = 10
    seats: ClassVar[tuple[str, ...]] = ("player",)
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 0 <= self.high - self.low < MOST or self.guesses < 1:
            raise BadInput(f"{self!r}: expected low <= high, at most {MOST} numbers, and 1 guess or more")

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        return tuple(map(str, range(self.low, self.high + 1)))

    def deals(self) -> Iterator[tuple[float, Range]]:
        for number in range(self.low, self.high + 1):
            yield 1 / len(self.numbers), Range(number, self.low, self.high, self.guesses)

    def brief(self, seat: str) -> str:
        return BRIEF.format(low=self.low, high=self.high, guesses=self.guesses)

    def acting(self, state: Range) -> tuple[str, ...]:
        return () if state.found or not state.left else self.seats

    def legal(self, state: Range, seat: str) -> tuple[str, ...]:
        return self.numbers

    def text(self, state: Range, seat: str) -> str:
        return f"My number is from {state.low} to {state.high}. Guesses left: {state.left}."

    def step(self, state: Range, actions: Mapping[str, str]) -> tuple[Range, dict[str, float]]:
        guess, number = int(actions["player"]), state.number
        if guess == number:
            return Range(number, number, number, state.left - 1, True), {"player": 1.0}
        low, high = state.low, state.high
        if low <= guess < number:
            low = guess + 1
        elif number < guess <= high:
            high = guess - 1
        return Range(number, low, high, state.left - 1), {}

    def perfect(self, state: Range, seat: str, rng: Random) -> str:
        """The middle of what is left."""
        return str((state.low + state.high) // 2)
