"""The online knapsack: take an item when its worth for its cost beats a threshold that rises as money goes.

Paper: Yuan et al. 2025, arXiv:2510.16499 (catalogue 167), with the rule of Zhou, Chakrabarty and Lukose 2008.
"""

import math
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from motet.errors import BadInput


def psi(z: float, L: float, U: float) -> float:
    """The least worth for cost that is taken when a share `z` of the budget is spent: (U e / L)^z * L / e.

    Args:
        L, U: the least and the greatest worth for cost that any item can have, L > 0.

    >>> round(psi(0, 1, 4) * math.e, 6), round(psi(1, 1, 4), 6)
    (1.0, 4.0)
    """
    return float((U * math.e / L) ** z * L / math.e)


class Knapsack(Struct, frozen=True):
    """A set of components within a budget, taken or left one by one.

    Args:
        B: the budget. costs: of each component, in the unit of `B`.
        weights: how important each skill is; covering it is worth this much, once.
        taken: components so far. covered: skills that these have.

    >>> pack = Knapsack(B=3, costs=(1, 2), weights={"add": 1, "sort": 1}).offered(1, {"add"})
    >>> pack.taken, pack.left, pack.offered(0, {"add"}).taken
    ((1,), 1, (1,))
    """

    B: float
    costs: Sequence[float]
    weights: Mapping[str, float]
    taken: tuple[int, ...] = ()
    covered: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not self.B > 0 or not all(cost > 0 for cost in self.costs):
            raise BadInput(f"B={self.B!r}, costs={list(self.costs)!r}: expected numbers above 0")

    @property
    def left(self) -> float:
        """What may still be spent."""
        return self.B - sum(self.costs[i] for i in self.taken)

    @property
    def wanted(self) -> list[str]:
        """The skills that nobody taken has."""
        return [skill for skill in self.weights if skill not in self.covered]

    @property
    def threshold(self) -> float:
        """Psi at what is spent, with L = least weight / greatest cost, U = sum of weights / least cost."""
        L = min(self.weights.values()) / max(self.costs)
        U = sum(self.weights.values()) / min(self.costs)
        return psi(1 - self.left / self.B, L, U)

    def offered(self, i: int, skills: Collection[str]) -> "Knapsack":
        """The set after component `i` was offered, which has shown these skills.

        Its value is the weight of those among them that are still wanted. It is taken when it can be paid
        and its value for its cost reaches the threshold.
        """
        gained = [skill for skill in self.wanted if skill in skills]
        value, cost = sum(self.weights[skill] for skill in gained), self.costs[i]
        if not gained or cost > self.left or value / cost < self.threshold:
            return self
        covered = self.covered | set(gained)
        return Knapsack(self.B, self.costs, self.weights, (*self.taken, i), covered)
