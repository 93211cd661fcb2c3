"""A pool of outputs whose maker drops what is poor in it."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct, defstruct

from motet.agent import Voice
from motet.errors import ModelError
from motet.types import Linked, Reply, Task, fill

PRUNE = """\
A program is wanted for this:
{task}

These are {what}:

{items}

Which of them are poor: wrong, unclear, incomplete, or beside the point? Give their numbers as `drop`; none if
all are good."""


async def survivors(voice: Voice, task: Task, what: str, items: Sequence[Linked | Reply]) -> list[int]:
    """Positions of what its maker keeps of a pool; all of them when it keeps none, or fails.

    Args:
        what: the items are, as the prompt says it.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    everything = list(range(len(items)))
    if not items:
        return everything
    try:
        verdict = await voice.ask(fill(PRUNE, task=task, what=what, items=items), schema=_poor_of(len(items)))
    except ModelError:
        return everything
    return [i for i in everything if i + 1 not in verdict.data.drop] or everything


@lru_cache
def _poor_of(n: int) -> type[Struct]:
    number = Annotated[int, Meta(ge=1, le=n)]
    return defstruct("Poor", [("drop", Annotated[list[number], Meta(max_length=n)])])
