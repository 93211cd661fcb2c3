"""A run played again from its tape, in its own time; no model is asked."""

import time
from collections.abc import Callable, Iterator

from motet.tape import Asking, Called, Delta, Listener, Live, Tape, ToolUsed
from motet.types import Message


def replay(tape: Tape) -> Iterator[tuple[float, Live]]:
    """What a listener was shown while the run happened, in order, with the seconds since its start.

    The tape does not know when each piece of a text came: a reply comes whole, when it was complete.
    """
    start = tape.started.at
    shown: list[tuple[float, Live]] = []
    for event in tape.events:
        at = event.at - start
        if isinstance(event, Called):
            done = at + event.latency_s * (not event.cached)
            if not event.cached:
                shown.append((at, Asking(event.id, event.voice, event.model)))
            if node := tape.nodes.get(event.node):
                shown.append((done, Delta(event.id, event.voice, Message(node.role, node.parts).text)))
            shown.append((done, event))
        elif isinstance(event, ToolUsed):
            shown.append((at + event.latency_s, event))
        else:
            shown.append((at, event))
    yield from sorted(shown, key=lambda timed: timed[0])


def play(
    tape: Tape, listener: Listener, *, speed: float = 1.0, sleep: Callable[[float], None] = time.sleep
) -> None:
    """Show a run to a listener with its own pauses, divided by `speed`."""
    now = 0.0
    for at, event in replay(tape):
        if at > now:
            sleep((at - now) / speed)
            now = at
        listener(event)
