"""Motet: teams of language-model agents, written once as ordinary async functions.

Names are imported when they are first used, so that `import motet` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from motet import evals, methods, tools
    from motet.agent import Agent, Chat, Voice
    from motet.budget import Budget
    from motet.combine import Tally, answered, ask_all, ask_each, leave_one_out, majority, tally
    from motet.errors import MotetError
    from motet.evals.compare import compare
    from motet.evals.suite import Suite, load_suite
    from motet.memory import BufferMemory, RetrievalMemory
    from motet.models import model
    from motet.run import Run
    from motet.tape import Store
    from motet.teams import Team, Voices, team
    from motet.tools import tool
    from motet.types import Failure, Linked, Media, Message, Reply, Sampling, Task, Usage, fill

_HOME = {
    "Agent": "agent",
    "Chat": "agent",
    "Voice": "agent",
    "Budget": "budget",
    "Tally": "combine",
    "answered": "combine",
    "ask_all": "combine",
    "ask_each": "combine",
    "leave_one_out": "combine",
    "majority": "combine",
    "tally": "combine",
    "MotetError": "errors",
    "compare": "evals.compare",
    "Suite": "evals.suite",
    "load_suite": "evals.suite",
    "BufferMemory": "memory",
    "RetrievalMemory": "memory",
    "model": "models",
    "Run": "run",
    "Store": "tape",
    "Team": "teams",
    "team": "teams",
    "Voices": "teams",
    "tool": "tools",
    "Failure": "types",
    "Linked": "types",
    "Media": "types",
    "Message": "types",
    "Reply": "types",
    "Sampling": "types",
    "Task": "types",
    "Usage": "types",
    "fill": "types",
}
_ROOMS = ("evals", "methods", "tools")

__version__ = "0.1.0"
__all__ = [
    "Agent",
    "Budget",
    "BufferMemory",
    "Chat",
    "Failure",
    "Linked",
    "Media",
    "Message",
    "MotetError",
    "Reply",
    "RetrievalMemory",
    "Run",
    "Sampling",
    "Store",
    "Suite",
    "Tally",
    "Task",
    "Team",
    "Usage",
    "Voice",
    "Voices",
    "answered",
    "ask_all",
    "ask_each",
    "compare",
    "evals",
    "fill",
    "leave_one_out",
    "load_suite",
    "majority",
    "methods",
    "model",
    "tally",
    "team",
    "tool",
    "tools",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"motet.{_HOME[name]}"), name)
    elif name in _ROOMS:
        value = import_module(f"motet.{name}")
    else:
        raise AttributeError(f"module 'motet' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
