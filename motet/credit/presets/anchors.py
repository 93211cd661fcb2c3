"""Credit of steps that were taken in the same state."""

from collections.abc import Hashable
from difflib import SequenceMatcher

from motet.credit.compare import Epsilon, Scale, by_trajectory, compare
from motet.credit.keys import KEYS
from motet.credit.returns import discounted
from motet.credit.rewards import Outcome, steps, with_weight
from motet.credit.types import Batch, Credit, Share, flat, fold, result


def gigpo(
    batch: Batch,
    *,
    omega: float = 1.0,
    gamma: Share = 0.95,
    scale: Scale = "std",
    outcome: Outcome = "rest",
    similar: Share = 1.0,
    eps: Epsilon = "verl",
) -> Credit:
    """GRPO's advantage + ω·that of a step's discounted return among the steps taken in the same state."""
    whole, counts = by_trajectory(
        batch, [t.outcome for t in batch.trajectories], "task", scale=scale, eps=eps
    )
    if not omega:
        return result(whole, counts)
    returns = [discounted(steps(t, outcome), gamma) for t in batch.trajectories]
    anchors = _anchors(batch, similar)
    values, found = compare(flat(returns), anchors, scale=scale, eps=eps)
    return result(
        with_weight(whole, fold(values, returns), omega),
        {**counts, "anchors": found["groups"], "lone_anchors": found["singletons"]},
    )


def _anchors(batch: Batch, similar: float) -> list[Hashable]:
    """The anchor of each step; with `similar` under 1, states whose texts match that far are one."""
    keys = [KEYS["state"](t, i) for t in batch.trajectories for i in range(len(t.steps))]
    if similar >= 1:
        return keys
    seen: list[tuple[Hashable, ...]] = []
    found: list[Hashable] = []
    for key in keys:
        if not isinstance(key, tuple):
            found.append(key)
            continue
        *where, text = key
        like = (k for k in seen if [*k[:-1]] == where and _ratio(k[-1], text) >= similar)
        twin = next(like, None)
        if twin is None:
            seen.append(key)
        found.append(twin or key)
    return found


def _ratio(a: Hashable, b: Hashable) -> float:
    return SequenceMatcher(None, str(a), str(b)).ratio()
