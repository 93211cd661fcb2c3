"""A task channel: subtasks that wait for each other, done as soon as those they wait for are done (OWL)."""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from motet.agent import Voice
from motet.types import Content, Linked


class Posted(NamedTuple):
    """A subtask on the channel: what it is, who does it, and the positions of those that it waits for."""

    part: Content
    worker: Voice
    after: frozenset[int] = frozenset()


class Outcome(NamedTuple):
    """What came of a subtask."""

    part: Content
    result: Linked
    well: bool


Do = Callable[[Sequence[Posted], Sequence[Sequence[Linked]]], Awaitable[Sequence[Outcome]]]


async def clear(channel: Sequence[Posted], do: Do) -> list[Outcome]:
    """Do all that can be done; what waits for a subtask that failed is left.

    Args:
        do: does some subtasks at once, given the results that each waited for.

    Returns:
        The outcomes of those that were tried, in order of trying.
    """
    tried: dict[int, Outcome] = {}
    well: dict[int, Linked] = {}
    while ready := [i for i, p in enumerate(channel) if i not in tried and p.after <= well.keys()]:
        given = [[well[j] for j in sorted(channel[i].after)] for i in ready]
        outcomes = await do([channel[i] for i in ready], given)
        tried.update(zip(ready, outcomes, strict=True))
        well |= {i: tried[i].result for i in ready if tried[i].well}
    return list(tried.values())
