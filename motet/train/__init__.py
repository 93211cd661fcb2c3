"""Training: rows from tapes, losses by name, and engines behind one port.

Names are imported when they are first used: rows need no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from motet.train.engine import REFERENCE, Adam, Engine, check_engine
    from motet.train.loop import Trained, train
    from motet.train.network import torch_engine
    from motet.train.numeric import numeric_engine
    from motet.train.objective import LOSSES, Loss
    from motet.train.plan import Critic, Horizon, Plan, Stop
    from motet.train.rows import Ledger, Row, Span, rows_of
    from motet.train.selfplay import Pool
    from motet.train.source import Episodes, Tasks
    from motet.train.tabular import tabular_engine

_HOME = {
    "REFERENCE": "engine",
    "Adam": "engine",
    "Engine": "engine",
    "check_engine": "engine",
    "LOSSES": "objective",
    "Loss": "objective",
    "Ledger": "rows",
    "Critic": "plan",
    "Horizon": "plan",
    "Plan": "plan",
    "Stop": "plan",
    "Row": "rows",
    "Span": "rows",
    "rows_of": "rows",
    "Pool": "selfplay",
    "Episodes": "source",
    "Tasks": "source",
    "tabular_engine": "tabular",
    "numeric_engine": "numeric",
    "torch_engine": "network",
    "Trained": "loop",
    "train": "loop",
}

__all__ = [
    "LOSSES",
    "REFERENCE",
    "Adam",
    "Critic",
    "Engine",
    "Episodes",
    "Horizon",
    "Ledger",
    "Loss",
    "Plan",
    "Pool",
    "Row",
    "Span",
    "Stop",
    "Tasks",
    "Trained",
    "check_engine",
    "numeric_engine",
    "rows_of",
    "tabular_engine",
    "torch_engine",
    "train",
]


def __getattr__(name: str) -> Any:
    """The name, from the module it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'motet.train' has no attribute {name!r}")
    return getattr(import_module(f"motet.train.{_HOME[name]}"), name)
