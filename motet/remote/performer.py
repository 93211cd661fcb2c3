"""What is behind a door: a voice or a team that does each request as a run of its own."""

import asyncio
from collections.abc import Callable
from typing import Any

from motet.agent import Agent, Knobs, Voice
from motet.budget import Budget
from motet.run import Run
from motet.tape import Live, Store, project_store
from motet.teams import Team, team
from motet.types import Reply, Task


@team
async def solo(
    task: Task, singer: Voice, *, schema: dict[str, Any] | None = None, max_tokens: int | None = None
) -> Reply:
    """One voice, asked once."""
    limits: Knobs = {} if max_tokens is None else {"max_tokens": max_tokens}
    return await singer.ask(task, schema=schema, **limits)


def own_store() -> Store:
    """The project's store through a connection of its own, since a `Store` is not shared between threads."""
    return Store(project_store().path)


class Performer:
    """A voice or a team, ready to be asked by others.

    Args:
        singer: an agent, a team that is cast, or whatever a voice can be cast with.
        about: what it can do, in a sentence.
        budget: hard limits of each request.
        store: where the tapes are kept; the project's when left out. No other thread may use it.
        at_once: how many requests are worked on at a time; the others wait.
    """

    def __init__(
        self,
        singer: Any,
        *,
        name: str = "",
        about: str = "",
        budget: Budget | None = None,
        store: Store | None = None,
        at_once: int = 8,
    ) -> None:
        self.name = name or getattr(singer, "name", "") or "agent"
        written = singer.instructions if isinstance(singer, Agent) else getattr(singer, "__doc__", None)
        self.about = about or (written or self.name).strip().partition("\n")[0]
        self._team: Team[...] = solo.cast(singer=singer)
        self._budget, self._store = budget, store
        self._room = asyncio.Semaphore(at_once)

    async def run(
        self,
        prompt: str,
        *,
        schema: dict[str, Any] | None = None,
        max_tokens: int | None = None,
        on_event: Callable[[Live], None] | None = None,
    ) -> Run:
        """Do one request.

        Args:
            schema, max_tokens: of the reply; a team keeps its own limits.
            on_event: called with each event of the run.
        """
        team = self._team.configured(schema=schema, max_tokens=max_tokens)
        if self._store is None:
            self._store = own_store()
        async with self._room:
            return await team.arun(Task(prompt), budget=self._budget, store=self._store, on_event=on_event)
