"""The answer must be the target, after both are brought to canonical form. Serves texts and choices."""

from dataclasses import dataclass

from motet.answers import canonical, extract
from motet.errors import BadInput
from motet.evals.scorers.protocol import NO_ANSWER, Score
from motet.types import Task


def gold(task: Task) -> str:
    """Return the target of a task.

    Raises:
        BadInput: it has none.
    """
    if task.target is None:
        raise BadInput(f"item {task.id!r} has no target to compare with; give it one, or use another scorer")
    return task.target


@dataclass(frozen=True)
class Exact:
    """Marks 1 when the canonical forms are equal."""

    name: str = "exact"

    async def __call__(self, task: Task, answer: str) -> Score:
        wanted, got = canonical(task, gold(task)), extract(task, answer)
        if got is None:
            return NO_ANSWER
        return Score(float(got == wanted), f"{got!r}, expected {wanted!r}", got)
