"""Where tasks come from: one small file per source. `BUILTIN` names the suites that Motet brings along."""

from collections.abc import Callable, Mapping

from msgspec import Struct

from motet.evals.suites.arithmetic import SIZE, make_arithmetic
from motet.evals.suites.code import make_code
from motet.evals.suites.facts import make_facts
from motet.evals.suites.sentiment import make_sentiment
from motet.types import Task


class Fixed(Struct, frozen=True):
    """A list of items written once."""

    make: Callable[[], tuple[Task, ...]]
    kind: str
    size: int
    description: str


class Generated(Struct, frozen=True):
    """Items made from options (`NAME?key=value`), a number of items and a seed; `size` unless told."""

    make: Callable[[Mapping[str, str], int | None, int], tuple[Task, ...]]
    kind: str
    size: int
    description: str


BUILTIN: dict[str, Fixed | Generated] = {
    "arithmetic": Generated(
        make_arithmetic, "number", SIZE, "sums; ?difficulty=1 (7 + 5) to 4 (47 + 85 + 12)"
    ),
    "facts": Fixed(make_facts, "choice", 40, "easy general knowledge, four options"),
    "mini-code": Fixed(make_code, "code", 11, "tiny Python functions with unit tests"),
    "sentiment": Fixed(make_sentiment, "choice", 40, "short reviews, positive or negative"),
}
