"""Guess my number: higher or lower, in a limited number of guesses. The perfect player halves the range."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from msgspec import Struct

from motet.errors import BadInput

BRIEF = """I think of a whole number from {low} to {high}. You have {guesses} guesses; after each I say
whether mine is higher or lower. Answer with a number, as in "Action: 7"."""


class Guesses(Struct, frozen=True):
    """The number, and what was guessed."""

    number: int
    said: tuple[int, ...] = ()


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
        if self.low > self.high or self.guesses < 1:
            raise BadInput(f"{self!r}: expected low <= high and 1 guess or more")

    def deals(self) -> Iterator[tuple[float, Guesses]]:
        numbers = range(self.low, self.high + 1)
        yield from ((1 / len(numbers), Guesses(number)) for number in numbers)

    def brief(self, seat: str) -> str:
        return BRIEF.format(low=self.low, high=self.high, guesses=self.guesses)

    def acting(self, state: Guesses) -> tuple[str, ...]:
        over = len(state.said) >= self.guesses or state.number in state.said[-1:]
        return () if over else self.seats

    def legal(self, state: Guesses, seat: str) -> None:
        return None

    def read(self, state: Guesses, seat: str, text: str) -> str | None:
        """The last whole number in the text, if it lies in the range."""
        numbers = re.findall(r"(?<![\d.])-?\d{1,18}(?!\.?\d)", text)
        return numbers[-1] if numbers and self.low <= int(numbers[-1]) <= self.high else None

    def sample(self, state: Guesses, seat: str, rng: Random) -> str:
        return str(rng.randint(self.low, self.high))

    def text(self, state: Guesses, seat: str) -> str:
        told = ", ".join(
            f"{n}: {'right' if n == state.number else 'higher' if n < state.number else 'lower'}"
            for n in state.said
        )
        return f"{self.guesses - len(state.said)} guesses left. So far: {told or 'nothing yet'}."

    def step(self, state: Guesses, actions: Mapping[str, str]) -> tuple[Guesses, dict[str, float]]:
        guess = int(actions["player"])
        return Guesses(state.number, (*state.said, guess)), {"player": float(guess == state.number)}

    def perfect(self, state: Guesses, seat: str, rng: Random) -> str:
        """The middle of what is left, seen only through the answers."""
        low = max((n + 1 for n in state.said if n < state.number), default=self.low)
        high = min((n - 1 for n in state.said if n > state.number), default=self.high)
        return str((low + high) // 2)
