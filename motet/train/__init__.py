"""Training: rows from tapes, losses by name, and engines behind one port.

Names are imported when they are first used: rows need no torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from motet.train.engine import REFERENCE, Adam, Engine, check_engine
    from motet.train.network import torch_engine
    from motet.train.objective import LOSSES, Loss
    from motet.train.rows import Ledger, Row, Span, rows_of
    from motet.train.tabular import tabular_engine

_HOME = {
    "REFERENCE": "engine",
    "Adam": "engine",
    "Engine": "engine",
    "check_engine": "engine",
    "LOSSES": "objective",
    "Loss": "objective",
    "Ledger": "rows",
    "Row": "rows",
    "Span": "rows",
    "rows_of": "rows",
    "tabular_engine": "tabular",
    "torch_engine": "network",
}

__all__ = [
    "LOSSES",
    "REFERENCE",
    "Adam",
    "Engine",
    "Ledger",
    "Loss",
    "Row",
    "Span",
    "check_engine",
    "rows_of",
    "tabular_engine",
    "torch_engine",
]


def __getattr__(name: str) -> Any:
    """The name, from the module it lives in."""
    if name not in _HOME:
        raise AttributeError(f"module 'motet.train' has no attribute {name!r}")
    return getattr(import_module(f"motet.train.{_HOME[name]}"), name)
