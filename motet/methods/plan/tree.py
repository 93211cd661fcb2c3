"""The tree of MASTER: agents, what is known of each, and which one to expand."""

from dataclasses import dataclass, field
from math import log, sqrt

from motet.types import Linked, Reply

DOUBT = 0.05  # least confidence: no score is worth nothing


@dataclass(eq=False)
class Node:
    """An agent: its step, what was said of it, and the scores of the failed answers that came back to it."""

    solution: Reply
    parent: "Node | None" = None
    score: float = 0.5
    confidence: float = DOUBT
    rewards: list[float] = field(default_factory=list)
    remarks: list[Linked] = field(default_factory=list)
    children: list["Node"] = field(default_factory=list)

    @property
    def path(self) -> list["Node"]:
        """The agents from the first one to this."""
        return [*(self.parent.path if self.parent else ()), self]

    @property
    def answer(self) -> Linked:
        """Its step as an answer, linked to what was said of it as well."""
        said = [link for remark in self.remarks for link in remark.links]
        return Linked(self.solution.text, (self.solution, *said))

    def uct(self, N: int, C: float) -> float:
        """What an expansion below this agent promises, in a tree of `N` agents."""
        m = self.confidence + len(self.rewards)
        return (self.confidence * self.score + sum(self.rewards)) / m + C * sqrt(log(N) / m)


def best_leaf(root: Node, N: int, C: float) -> Node:
    """Follow the highest UCT down to an agent without children; the first of equals."""
    node = root
    while node.children:
        node = max(node.children, key=lambda child: child.uct(N, C))
    return node
