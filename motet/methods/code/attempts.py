"""The tree of SWE-Search: states of a repository, their values, and which one to go on from."""

from dataclasses import dataclass, field
from math import exp, log, sqrt

from motet.methods.code.workspace import Workspace
from motet.types import Linked, Reply, fill

STEP = "{said}\nResult:\n{told}"
HINDSIGHT = "{said}\nValue {value} of 100: {explanation}"


@dataclass(frozen=True)
class Weights:
    """Of the terms of UCT, where values go from -100 to 100.

    Args:
        C: of exploration. alpha, beta: of the bonus for early depth, and how fast it falls. gamma: of the
            penalty for late depth.
    """

    C: float
    alpha: float
    beta: float
    gamma: float


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
    total: float = 0.0
    children: list["State"] = field(default_factory=list)

    @property
    def mean(self) -> float:
        """Average value of this state and all that follow from it."""
        return self.total / self.visits if self.visits else 0.0

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
        """The moves tried from here, each with what the value agent said of it."""
        return [
            fill(HINDSIGHT, said=child.said, value=child.value, explanation=child.explanation)
            for child in self.children
            if child.said
        ]

    def uct(self, w: Weights) -> float:
        """Mean value + C sqrt(ln N / n) + alpha e^(-beta (d - 1)) - gamma sqrt(d)."""
        above = max(self.parent.visits, 1) if self.parent else 1
        exploration = w.C * sqrt(log(above) / max(self.visits, 1))
        return (
            self.mean + exploration + w.alpha * exp(-w.beta * (self.depth - 1)) - w.gamma * sqrt(self.depth)
        )

    def grown(self, repository: Workspace, said: Reply, told: str, finished: bool) -> "State":
        """One more state from here, after one more move."""
        state = State(repository, self, said, told, finished, depth=self.depth + 1)
        self.children.append(state)
        return state

    def back_up(self) -> None:
        """Count the value of this state in all states on the way to it."""
        node: State | None = self
        while node:
            node.visits += 1
            node.total += self.value
            node = node.parent


def next_state(tree: list[State], w: int, D: int, weights: Weights) -> State | None:
    """The state of highest UCT that may have another child, the first of equals; None when there is none."""
    states = [s for s in tree if not s.finished and len(s.children) < w and s.depth < D]
    return max(states, key=lambda state: state.uct(weights), default=None)
