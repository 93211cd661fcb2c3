"""Axis 4: what is rewarded. Each source gives one number a step; NaN where it cannot be known."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import exp, fsum, isnan, nan
from typing import Literal

from motet.credit.compare import mean
from motet.credit.types import Scores, Trajectory, number
from motet.errors import BadInput

Outcome = Literal["rest", "add", "none"]
Source = Literal["outcome", "steps", "turns", "progress", "gain", "judge", "difference"]


def _all_or_nothing(rewards: list[float]) -> list[float]:
    """The rewards, or NaN for all when one is not known: what is not scored must not pass for 0."""
    return [nan] * len(rewards) if any(map(isnan, rewards)) else rewards


def _at_the_end(trajectory: Trajectory, reward: float) -> list[float]:
    return _all_or_nothing([*[0.0] * (len(trajectory.steps) - 1), reward])[: len(trajectory.steps)]


def outcome(trajectory: Trajectory) -> list[float]:
    """The outcome at the last step, nothing before."""
    return _at_the_end(trajectory, trajectory.outcome)


def own(trajectory: Trajectory) -> list[float]:
    """Each step's own reward; 0 where it carries none, NaN where it is NaN."""
    return [0.0 if step.reward is None else number(step.reward) for step in trajectory.steps]


def steps(trajectory: Trajectory, outcome: Outcome = "rest") -> list[float]:
    """Rewards of the steps with the outcome at the end.

    Args:
        outcome: `rest`: the last step gets what the outcome holds beyond the steps' own rewards, so that they
            sum to it, whether or not the environment already paid it out on the way; `add`: the whole outcome
            on top (steps carry penalties or shaping); `none`: the steps' own only.
    """
    found = own(trajectory)
    if not found or outcome == "none":
        return _all_or_nothing(found)
    found[-1] += trajectory.outcome - (fsum(found) if outcome == "rest" else 0.0)
    return _all_or_nothing(found)


def turns(trajectory: Trajectory) -> list[float]:
    """Each step's own reward; a step without one is unscored."""
    return [number(step.reward) for step in trajectory.steps]


def information_gain(trajectory: Trajectory, *, log: bool = False) -> list[float]:
    """How much likelier each turn made the true answer (IGPO, arXiv:2510.14967); the last gets the outcome.

    p_t = exp(mean log-probability of the answer's tokens, given all before turn t); turn t gets p_{t+1} − p_t
    (their logarithms' difference with `log`). Steps without `answer_logp` give their own reward instead. With
    one number missing, nothing of the trajectory is scored.
    """
    steps = trajectory.steps
    if all(step.answer_logp is None for step in steps):
        gains = turns(trajectory)[:-1]
    else:
        logps = [number(step.answer_logp) for step in steps]
        if any(x > 0 for x in logps):
            raise BadInput(
                f"answer_logp is {max(logps)!r}; expected the logarithm of a probability, at most 0"
            )
        known = logps if log else [exp(x) for x in logps]
        gains = [after - before for before, after in pairwise(known)]
    return _all_or_nothing([*gains, trajectory.outcome])[: len(steps)]


def progress(trajectory: Trajectory, beta: float = 0.5) -> list[float]:
    """c_t + β·executable_t (SPA-RL): the estimator's contribution and whether the action could be done.

    The outcome is not looked at: the estimator was trained so that its contributions sum to it.
    """
    return [
        number(step.reward if step.progress is None else step.progress) + beta * bool(step.executable)
        for step in trajectory.steps
    ]


def judged(trajectory: Trajectory) -> list[float]:
    """A critic's score of each step instead of the environment's reward; without one a step is unscored."""
    return [number(step.reward if step.judge is None else step.judge) for step in trajectory.steps]


def difference(trajectory: Trajectory) -> list[float]:
    """The team's reward less the one it has without this voice, at the last step."""
    return _at_the_end(trajectory, trajectory.outcome - number(trajectory.without))


SOURCES: dict[str, Callable[[Trajectory], list[float]]] = {
    "outcome": outcome,
    "steps": steps,
    "turns": turns,
    "progress": progress,
    "gain": information_gain,
    "judge": judged,
    "difference": difference,
}


def overlong(tokens: int, longest: int, cache: int, factor: float = 1.0) -> float:
    """DAPO's soft penalty: 0 up to `longest − cache` tokens, falling to −factor at `longest`."""
    return min(0.0, max(-factor, -factor * (tokens - (longest - cache)) / cache))


def shaped_by_past(trajectory: Trajectory, form: Literal["margin", "quality"], alpha: float) -> list[float]:
    """MARTI's shaping of each step's reward R by Q, the mean reward of the steps before it.

    margin: R + α(R − Q); quality: R + α(QR − (1−Q)(1−R)). The first step has no past and keeps R.
    """
    found: list[float] = []
    rewards = turns(trajectory)
    for i, r in enumerate(rewards):
        past = [x for x in rewards[:i] if not isnan(x)]
        q = mean(past) if past else nan
        bonus = r - q if form == "margin" else q * r - (1 - q) * (1 - r)
        found.append(r + alpha * bonus if past else r)
    return found


def improvement(quality: Sequence[float]) -> list[float]:
    """By how much each answer of a partner is better than the one before it."""
    return [after - before for before, after in pairwise(quality)]


def with_weight(a: Scores, b: Scores, weight: float) -> Scores:
    """a + weight·b, step by step; bit for bit a when the weight is 0."""
    if not weight:
        return a
    return [[x + weight * y for x, y in zip(p, q, strict=True)] for p, q in zip(a, b, strict=True)]
