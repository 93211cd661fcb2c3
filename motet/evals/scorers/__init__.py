"""Ways to mark an answer, by name. Each takes its settings as keyword arguments."""

from collections.abc import Callable
from dataclasses import dataclass

from motet.errors import UnknownName
from motet.evals.scorers.exact import Exact
from motet.evals.scorers.execution import Execution
from motet.evals.scorers.judge import Judge
from motet.evals.scorers.math import Math
from motet.evals.scorers.numeric import Numeric
from motet.evals.scorers.protocol import Score, Scorer
from motet.evals.scorers.regex import Regex
from motet.evals.scorers.unit_tests import UnitTests
from motet.types import Task, TaskKind

__all__ = ["BY_KIND", "SCORERS", "ByKind", "Judge", "Score", "Scorer", "scorer"]


@dataclass(frozen=True)
class ByKind:
    """Marks each task in the way that is usual for its kind."""

    name: str = "by_kind"

    async def __call__(self, task: Task, answer: str) -> Score:
        return await BY_KIND[task.kind](task, answer)


BY_KIND: dict[TaskKind, Scorer] = {
    "text": Exact(),
    "number": Numeric(),
    "choice": Exact("choice"),
    "math": Math(),
    "code": UnitTests(),
    "sql": Execution(),
}

SCORERS: dict[str, Callable[..., Scorer]] = {
    "by_kind": ByKind,
    "choice": lambda: Exact("choice"),
    "exact": Exact,
    "execution": Execution,
    "judge": Judge,
    "math": Math,
    "numeric": Numeric,
    "regex": Regex,
    "tests": UnitTests,
}


def scorer(name: str, **settings: object) -> Scorer:
    """Make a scorer: `scorer("numeric", rel_tol=0.01)`.

    Raises:
        UnknownName: no scorer is called `name`.
    """
    if name not in SCORERS:
        raise UnknownName("scorer", name, SCORERS)
    return SCORERS[name](**settings)
