"""Critic-free credit of one outcome to all steps: GRPO and its near relatives."""

from collections import defaultdict
from collections.abc import Hashable
from math import isnan, nan
from typing import Literal

from motet.credit.compare import Baseline, Epsilon, Scale, by_step, by_trajectory
from motet.credit.keys import KEYS, StepKey, TrajectoryKey
from motet.credit.returns import Time, over, step_values
from motet.credit.rewards import SOURCES, Source, overlong
from motet.credit.types import Batch, Credit, Positive, Share, result


def compose(
    batch: Batch,
    *,
    key: StepKey = "task",
    source: Source = "outcome",
    time: Time = "outcome",
    baseline: Baseline | Literal["value"] = "mean",
    scale: Scale = "none",
    gamma: Share = 1.0,
) -> Credit:
    """Any point of the product of axes."""
    scores = over([SOURCES[source](t) for t in batch.trajectories], time, gamma)
    if baseline == "value":
        scores = [
            [g - v for g, v in zip(row, step_values(t, lambda values: values[0]), strict=True)]
            for row, t in zip(scores, batch.trajectories, strict=True)
        ]
        return result(*by_step(batch, scores, key, baseline="none", scale=scale))
    if time != "outcome" or key in ("turn", "state"):
        return result(*by_step(batch, scores, key, baseline=baseline, scale=scale))
    whole = [
        t.outcome if source == "outcome" else row[0] if row else nan
        for t, row in zip(batch.trajectories, scores, strict=True)
    ]
    return result(*by_trajectory(batch, whole, key, baseline=baseline, scale=scale))


def _outcomes(batch: Batch) -> list[float]:
    return [t.outcome for t in batch.trajectories]


def grpo(batch: Batch, *, key: TrajectoryKey = "task", scale: Scale = "std", eps: Epsilon = "verl") -> Credit:
    """The outcome, standardised within its group."""
    return result(*by_trajectory(batch, _outcomes(batch), key, scale=scale, eps=eps))


def dr_grpo(batch: Batch, *, key: TrajectoryKey = "task") -> Credit:
    """The outcome less its group's mean, not divided by the group's spread."""
    return result(*by_trajectory(batch, _outcomes(batch), key))


def rloo(batch: Batch, *, key: TrajectoryKey = "task") -> Credit:
    """The outcome less the mean of the group's others."""
    return result(*by_trajectory(batch, _outcomes(batch), key, baseline="loo"))


def dr_mas(batch: Batch, *, scale: Scale = "std", eps: Epsilon = "verl") -> Credit:
    """GRPO with statistics of each voice's own."""
    return grpo(batch, key="task_voice", scale=scale, eps=eps)


def reinforce_pp(batch: Batch, *, eps: Epsilon = 1e-8) -> Credit:
    """The outcome standardised over the whole batch."""
    return grpo(batch, key="all", eps=eps)


def dapo(
    batch: Batch,
    *,
    key: TrajectoryKey = "task",
    eps: Epsilon = "verl",
    longest: Positive = 20480,
    cache: Positive = 4096,
    factor: float = 1.0,
    keep: bool = False,
) -> Credit:
    """GRPO that drops groups in which all have the same outcome, and softly penalises what is overlong."""
    groups: defaultdict[Hashable, set[float]] = defaultdict(set)
    for t in batch.trajectories:
        if not isnan(t.outcome):
            groups[KEYS[key](t, 0)].add(t.outcome)
    flat = {name for name, outcomes in groups.items() if len(outcomes) == 1 and not keep}
    penalties = [overlong(t.tokens, longest, cache, factor) for t in batch.trajectories]
    scores = [
        nan if KEYS[key](t, 0) in flat else t.outcome + p
        for t, p in zip(batch.trajectories, penalties, strict=True)
    ]
    found, counts = by_trajectory(batch, scores, key, scale="std", eps=eps)
    filtered = sum(KEYS[key](t, 0) in flat and not isnan(t.outcome) for t in batch.trajectories)
    counts.update(filtered_groups=len(flat), filtered=filtered, unscored=-filtered)
    counts["overlong"] = sum(p < 0 for p in penalties)
    return result(found, counts)


def aepo(
    batch: Batch,
    *,
    alpha: float = 0.3,
    key: TrajectoryKey = "task",
    scale: Scale = "std",
    eps: Epsilon = "verl",
) -> Credit:
    """GRPO's advantage, larger where the policy was unsure: A·(1 + α·z(H)) over the batch's steps."""
    parent = grpo(batch, key=key, scale=scale, eps=eps)
    if not alpha:
        return parent
    entropies = [[nan if s.entropy is None else s.entropy for s in t.steps] for t in batch.trajectories]
    unsure, counts = by_step(batch, entropies, "all", scale="std", eps=eps)
    found = [
        [
            nan if a is None else a * (1 + alpha * (0.0 if isnan(z) else z))
            for a, z in zip(row, zs, strict=True)
        ]
        for row, zs in zip(parent.advantages, unsure, strict=True)
    ]
    return result(found, {**parent.counts, "without_entropy": counts["unscored"]})
