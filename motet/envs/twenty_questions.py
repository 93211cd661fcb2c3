"""Twenty questions over a closed set of words, with questions that have a true answer in a table.

Nothing is judged by a model: each question is a property, each word has it or not, and no two words have
the same properties. The perfect player asks what halves the words that are left.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import ClassVar

from msgspec import Struct

HAVE: dict[str, str] = {
    "is alive": "dog cat cow horse eagle penguin salmon shark bee spider oak rose wheat cactus",
    "is an animal": "dog cat cow horse eagle penguin salmon shark bee spider",
    "is a mammal": "dog cat cow horse",
    "can fly": "eagle bee airplane kite",
    "lives in water": "penguin salmon shark",
    "is kept at home": "dog cat rose cactus piano sofa lamp kettle knife",
    "is eaten or gives food": "cow salmon bee wheat bread cheese",
    "is larger than a person": "cow horse shark oak piano sofa airplane car train mountain river",
    "has wheels": "car train bicycle airplane",
    "runs on electricity or fuel": "airplane car train lamp kettle phone",
    "can be dangerous": "eagle shark bee spider knife airplane car train mountain river cactus",
    "has legs": "dog cat cow horse eagle penguin bee spider piano sofa",
    "barks or sings": "dog piano phone eagle",
    "is made of metal": "airplane car train bicycle knife kettle",
    "is ridden": "horse bicycle train",
    "has thorns or a sting": "bee rose cactus",
    "is made of milk": "cheese",
    "flows": "river",
    "is made by people": "bread cheese piano sofa lamp kettle knife phone airplane car train bicycle kite",
}
WORDS: tuple[str, ...] = tuple(sorted({word for words in HAVE.values() for word in words.split()}))
QUESTIONS: tuple[str, ...] = tuple(f"ask: {has}" for has in HAVE)
GUESSES: tuple[str, ...] = tuple(f"guess: {word}" for word in WORDS)
BRIEF = """Twenty questions. I think of one of these words: {words}.
You may ask whether it {properties}.
You have {turns} turns for questions and guesses together; guess right to win.
Answer with "Action: ask: is alive" or "Action: guess: dog"."""


class Asked(Struct, frozen=True):
    """The word, and what was asked and guessed."""

    word: str
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class TwentyQuestions:
    """Reward 1 for the right word, else 0.

    Args:
        turns: questions and guesses together.
    """

    turns: int = 20
    seats: ClassVar[tuple[str, ...]] = ("player",)
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def deals(self) -> Iterator[tuple[float, Asked]]:
        yield from ((1 / len(WORDS), Asked(word)) for word in WORDS)

    def brief(self, seat: str) -> str:
        return BRIEF.format(words=", ".join(WORDS), properties=", ".join(HAVE), turns=self.turns)

    def acting(self, state: Asked) -> tuple[str, ...]:
        over = len(state.said) >= self.turns or state.said[-1:] == (f"guess: {state.word}",)
        return () if over else self.seats

    def legal(self, state: Asked, seat: str) -> tuple[str, ...]:
        return QUESTIONS + GUESSES

    def text(self, state: Asked, seat: str) -> str:
        told = "; ".join(f"{said}: {_answer(state.word, said)}" for said in state.said)
        return f"{self.turns - len(state.said)} turns left. So far: {told or 'nothing yet'}."

    def step(self, state: Asked, actions: Mapping[str, str]) -> tuple[Asked, dict[str, float]]:
        said = actions["player"]
        return Asked(state.word, (*state.said, said)), {"player": float(said == f"guess: {state.word}")}

    def perfect(self, state: Asked, seat: str, rng: Random) -> str:
        """Sees the answers, not the word."""
        told = {said: _answer(state.word, said) for said in state.said}
        left = [word for word in WORDS if all(_answer(word, said) == told[said] for said in told)]
        if len(left) == 1:
            return f"guess: {left[0]}"
        return min(QUESTIONS, key=lambda q: abs(len(left) - 2 * sum(_answer(w, q) == "yes" for w in left)))


@cache
def _answer(word: str, said: str) -> str:
    kind, _, what = said.partition(": ")
    return "yes" if word in (HAVE[what].split() if kind == "ask" else (what,)) else "no"
