"""Runs of methods on simulated voices, for the tests of the methods."""

import asyncio
import math
from typing import Any

import motet
from motet import Run, Store, Task
from motet.answers import extract
from motet.models.sim import right_answer

SUM = Task("What is 17 + 25?", target="42", kind="number")


def sums(n: int, **meta: Any) -> list[Task]:
    """`n` questions of one kind."""
    return [Task(f"What is {i} + {i}?", target=str(2 * i), kind="number", meta=meta) for i in range(n)]


def play(team: motet.Team, task: Task = SUM, **options: Any) -> Run:
    return team.run(task, store=Store.memory(), **options)


def play_all(team: motet.Team, tasks: list[Task]) -> list[Run]:
    """One run per task, all at once."""

    async def runs() -> list[Run]:
        store = Store.memory()
        return await asyncio.gather(*(team.arun(task, store=store) for task in tasks))

    return asyncio.run(runs())


def is_right(run: Run) -> bool:
    task = run.tape.started.task
    return run.ok and extract(task, run.answer) == right_answer(task)


def accuracy(team: motet.Team, tasks: list[Task]) -> float:
    return sum(map(is_right, play_all(team, tasks))) / len(tasks)


def noise(p: float, n: int) -> float:
    """Three standard errors of a share `p` of `n`."""
    return 3 * math.sqrt(p * (1 - p) / n)


def edges(run: Run) -> list[tuple[str, tuple[str, ...]]]:
    """Who spoke, and the ids of the calls whose replies were shown, in order of asking."""
    return [(call.voice, call.parents) for call in run.calls]


def said_to(run: Run, voice: str) -> list[str]:
    """The prompts of one voice, in order."""
    return [run.tape.path(c.prompt)[-1].text for c in run.calls if c.voice == voice]


def says(answer: object) -> Any:
    """A voice that always gives this answer."""
    return lambda _: f"Answer: {answer}"
