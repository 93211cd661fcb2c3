"""A task channel: subtasks that wait for each other, done as soon as those they wait for are done (OWL)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from motet.agent import Voice
from motet.concurrency import all_of
from motet.types import Content, Linked


class Posted(NamedTuple):
    """A subtask on the channel: what it is, who does it, and the positions of earlier ones that it needs."""

    part: Content
    worker: Voice
    after: frozenset[int] = frozenset()


class Outcome(NamedTuple):
    """What came of a subtask."""

    part: Content
    result: Linked
    well: bool


Do = Callable[[Posted, Sequence[Linked]], Awaitable[Outcome]]


async def clear(channel: Sequence[Posted], do: Do) -> list[Outcome | None]:
    """Do all that can be done, each subtask as soon as those it needs are done.

    Args:
        do: does one subtask, given the results that it waited for.

    Returns:
        The outcomes, in the order of the channel; None for what was left because it needs one that failed.
    """
    ends = [asyncio.get_running_loop().create_future() for _ in channel]

    async def one(i: int) -> Outcome | None:
        posted, end = channel[i], None
        needed = [await ends[j] for j in sorted(posted.after) if j < i]
        given = [outcome.result for outcome in needed if outcome and outcome.well]
        if len(given) == len(posted.after):
            end = await do(posted, given)
        ends[i].set_result(end)
        return end

    return await all_of([one(i) for i in range(len(channel))])
