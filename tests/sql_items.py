"""SQL items on generated databases, for tests."""

from contextlib import closing
from random import Random

from motet.envs.databases import restore
from motet.envs.text_to_sql import TextToSql
from motet.types import Task


def items(n: int) -> list[Task]:
    """`n` questions with their gold query, each on a database of its own."""
    made = []
    for i in range(n):
        state = TextToSql().start(Random(i))
        with closing(restore(state.database)) as database:
            script = "\n".join(database.iterdump())
        made.append(Task(state.question, target=state.gold, id=str(i), kind="sql", meta={"database": script}))
    return made
