"""The tape: events, the tree of messages, the recorder, the store. Every later stage reads it."""

from motet.tape.context import CALL, RECORDER, CallContext
from motet.tape.events import (
    Asking,
    Called,
    Delta,
    Ended,
    Event,
    Live,
    Node,
    NodeTokens,
    Scored,
    Started,
    Stepped,
    ToolUsed,
)
from motet.tape.recorder import Listener, Meter, Recorder
from motet.tape.store import Store, home, project_store
from motet.tape.tape import Tape, total_cost

__all__ = [
    "CALL",
    "RECORDER",
    "Asking",
    "CallContext",
    "Called",
    "Delta",
    "Ended",
    "Event",
    "Listener",
    "Live",
    "Meter",
    "Node",
    "NodeTokens",
    "Recorder",
    "Scored",
    "Started",
    "Stepped",
    "Store",
    "Tape",
    "ToolUsed",
    "home",
    "project_store",
    "total_cost",
]
