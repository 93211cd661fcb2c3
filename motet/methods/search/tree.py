"""What tree searches share: a node with its UCT value, and the grade of a judge.

UCT: Kocsis and Szepesvári 2006, "Bandit based Monte-Carlo Planning".
"""

import math
from typing import Annotated, Generic, TypeVar

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.errors import ModelError
from motet.types import Linked, Reply

T = TypeVar("T")
NEUTRAL = 0.5  # the grade that a judge who fails has given


class Grade(Struct):
    """What a judge says."""

    score: Annotated[float, Meta(ge=0, le=1)]


class Node(Generic[T]):
    """A place in the tree, and what came of all searches that went through it."""

    def __init__(self, held: T, parent: "Node[T] | None" = None) -> None:
        self.held, self.parent = held, parent
        self.children: list[Node[T]] = []
        self.visits, self.value = 0, 0.0
        if parent:
            parent.children.append(self)

    @property
    def mean(self) -> float:
        """Mean reward; 0 before the first visit."""
        return self.value / self.visits if self.visits else 0.0

    def uct(self, c: float) -> float:
        """`value / visits + c * sqrt(ln(visits of the parent) / visits)`; endless before the first visit."""
        if not self.visits or not self.parent:
            return math.inf
        return self.mean + c * math.sqrt(math.log(self.parent.visits) / self.visits)

    def path(self) -> "list[Node[T]]":
        """The nodes from the root to this one."""
        return [*(self.parent.path() if self.parent else ()), self]

    def back_up(self, reward: float) -> None:
        """Count a visit, with what it brought, here and at every node above."""
        for node in self.path():
            node.visits += 1
            node.value += reward


async def grade(judge: Voice, prompt: Linked) -> tuple[float, tuple[Reply, ...]]:
    """A judge's score from 0 to 1 with the reply that holds it; `NEUTRAL` without one when it fails.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    try:
        verdict = await judge.ask(prompt, schema=Grade)
    except ModelError:
        return NEUTRAL, ()
    return float(verdict.data.score), (verdict,)
