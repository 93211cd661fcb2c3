"""24 points: make 24 of four numbers with + - * / and brackets (catalogue 338, there with cards).

Hands are drawn until one can be solved. Arithmetic is exact (fractions); the perfect player is a search
over all ways to join two numbers.
"""

import ast
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from random import Random
from typing import ClassVar

from msgspec import Struct

from motet.envs.actions import free

LONGEST = 80
SIGNS: dict[type[ast.operator], Callable[[Fraction, Fraction], Fraction]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
BRIEF = """Make {target} of the four numbers with + - * / and brackets. Use every number exactly once.
You have {tries} tries. Answer with the expression alone, as in "Action: (1 + 2) * (3 + 5)"."""


class Cards(Struct, frozen=True):
    """The four numbers and the expressions tried."""

    numbers: tuple[int, ...]
    tried: tuple[str, ...] = ()


@dataclass(frozen=True)
class TwentyFour:
    """Reward 1 for an expression that is right, else 0.

    Args:
        target: what to make.
        most: the greatest number on a card.
        tries: how many expressions may be tried.
    """

    target: int = 24
    most: int = 10
    tries: int = 3
    seats: ClassVar[tuple[str, ...]] = ("player",)
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def start(self, rng: Random) -> Cards:
        while True:
            numbers = tuple(sorted(rng.randint(1, self.most) for _ in range(4)))
            if solve(numbers, self.target):
                return Cards(numbers)

    def brief(self, seat: str) -> str:
        return BRIEF.format(target=self.target, tries=self.tries)

    def acting(self, state: Cards) -> tuple[str, ...]:
        if len(state.tried) >= self.tries or (state.tried and self._right(state, state.tried[-1])):
            return ()
        return self.seats

    def legal(self, state: Cards, seat: str) -> None:
        return None

    def read(self, state: Cards, seat: str, text: str) -> str | None:
        """An expression of the four numbers, each used once; whether it is right is for `step` to say."""
        said = (
            (free(text) or "").replace("×", "*").replace("÷", "/").replace("−", "-").partition("=")[0].strip()
        )
        worth = evaluate(said)
        return said if worth and sorted(worth[1].elements()) == list(state.numbers) else None

    def sample(self, state: Cards, seat: str, rng: Random) -> str:
        a, b, c, d = rng.sample(state.numbers, 4)
        x, y, z = rng.choices("+-*", k=3)
        return f"(({a} {x} {b}) {y} {c}) {z} {d}"

    def text(self, state: Cards, seat: str) -> str:
        wrong = "".join(f"\n{tried} is {_worth(tried)}, not {self.target}." for tried in state.tried)
        return f"The numbers: {', '.join(map(str, state.numbers))}.{wrong}"

    def step(self, state: Cards, actions: Mapping[str, str]) -> tuple[Cards, dict[str, float]]:
        said = self.read(state, "player", actions["player"]) or ""
        after = Cards(state.numbers, (*state.tried, said))
        return after, {"player": float(self._right(after, said))}

    def perfect(self, state: Cards, seat: str, rng: Random) -> str:
        return solve(state.numbers, self.target) or ""

    def _right(self, state: Cards, said: str) -> bool:
        worth = evaluate(said)
        return worth is not None and worth[0] == self.target


def evaluate(text: str) -> tuple[Fraction, Counter[int]] | None:
    """Value of an expression, and how often each number is used; None when it is no expression of whole
    numbers with + - * / and brackets, or divides by 0. Nothing is executed: the parsed tree is walked."""
    if len(text) > LONGEST:
        return None
    try:
        used: Counter[int] = Counter()
        return _walk(ast.parse(text, mode="eval").body, used), used
    except (SyntaxError, ValueError, ZeroDivisionError, RecursionError):
        return None


def _walk(node: ast.expr, used: Counter[int]) -> Fraction:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        used[node.value] += 1
        return Fraction(node.value)
    if isinstance(node, ast.BinOp) and (sign := SIGNS.get(type(node.op))):
        return sign(_walk(node.left, used), _walk(node.right, used))
    raise ValueError(f"{ast.dump(node)} is no number and no + - * /")


def _worth(text: str) -> Fraction | None:
    worth = evaluate(text)
    return worth[0] if worth else None


@lru_cache(maxsize=4096)
def solve(numbers: tuple[int, ...], target: int = 24) -> str | None:
    """An expression of all the numbers that is worth `target`, or None."""
    return _search([(Fraction(n), str(n)) for n in numbers], target)


def _search(left: list[tuple[Fraction, str]], target: int) -> str | None:
    if len(left) == 1:
        return left[0][1].removeprefix("(").removesuffix(")") if left[0][0] == target else None
    for i, j in combinations(range(len(left)), 2):
        rest = [left[k] for k in range(len(left)) if k not in (i, j)]
        for joined in _joins(left[i], left[j]):
            if found := _search([*rest, joined], target):
                return found
    return None


def _joins(one: tuple[Fraction, str], two: tuple[Fraction, str]) -> list[tuple[Fraction, str]]:
    (a, x), (b, y) = one, two
    joined = [
        (a + b, f"({x} + {y})"),
        (a - b, f"({x} - {y})"),
        (b - a, f"({y} - {x})"),
        (a * b, f"({x} * {y})"),
    ]
    if b:
        joined.append((a / b, f"({x} / {y})"))
    if a:
        joined.append((b / a, f"({y} / {x})"))
    return joined
