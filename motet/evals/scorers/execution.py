"""The query must give the rows of the gold query, on the item's own database.

Execution accuracy, as in Spider (Yu et al. 2018, arXiv:1809.08887) and BIRD (Li et al. 2023,
arXiv:2305.03111).

Rows count as often as they occur, and in order when the gold query sorts; names of columns are free.
"""

import asyncio
from dataclasses import dataclass

from motet.answers import canonical, extract
from motet.errors import BadInput, ToolError
from motet.evals.scorers.protocol import NO_ANSWER, Score
from motet.tools.database import database_of, same_rows
from motet.types import Task


@dataclass(frozen=True)
class Execution:
    """Marks 1 when the query's rows are those of `task.target`."""

    name: str = "execution"

    async def __call__(self, task: Task, answer: str) -> Score:
        """See `Scorer`.

        Raises:
            BadInput: the item has no database, or no target that runs on it.
        """
        if task.target is None:
            raise BadInput(f"item {task.id!r} has no target; an SQL item needs the right query as `target`")
        query, gold = extract(task, answer), canonical(task, task.target)
        if query is None:
            return NO_ANSWER
        database = database_of(task)
        try:
            wanted = await asyncio.to_thread(database.query, gold)
        except ToolError as error:
            raise BadInput(f"the target of item {task.id!r} does not run: {error}") from error
        try:
            found = await asyncio.to_thread(database.query, query)
        except ToolError as error:
            return Score(0.0, str(error), query)
        if same_rows(found, wanted, gold):
            return Score(1.0, "the rows are the same", query)
        return Score(0.0, f"{len(found[1])} rows where {len(wanted[1])} were wanted, or others", query)
