"""Credit of those who propose problems and those who solve them."""

from collections import Counter
from collections.abc import Callable
from math import exp, isnan, nan
from typing import Literal

from motet.credit.compare import Baseline, Epsilon, Scale, compare, mean
from motet.credit.keys import check
from motet.credit.types import Batch, Credit, result, spread
from motet.errors import UnknownName

Utility = Literal["variance", "failure", "success", "band"]

UTILITIES: dict[str, Callable[[float], float]] = {
    "variance": lambda p: 4 * p * (1 - p),
    "failure": lambda p: 1 - p,
    "success": lambda p: p,
    "band": lambda p: exp(-((p - 0.5) ** 2) / (2 * 0.2**2)),
}
"""What a proposal is worth when its solvers succeed at rate p. `success` is MetaAgent-X's: a design is worth
the mean of its executions."""


def hierarchical(
    batch: Batch,
    *,
    proposer: str = "proposer",
    utility: Utility = "variance",
    solver_scale: Scale = "none",
    proposer_baseline: Baseline = "mean",
    proposer_scale: Scale = "none",
    eps: Epsilon = "verl",
) -> Credit:
    """Solvers against those who worked on the same proposal, proposers against the group's other proposals.

    A proposer's outcome is found from its solvers; its own `reward`, where it has one, multiplies it: 0 for a
    proposal that was not valid.
    """
    check(batch, "proposal")
    trajectories = batch.trajectories
    if trajectories and proposer not in (known := {t.voice for t in trajectories}):
        raise UnknownName("voice of these trajectories", proposer, known)
    solvers = [i for i, t in enumerate(trajectories) if t.voice != proposer]
    proposers = [i for i, t in enumerate(trajectories) if t.voice == proposer]
    found = [nan] * len(trajectories)
    outcomes = [trajectories[i].outcome for i in solvers]
    keys = [(trajectories[i].group, trajectories[i].proposal) for i in solvers]
    values, counts = compare(
        outcomes,
        [(*key, trajectories[i].voice) for key, i in zip(keys, solvers, strict=True)],
        scale=solver_scale,
        eps=eps,
    )
    rewards = []
    for i in proposers:
        t = trajectories[i]
        solved = [
            r for r, key in zip(outcomes, keys, strict=True) if key == (t.group, t.proposal) and not isnan(r)
        ]
        worth = UTILITIES[utility](mean(solved)) if solved else nan
        rewards.append(worth if t.reward is None else worth * t.outcome)
    groups = [trajectories[i].group for i in proposers]
    asked, more = compare(rewards, groups, baseline=proposer_baseline, scale=proposer_scale, eps=eps)
    for i, value in zip([*solvers, *proposers], [*values, *asked], strict=True):
        found[i] = value
    return result(spread(found, batch), Counter(counts) + Counter(more))


def search_selfplay(batch: Batch, *, proposer: str = "proposer", eps: Epsilon = "verl") -> Credit:
    """GRPO for the solvers, REINFORCE on 1 − their success for the proposer."""
    return hierarchical(
        batch, proposer=proposer, utility="failure", solver_scale="std", proposer_baseline="none", eps=eps
    )


def socratic(batch: Batch, *, proposer: str = "generator", eps: Epsilon = "verl") -> Credit:
    """The generator's utility peaks where solvers succeed half of the time; a weight, so never below 0."""
    return hierarchical(batch, proposer=proposer, utility="band", proposer_baseline="none", eps=eps)
