"""The cascaded controller of MasRouter: collaboration mode, then roles, then a model for each role.

Paper: Yue et al. 2025, arXiv:2502.11133 (catalogue 278).
Idea: query, modes, roles and models are vectors of their texts. The chance of an option is the softmax of x^T
W o, where o is its vector and x what was decided so far: (1, query) for the mode, (1, query, mode, mean of
earlier roles) for the next role, (1, query, mode, role) for its model. An option that is added by description
alone is scored like those that resemble it.
"""

from collections.abc import Sequence
from math import isfinite
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from motet.errors import BadInput
from motet.methods.route.features import features, softmax

if TYPE_CHECKING:
    from numpy.typing import NDArray

Matrix = Sequence[Sequence[float]]
D = 16  # features of a text
NOBODY_ELSE = "Nobody else: the team is complete."
ROWS = {"mode": 1 + D, "role": 1 + 3 * D, "llm": 1 + 3 * D}
LEVELS = tuple(ROWS)


class Controller(Struct, frozen=True):
    """The weights of each level, rows of the context by columns of the option; empty, all is as likely.

    Raises:
        BadInput: a level has not its `ROWS` of D finite numbers each.
    """

    mode: Matrix = ()
    role: Matrix = ()
    llm: Matrix = ()

    def __post_init__(self) -> None:
        for level, rows in ROWS.items():
            weights: Matrix = getattr(self, level)
            lengths = {len(row) for row in weights}
            if len(weights) and (len(weights) != rows or lengths != {D}):
                got = f"{len(weights)} rows of {' or '.join(map(str, sorted(lengths)))}"
                raise BadInput(f"{level} of a controller has {got} numbers: expected {rows} rows of {D}")
            if not isfinite(sum(map(sum, weights))):
                raise BadInput(f"{level} of a controller has a weight that is endless or no number")


class Menu(NamedTuple):
    """The texts of what there is to choose from."""

    modes: Sequence[str]
    roles: Sequence[str]
    llms: Sequence[str]


class Step(NamedTuple):
    """One choice: at which level, with what in view, among which vectors, and which was taken."""

    level: str
    context: tuple[float, ...]
    options: tuple[tuple[float, ...], ...]
    taken: int


class Plan(NamedTuple):
    """A team for a query: positions in the menu, and the steps that led to it."""

    mode: int
    roles: tuple[int, ...]
    llms: tuple[int, ...]
    steps: tuple[Step, ...]


def chances(weights: Any, step: Step) -> list[float]:
    """How likely each option of a step is, by the weights of its level."""
    if not len(weights):
        return [1 / len(step.options)] * len(step.options)
    import numpy as np

    scores: NDArray[np.float64] = np.asarray(step.options) @ (np.asarray(step.context) @ np.asarray(weights))
    return softmax(scores.tolist())


def drawn(controller: Controller, query: str, menu: Menu, gamma: int, rng: Random) -> Plan:
    """Draw a team of one to `gamma` agents for a query; the same chance has the same team again."""
    steps: list[Step] = []

    def choose(level: str, context: Sequence[float], texts: Sequence[str]) -> int:
        step = Step(level, (1.0, *context), tuple(features(text, D) for text in texts), 0)
        taken = rng.choices(range(len(texts)), chances(getattr(controller, level), step))[0]
        steps.append(step._replace(taken=taken))
        return taken

    asked = features(query, D)
    mode = choose("mode", asked, menu.modes)
    how = features(menu.modes[mode], D)
    roles: list[int] = []
    while len(roles) < gamma:
        texts = [features(menu.roles[i], D) for i in roles] or [(0.0,) * D]
        earlier = [sum(column) / len(texts) for column in zip(*texts, strict=True)]
        offered = [*menu.roles, NOBODY_ELSE] if roles else menu.roles
        role = choose("role", (*asked, *how, *earlier), offered)
        if role == len(menu.roles):
            break
        roles.append(role)
    llms = [choose("llm", (*asked, *how, *features(menu.roles[role], D)), menu.llms) for role in roles]
    return Plan(mode, tuple(roles), tuple(llms), tuple(steps))
