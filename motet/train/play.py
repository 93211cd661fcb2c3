"""Runs of a team on many tasks at once: models that compute in this process sample their calls together."""

import asyncio
from collections.abc import Sequence
from typing import Any

from motet.concurrency import all_of
from motet.performance import run_blocking
from motet.run import Run
from motet.tape import Store
from motet.teams import Team
from motet.train.builders.reading import mark_of
from motet.train.progress import shown
from motet.types import Task

AT_ONCE = 64


def play(
    team: Team[Any], work: Sequence[tuple[Task, int]], doing: str = "running", store: Store | None = None
) -> list[Run]:
    """Run a team on tasks, each with a seed; a bar tells how many there are and how many are right.

    Args:
        doing: what the bar says.
        store: where the runs are kept; nowhere when left out.

    Returns:
        The runs in the order of `work`; those that failed are among them.
    """
    kept, gate, right = store or Store.memory(), asyncio.Semaphore(AT_ONCE), list[float]()
    with shown(len(work), doing) as show:

        async def one(task: Task, seed: int) -> Run:
            async with gate:
                run = await team.arun(task, seed=seed, store=kept)
            right.append(mark_of(run.tape) or 0.0)
            show(len(right), {"right": sum(right) / len(right)})
            return run

        async def every() -> list[Run]:
            return await all_of([one(task, seed) for task, seed in work])

        return run_blocking(every())
