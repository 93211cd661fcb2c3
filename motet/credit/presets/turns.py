"""Credit that tells the turns of one trajectory apart by rewards of their own."""

from math import fsum, nan
from typing import Literal

from motet.credit.compare import Baseline, Epsilon, Scale, by_step, by_trajectory, compare
from motet.credit.keys import StepKey, TrajectoryKey, check, check_turns
from motet.credit.returns import discounted
from motet.credit.rewards import information_gain, judged, own, shaped_by_past
from motet.credit.types import Batch, Credit, Share, flat, fold, result, unscored


def mt_grpo(
    batch: Batch, *, weight: float = 1.0, key: TrajectoryKey = "task", eps: Epsilon = "trl"
) -> Credit:
    """Outcome and turn rewards standardised apart; the turn's part only where a tool's result follows."""
    trajectories = batch.trajectories
    outcomes = [t.outcome for t in trajectories]
    turns = [fsum(own(t)[:-1]) for t in trajectories]
    used = [len(t.steps) > 1 for t in trajectories]
    whole, counts = by_trajectory(batch, outcomes, key, scale="std", eps=eps)
    mixed = [r + turn for r, turn in zip(outcomes, [fsum(own(t)) for t in trajectories], strict=True)]
    both, _ = by_trajectory(batch, mixed, key, scale="std", eps=eps)
    tools = [turn if use else nan for turn, use in zip(turns, used, strict=True)]
    local, _ = by_trajectory(batch, tools, key, scale="std", eps=eps)
    rows = [
        [*(a + weight * x for a, x in zip(a_row[:-1], x_row[:-1], strict=True)), a_row[-1]] if use else b_row
        for use, a_row, x_row, b_row in zip(used, whole, local, both, strict=True)
    ]
    counts["unscored"] = unscored(rows)
    return result(rows, {**counts, "without_tool": len(used) - sum(used)})


def igpo(
    batch: Batch,
    *,
    gamma: Share = 1.0,
    order: Literal["normalise_first", "discount_first"] = "normalise_first",
    pool: Literal["joint", "separate"] = "joint",
    log: bool = False,
    scale: Scale = "std",
    eps: Epsilon = "verl",
) -> Credit:
    """Information gain of each turn, outcome of the last, standardised in the group, then discounted."""
    check(batch, "task")
    rewards = [information_gain(t, log=log) for t in batch.trajectories]
    if order == "discount_first":
        rewards = [discounted(row, gamma) for row in rewards]
    last = [i == len(row) - 1 for row in rewards for i in range(len(row))]
    groups = [t.group for t in batch.trajectories for _ in t.steps]
    keys = [(g, end and pool == "separate") for g, end in zip(groups, last, strict=True)]
    values, counts = compare(flat(rewards), keys, scale=scale, eps=eps)
    counts["unscored"] = unscored(rewards)
    rows = fold(values, rewards)
    if order == "normalise_first":
        rows = [discounted(row, gamma) for row in rows]
    return result(rows, counts)


def at_grpo(batch: Batch, *, alpha: float = 1.0, scale: Scale = "std", eps: Epsilon = "verl") -> Credit:
    """α·team + local reward, standardised among the samples of one agent at one turn from one state."""
    check_turns(batch)
    rows = [[(alpha * t.outcome if alpha else 0.0) + local for local in own(t)] for t in batch.trajectories]
    return result(*by_step(batch, rows, "turn", scale=scale, eps=eps))


def marti(
    batch: Batch,
    *,
    form: Literal["margin", "quality"] = "margin",
    alpha: float = 0.5,
    beta: float = 0.0,
    key: StepKey = "turn",
    scale: Scale = "std",
    eps: Epsilon = "verl",
) -> Credit:
    """Each turn's reward shaped by the mean of the turns before it (+ β·outcome), compared in its group."""
    rows = [
        [x + (beta * t.outcome if beta else 0.0) for x in shaped_by_past(t, form, alpha)]
        for t in batch.trajectories
    ]
    return result(*by_step(batch, rows, key, scale=scale, eps=eps))


def llm_critic(
    batch: Batch,
    *,
    key: StepKey = "turn",
    baseline: Baseline = "mean",
    scale: Scale = "none",
    gamma: Share = 0.0,
    eps: Epsilon = "verl",
) -> Credit:
    """A critic's score of each (voice, step) cell in place of the environment's reward."""
    rows = [discounted(judged(t), gamma) for t in batch.trajectories]
    return result(*by_step(batch, rows, key, baseline=baseline, scale=scale, eps=eps))
