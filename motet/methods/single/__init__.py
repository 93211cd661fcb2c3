"""One voice, one call."""

from motet.methods.info import Method
from motet.methods.single.chain_of_thought import chain_of_thought
from motet.methods.single.direct import direct

METHODS: dict[str, Method] = {
    "direct": Method(direct, "single", "none: the baseline", "1"),
    "chain_of_thought": Method(chain_of_thought, "single", "Kojima et al. 2022, arXiv:2205.11916", "1"),
}

__all__ = ["METHODS", "chain_of_thought", "direct"]
