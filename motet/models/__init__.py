"""Models: one small protocol and its few makers. Every backend is imported when it is first used."""

from motet.models.names import KINDS, as_model, model
from motet.models.protocol import Model

__all__ = ["KINDS", "Model", "as_model", "model"]
