"""Credit in trees of samples: joint samples of a team, and MALT's generator, verifier and refiner."""

from collections import Counter
from collections.abc import Hashable
from math import fsum, isnan, nan
from typing import Literal

from motet.credit.compare import Epsilon, Scale, compare, mean
from motet.credit.keys import check, members
from motet.credit.keys import turn as turn_of
from motet.credit.rewards import outcome, steps
from motet.credit.tree import Path, node_returns, paths
from motet.credit.types import Batch, Credit, Share, number, result, spread, unscored
from motet.errors import BadInput


def magrpo(
    batch: Batch,
    *,
    mode: Literal["align", "cross"] = "align",
    gamma: Share = 0.9,
    scale: Scale = "none",
    clip: float = 0.0,
    eps: Epsilon = "verl",
) -> Credit:
    """The joint return less the mean of its siblings, the same for every voice of the joint sample."""
    check(batch, "task")
    if mode == "cross":
        rows, counts = _cross(batch)
    else:
        rows, counts = _align(batch, gamma, scale, eps)
    if clip:
        counts["clipped"] = sum(abs(x) > clip for row in rows for x in row)
        rows = [[x if isnan(x) else max(-clip, min(clip, x)) for x in row] for row in rows]
    return result(rows, counts)


def _align(batch: Batch, gamma: float, scale: Scale, eps: Epsilon) -> tuple[list[list[float]], Counter[str]]:
    """Siblings are the samples of one turn after one parent; without node names, of one turn of the group."""
    returns = node_returns(batch, [steps(t) for t in batch.trajectories], gamma)
    worth: dict[Path, float] = {}
    sibling: dict[Path, Hashable] = {}
    for t, row, ends in zip(batch.trajectories, paths(batch), returns, strict=True):
        for i, path in enumerate(row):
            named = i > 0 and t.steps[i - 1].node
            sibling[path] = path[:-1] if named else (t.group, t.voice, "turn", turn_of(t, i))
            worth[path] = ends[i]
    values, counts = compare(list(worth.values()), [sibling[p] for p in worth], scale=scale, eps=eps)
    found = dict(zip(worth, values, strict=True))
    counts["unscored"] = unscored(returns)
    return [[found[path] for path in row] for row in paths(batch)], counts


def _cross(batch: Batch) -> tuple[list[list[float]], Counter[str]]:
    """Each completion gets the sum, over the joint samples it is in, of reward less the mean of all."""
    if batch.trajectories and not any(t.joint_rewards for t in batch.trajectories):
        raise BadInput(
            "no trajectory has `joint_rewards`: give the rewards of the joint samples each is part of"
        )
    found = [nan] * len(batch.trajectories)
    counts: Counter[str] = Counter()
    for places in members((t.group, t.voice) for t in batch.trajectories).values():
        joints = {i: [number(r) for r in batch.trajectories[i].joint_rewards] for i in places}
        scored = [r for row in joints.values() for r in row if not isnan(r)]
        counts["groups"] += 1
        for i, row in joints.items():
            own = [r for r in row if not isnan(r)]
            counts["unscored"] += not own
            if own:
                found[i] = fsum(r - mean(scored) for r in own)
    return spread(found, batch), counts


def malt(batch: Batch, *, threshold: float = 0.5, soft: bool = False) -> Credit:
    """+1 for a node whose mean outcome of all leaves below is above the threshold, else −1."""
    values = node_returns(batch, [outcome(t) for t in batch.trajectories], 1.0)
    rows = [
        [x - threshold if soft or isnan(x) else 1.0 if x > threshold else -1.0 for x in row] for row in values
    ]
    return result(rows, {"unscored": unscored(values)})
