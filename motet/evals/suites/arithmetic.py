"""Sums, generated. `difficulty` 1: 7 + 5, 2: 47 + 5, 3: 47 + 85, 4: 47 + 85 + 12."""

import math
import random
from collections.abc import Mapping

from motet.errors import BadInput
from motet.types import Task

ONE, TWO = range(1, 10), range(10, 100)
LEVELS = {"1": (ONE, ONE), "2": (TWO, ONE), "3": (TWO, TWO), "4": (TWO, TWO, TWO)}
SIZE = 50


def make_arithmetic(options: Mapping[str, str], n: int | None, seed: int) -> tuple[Task, ...]:
    """Make `n` different sums (50 unless told); `difficulty` is 1 to 4, 2 unless told."""
    level = options.get("difficulty", "2")
    if level not in LEVELS or set(options) - {"difficulty"}:
        raise BadInput(f"arithmetic?{dict(options)}: expected difficulty=1, 2, 3 or 4 and nothing else")
    n = SIZE if n is None else n
    terms = LEVELS[level]
    possible = math.prod(map(len, terms))
    if n > possible:
        raise BadInput(f"{n} items wanted, but there are {possible} different sums of difficulty {level}")
    return tuple(_sum(terms, pick, level) for pick in random.Random(seed).sample(range(possible), n))


def _sum(terms: tuple[range, ...], pick: int, level: str) -> Task:
    numbers = []
    for term in terms:
        pick, place = divmod(pick, len(term))
        numbers.append(term[place])
    text = " + ".join(map(str, numbers))
    return Task(
        f"What is {text}?",
        target=str(sum(numbers)),
        id=text.replace(" ", ""),
        kind="number",
        meta={"difficulty": int(level)},
    )
