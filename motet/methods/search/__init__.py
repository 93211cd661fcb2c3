"""Answers are nodes of a tree, grown where it pays."""

from motet.methods.info import Method
from motet.methods.search.mcts import mcts
from motet.methods.search.toa import toa

METHODS: dict[str, Method] = {
    "mcts": Method(
        mcts, "search", "Sharma 2024, arXiv:2407.18521", "simulations * (n + 2 * depth + 2) - 1", 124
    ),
    "toa": Method(toa, "search", "Ye et al. 2024, arXiv:2412.17061", "2 * N", 7),
}

__all__ = ["METHODS", "mcts", "toa"]
