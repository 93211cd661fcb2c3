"""A question on a database: what a voice is shown of it, and what comes of a query.

For a task of another kind the answer that is read out of a reply stands for the result of running it.
"""

import asyncio
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from motet.answers import extract
from motet.errors import ToolError
from motet.tape import RECORDER
from motet.tools.database import Database, database_of, sorts
from motet.tools.sql import table
from motet.types import Linked, Reply, Task, fill

QUESTION = "{shown}\n\nQuestion: {task}"
SHOWN = 5  # rows of a result that are shown


class Tried(Struct, frozen=True):
    """What came of a candidate.

    Args:
        report: the result or the error, for a voice to read.
        rows: what it gave, in order; None when it failed.
        bag: the same in an order of its own, when the query asked for none.
    """

    report: str
    rows: tuple[Any, ...] | None = None
    bag: tuple[Any, ...] | None = None

    def same(self, other: "Tried") -> bool:
        """Whether two that did not fail gave the same rows; in the same order too when one of them sorts."""
        if self.bag is None or other.bag is None:
            return self.rows == other.rows
        return self.bag == other.bag


@dataclass(frozen=True)
class Desk:
    """A task, the database that it is about, and both in words."""

    task: Task
    database: Database | None
    question: Linked

    async def run(self, reply: Reply) -> Tried:
        """Run the query that a reply holds."""
        answer = extract(self.task, reply.text)
        if answer is None:
            return Tried("There is no answer in it that can be read.")
        if self.database is None:
            return Tried(answer, (answer,))
        try:
            header, rows = await asyncio.to_thread(self.database.query, answer)
        except ToolError as error:
            return Tried(f"Error: {error}")
        report = table(header, rows[:SHOWN]) + (f"\n({len(rows)} rows)" if len(rows) > SHOWN else "")
        return Tried(report, tuple(rows), None if sorts(answer) else tuple(sorted(map(repr, rows))))


def desk(task: Task) -> Desk:
    """Open the database of an SQL item; in a team within a team, that of the run's item.

    Raises:
        BadInput: it has none.
    """
    if task.kind != "sql":
        return Desk(task, None, Linked(task.text, task.links))
    recorder = RECORDER.get()
    database = database_of(recorder.task if recorder and "database" not in task.meta else task)
    values = database.values_in(task.prompt)
    shown = f"{database.dialect} database:\n{database.tables}" + (f"\nValues:\n{values}" if values else "")
    return Desk(task, database, fill(QUESTION, shown=shown, task=task))
