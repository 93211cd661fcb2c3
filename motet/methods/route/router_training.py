"""Training the controller of MasRouter from logged runs.

Paper: Yue et al. 2025, arXiv:2502.11133 (catalogue 278).
Idea: the reward of a run is utility - lambda * cost. REINFORCE moves the weights of each level along the
score of what was drawn, times the reward less the mean for its query. Runs that another controller drew count
by the ratio of the chances (clipped), so one log serves many steps.
Deviates: the paper takes one step for each sample, and embeds with a network that is trained along. That no
fixed team is as good and as cheap is shown where the gain of routing is large; where cost weighs so much that
it is small (in the tests' world, from lambda 3 on), some hundred runs do not suffice for it.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Any

import msgspec

from motet.errors import BadInput
from motet.methods.common import Mark, gives_target
from motet.methods.route.controller import LEVELS, ROWS, Controller, D, Menu, Plan, Step, chances, drawn
from motet.methods.route.mas_router import MODES
from motet.run import Run
from motet.tape.keys import digest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Weights = dict[str, NDArray[np.float64]]


def dollars(run: Run) -> float:
    """What a run cost.

    Raises:
        BadInput: a price is unknown.
    """
    if run.cost is None:
        raise BadInput(
            f"run {run.id!r} has no known cost; give `price`, such as lambda run: run.usage.tokens"
        )
    return run.cost


def planned(run: Run) -> Plan:
    """What the controller of a `mas_router` run drew, found again from its tape.

    Raises:
        BadInput: the run had no profiles for its models.
    """
    started, knobs = run.tape.started, run.tape.knobs
    if not knobs.get("profiles"):
        raise BadInput(
            f"run {run.id!r} of {started.team} has no profiles; a controller learns from their texts"
        )
    menu = Menu([MODES[mode] for mode in knobs["modes"]], knobs["roles"], knobs["profiles"])
    rng = Random(digest(started.seed, "route", started.task.prompt))
    return drawn(controller_of(run), started.task.prompt, menu, knobs["gamma"], rng)


def controller_of(run: Run) -> Controller:
    """The controller of a `mas_router` run."""
    return msgspec.convert(run.tape.knobs["controller"], Controller)


def train_router(
    runs: Sequence[Run],
    *,
    lam: float,
    epochs: int = 4,
    lr: float = 1.5,
    clip: float = 3.0,
    mark: Mark = gives_target,
    price: Callable[[Run], float] = dollars,
) -> Controller:
    """A better controller, beginning with that of the last run.

    Args:
        runs: of `mas_router` with profiles, on tasks that can be marked; best some of each, with other seeds.
        lam: how much utility a unit of cost is worth.
        epochs: steps, each on the whole log. lr: their size.
        clip: no run counts more than this.

    Raises:
        BadInput: there are no runs, or one has no profiles or no known cost.
    """
    import numpy as np

    if not runs:
        raise BadInput("no runs to learn from; play mas_router on some tasks first")
    plans = [planned(run) for run in runs]
    rewards = [_reward(run, lam, mark, price) for run in runs]
    gains = _gains([run.tape.started.task.prompt for run in runs], rewards)
    before = [
        _likelihood(msgspec.structs.asdict(controller_of(r)), p) for r, p in zip(runs, plans, strict=True)
    ]
    last = msgspec.structs.asdict(controller_of(runs[-1]))
    weights: Weights = {k: np.array(last[k] if len(last[k]) else np.zeros((ROWS[k], D))) for k in LEVELS}
    for _ in range(epochs):
        slopes = {level: np.zeros_like(weights[level]) for level in LEVELS}
        for plan, gain, was in zip(plans, gains, before, strict=True):
            ratio = min(clip, _likelihood(weights, plan) / was)
            for step in plan.steps:
                slopes[step.level] += ratio * gain * _score(weights[step.level], step)
        for level in LEVELS:
            weights[level] += lr * slopes[level] / len(plans)
    return Controller(**{k: tuple(tuple(map(float, row)) for row in w.round(4)) for k, w in weights.items()})


def _reward(run: Run, lam: float, mark: Mark, price: Callable[[Run], float]) -> float:
    return float(run.ok and mark(run.tape.started.task, run.answer)) - lam * price(run)


def _gains(queries: Sequence[str], rewards: Sequence[float]) -> list[float]:
    """How far each reward is above the mean of its query (of all, if a query has one run), in deviations."""
    by: dict[str, list[float]] = defaultdict(list)
    for query, reward in zip(queries, rewards, strict=True):
        by[query].append(reward)
    means = {query: fmean(own) if len(own) > 1 else fmean(rewards) for query, own in by.items()}
    gains = [reward - means[query] for query, reward in zip(queries, rewards, strict=True)]
    spread = pstdev(gains) or 1.0
    return [gain / spread for gain in gains]


def _likelihood(weights: Any, plan: Plan) -> float:
    """How likely a plan is."""
    likely = 1.0
    for step in plan.steps:
        likely *= chances(weights[step.level], step)[step.taken]
    return likely


def _score(weights: Any, step: Step) -> Any:
    """The gradient of the log-chance of what a step took."""
    import numpy as np

    away = np.asarray(step.options[step.taken]) - np.asarray(chances(weights, step)) @ np.asarray(
        step.options
    )
    return np.outer(step.context, away)
