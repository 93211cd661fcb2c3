"""Many questions at once, each model loaded once: the batches of Symbolic-MoE.

Paper: Chen et al. 2025, arXiv:2503.05641 (catalogue 141).
Idea: when a machine holds one model at a time, play all questions together and let a model serve everybody
who wants it before the next is loaded. In a method whose voices speak one after another, each model is
loaded once for each place that it sings.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from motet.agent import Agent
from motet.concurrency import all_of
from motet.models.protocol import Model
from motet.models.wrappers.shelf import Hook, Shelf
from motet.run import Run
from motet.teams import Team
from motet.types import Task


async def run_grouped(
    team: Team[...],
    tasks: Sequence[Task],
    *,
    load: Hook | None = None,
    unload: Hook | None = None,
    **options: Any,
) -> tuple[list[Run], Counter[str]]:
    """Run a team on many tasks with one model loaded at a time.

    Args:
        load: awaited with the name of a model before it is asked. unload: before the next is loaded.
        options: of `Team.arun`, for every run.

    Returns:
        The runs in the order of the tasks, and how often each model was loaded, by name.
    """
    shelf = Shelf(load, unload)
    shelved = _shelved(team, shelf)
    runs = await all_of([shelved.arun(task, **options) for task in tasks])
    return runs, shelf.loads


def _shelved(team: Team[...], shelf: Shelf) -> Team[...]:
    """The team with every model, also those of teams within, on the shelf."""

    def member(singer: "Agent | Team[...]") -> "Agent | Team[...]":
        if isinstance(singer, Team):
            return _shelved(singer, shelf)
        return replace(singer, model=shelf.hold(cast("Model", singer.model)))

    return team.cast(
        **{
            voice: [member(m) for m in members] if team.voices[voice] else member(members[0])
            for voice, members in team.parts.items()
        }
    )
