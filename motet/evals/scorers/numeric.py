"""The answer must be the target as a number, within a tolerance."""

from dataclasses import dataclass

from motet.answers import extract, number
from motet.errors import BadInput
from motet.evals.scorers.exact import gold
from motet.evals.scorers.protocol import NO_ANSWER, Score
from motet.types import Task


@dataclass(frozen=True)
class Numeric:
    """Marks 1 within `rel_tol` of the target's size, or within `abs_tol` of it."""

    rel_tol: float = 1e-6
    abs_tol: float = 0.0
    name: str = "numeric"

    async def __call__(self, task: Task, answer: str) -> Score:
        wanted, got = number(gold(task)), extract(task, answer)
        if wanted is None:
            raise BadInput(f"item {task.id!r}: target {task.target!r} is not a number")
        value = None if got is None else number(got)
        if got is None or value is None:
            return NO_ANSWER
        near = abs(value - wanted) <= max(abs(wanted) * self.rel_tol, self.abs_tol)
        return Score(float(near), f"{got}, expected {task.target}", got)
