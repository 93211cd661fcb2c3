"""The tree of SWE-Search: states of a repository, their values, and which one to go on from."""

from dataclasses import dataclass, field
from math import exp, log, sqrt

from msgspec import Struct

from motet.methods.code.workspace import Workspace
from motet.methods.common import at_least, weights
from motet.types import Linked, Reply, fill

STEP = "{said}\nResult:\n{told}"
HINDSIGHT = "{said}\nValue {value} of 100: {explanation}"
FIRST = 300.0
"""Exponent of the bonus at which the start of a search is above all other states, whatever their values."""


class EditTree(Struct, frozen=True):
    """How a search goes over edits: how far, and the terms of UCT, where values go from -100 to 100.

    Args:
        w: children of a state, at most. D: moves one after another, at most.
        C: weight of exploration. alpha, beta: the bonus for early depth, and how fast it falls.
        gamma: weight of the penalty for late depth.

    Raises:
        BadInput: w or D is no whole number above 0, or another is less than 0.
    """

    w: int = 5
    D: int = 8
    C: float = 1.41
    alpha: float = 1.0
    beta: float = 0.8
    gamma: float = 0.1

    def __post_init__(self) -> None:
        at_least(1, w=self.w, D=self.D)
        weights(C=self.C, alpha=self.alpha, beta=self.beta, gamma=self.gamma)

    def bonus(self, depth: int) -> float:
        """alpha e^(-beta (d - 1)): more than alpha before the first move alone, where no state competes."""
        return self.alpha * exp(min(-self.beta * (depth - 1), FIRST))

    def penalty(self, depth: int) -> float:
        """gamma sqrt(d)."""
        return self.gamma * sqrt(depth)


@dataclass(eq=False)
class State:
    """The repository after a move, what was said of it, and the attempts made from it."""

    repository: Workspace
    parent: "State | None" = None
    said: Reply | None = None
    told: str = ""
    finished: bool = False
    value: int = 0
    explanation: Linked = Linked("")
    depth: int = 0
    visits: int = 0
    children: list["State"] = field(default_factory=list)

    @property
    def replies(self) -> tuple[Reply, ...]:
        """What was said on the way here."""
        before = self.parent.replies if self.parent else ()
        return (*before, self.said) if self.said else before

    @property
    def steps(self) -> list[Linked]:
        """The moves that led here, each with its result."""
        before = self.parent.steps if self.parent else []
        return [*before, fill(STEP, said=self.said, told=self.told)] if self.said else before

    @property
    def hindsight(self) -> list[Linked]:
        """The other moves tried from here and on the way here, each with what the value agent said of it."""
        return self._tried()

    def _tried(self, onward: "State | None" = None) -> list[Linked]:
        before = self.parent._tried(self) if self.parent else []
        here = [
            fill(HINDSIGHT, said=child.said, value=child.value, explanation=child.explanation)
            for child in self.children
            if child.said and child is not onward
        ]
        return [*before, *here]

    def uct(self, tree: EditTree) -> float:
        """Value + C sqrt(ln N / n) + alpha e^(-beta (d - 1)) - gamma sqrt(d).

        The value is this state's own: an edit that fails takes nothing from the state it was made in.
        """
        above = max(self.parent.visits, 1) if self.parent else 1
        exploration = tree.C * sqrt(log(above) / max(self.visits, 1))
        return self.value + exploration + tree.bonus(self.depth) - tree.penalty(self.depth)

    def grown(self, repository: Workspace, said: Reply, told: str, finished: bool) -> "State":
        """One more state from here, after one more move."""
        state = State(repository, self, said, told, finished, depth=self.depth + 1)
        self.children.append(state)
        return state

    def back_up(self) -> None:
        """Count a visit of this state and of all on the way to it."""
        node: State | None = self
        while node:
            node.visits += 1
            node = node.parent


def next_state(states: list[State], tree: EditTree) -> State | None:
    """The state of highest UCT that may have another child, the first of equals; None when there is none."""
    open_ = [s for s in states if not s.finished and len(s.children) < tree.w and s.depth < tree.D]
    return max(open_, key=lambda state: state.uct(tree), default=None)
