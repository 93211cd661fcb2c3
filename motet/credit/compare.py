"""Axes 2 and 5: what is subtracted (the baseline) and what it is divided by (the normaliser).

Sums are exact (`math.fsum`), so that the order of a group's members changes no bit of the result.
Statistics are of trajectories where the score is of the trajectory: a long episode counts once.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from math import fsum, isnan, nan, sqrt
from typing import Literal

from motet.credit.keys import KEYS, StepKey, check, members
from motet.credit.types import Batch, Scores, flat, fold, spread, unscored

Baseline = Literal["none", "mean", "loo"]
Scale = Literal["none", "std", "batch"]
Epsilon = Literal["verl", "trl", "openrlhf"] | float

EPSILONS = {"verl": 1e-6, "trl": 1e-4, "openrlhf": 1e-9}
"""What public trainers add to the standard deviation."""


def epsilon(eps: Epsilon) -> float:
    """The number behind the name of a trainer, or the number itself."""
    return EPSILONS[eps] if isinstance(eps, str) else eps


def mean(xs: Sequence[float]) -> float:
    """The mean; exactly x when all are x."""
    return xs[0] if min(xs) == max(xs) else fsum(xs) / len(xs)


def std(xs: Sequence[float]) -> float:
    """The standard deviation of a sample (ddof = 1); 0 for a single one."""
    if len(xs) < 2:
        return 0.0
    centre = mean(xs)
    return sqrt(fsum((x - centre) ** 2 for x in xs) / (len(xs) - 1))


def _less_mean(xs: Sequence[float]) -> list[float]:
    centre = mean(xs)
    return [x - centre for x in xs]


def _less_others(xs: Sequence[float]) -> list[float]:
    if min(xs) == max(xs):
        return [0.0] * len(xs)
    total, others = fsum(xs), len(xs) - 1
    return [x - (total - x) / others for x in xs]


BASELINES: dict[str, Callable[[Sequence[float]], list[float]]] = {
    "none": list,
    "mean": _less_mean,
    "loo": _less_others,
}


def compare(
    samples: Sequence[float],
    keys: Sequence[Hashable],
    *,
    baseline: Baseline = "mean",
    scale: Scale = "none",
    eps: Epsilon = "verl",
) -> tuple[list[float], Counter[str]]:
    """Each sample against those with the same key.

    Args:
        samples: NaN where there is no score: it leaves the statistics, and stays NaN.
        keys: one for each sample.
        baseline: subtract nothing, the group's mean, or the mean of the others.
        scale: divide by nothing, by the group's standard deviation + eps, or by the whole batch's + eps.
        eps: a number, or the trainer whose number it is.

    Returns:
        The advantages and the counts. A group of one is compared with nobody: 0, and counted.
    """
    scored = [i for i, x in enumerate(samples) if not isnan(x)]
    groups = members(keys[i] for i in scored)
    advantages = [nan] * len(samples)
    counts = Counter(unscored=len(samples) - len(scored), groups=len(groups))
    small = epsilon(eps)
    for places in groups.values():
        where = [scored[p] for p in places]
        xs = [samples[i] for i in where]
        if len(xs) == 1 and (baseline != "none" or scale == "std"):
            counts["singletons"] += 1
            advantages[where[0]] = 0.0
            continue
        spread_of_it = std(xs)
        counts["zero_variance"] += len(xs) > 1 and not spread_of_it
        # Equal scores are 0 apart already: dividing by eps alone would only blow up what is not centred.
        width = spread_of_it + small if scale == "std" and spread_of_it else 1.0
        for i, x in zip(where, BASELINES[baseline](xs), strict=True):
            advantages[i] = x / width
    if scale == "batch" and len(scored) > 1:
        width = std([advantages[i] for i in scored]) + small or 1.0
        advantages = [x / width for x in advantages]
    return advantages, counts


def by_trajectory(
    batch: Batch,
    scores: Sequence[float],
    key: StepKey = "task",
    *,
    baseline: Baseline = "mean",
    scale: Scale = "none",
    eps: Epsilon = "verl",
) -> tuple[Scores, Counter[str]]:
    """One score a trajectory, compared with its group's, given to all its steps."""
    check(batch, key)
    keys = [KEYS[key](t, 0) for t in batch.trajectories]
    values, counts = compare(scores, keys, baseline=baseline, scale=scale, eps=eps)
    return spread(values, batch), counts


def by_step(
    batch: Batch,
    scores: Scores,
    key: StepKey = "turn",
    *,
    baseline: Baseline = "mean",
    scale: Scale = "none",
    eps: Epsilon = "verl",
) -> tuple[Scores, Counter[str]]:
    """One score a step, compared with the steps that have the same key."""
    check(batch, key)
    keys = [KEYS[key](t, i) for t in batch.trajectories for i in range(len(t.steps))]
    values, counts = compare(flat(scores), keys, baseline=baseline, scale=scale, eps=eps)
    counts["unscored"] = unscored(scores)
    return fold(values, scores), counts
