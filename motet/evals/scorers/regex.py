"""The reply must match a pattern: the one given, or the task's own (`meta["pattern"]`)."""

import re
from dataclasses import dataclass

from motet.errors import BadInput
from motet.evals.scorers.protocol import Score
from motet.types import Task


@dataclass(frozen=True)
class Regex:
    """Marks 1 when the pattern is found in the reply; what it matched is the answer."""

    pattern: str = ""
    name: str = "regex"

    async def __call__(self, task: Task, answer: str) -> Score:
        pattern = self.pattern or task.meta.get("pattern")
        if not isinstance(pattern, str):
            raise BadInput(f"item {task.id!r} has no pattern; give Regex(pattern) or meta['pattern']")
        try:
            found = re.search(pattern, answer, re.MULTILINE)
        except re.error as error:
            raise BadInput(f"pattern {pattern!r} is not a regular expression: {error}") from error
        return Score(1.0, "matches", found[0]) if found else Score(0.0, f"nothing matches {pattern!r}")
