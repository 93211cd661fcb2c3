"""Where a call finds out what it is part of. Recording needs no help from the code it records.

The two context variables follow the running asyncio task, so concurrent runs do not mix.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TYPE_CHECKING

from msgspec import Struct

from motet.types import Reply, Task

if TYPE_CHECKING:
    from motet.tape.recorder import Recorder

RECORDER: ContextVar["Recorder | None"] = ContextVar("motet_recorder", default=None)
CALL: ContextVar["CallContext | None"] = ContextVar("motet_call", default=None)


class CallContext(Struct, frozen=True):
    """What a model may know of the call it serves, beyond messages and sampling.

    Real backends need none of it but `on_delta`. Scripted and simulated models read the rest: that is
    how they know who is asking and what the truth is.

    Args:
        voice: who asks, e.g. `critic`, or `critic/writer` for a voice of a nested team.
        task: the task of the run.
        seed: the run's seed.
        index: sample index of the first reply wanted, per distinct request within the run.
        sources: the earlier replies whose text went into this prompt.
        on_delta: called with each piece of text as it arrives, when somebody listens.
    """

    voice: str = ""
    task: Task | None = None
    seed: int = 0
    index: int = 0
    sources: tuple[Reply, ...] = ()
    on_delta: Callable[[str], None] | None = None
