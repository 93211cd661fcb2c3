"""Axis 3: how reward travels back through time."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal

from motet.credit.types import Numbers, Scores, Step, Trajectory
from motet.errors import BadInput

Time = Literal["outcome", "return", "turn"]


def total(rewards: Sequence[float]) -> list[float]:
    """The sum of all, at every step: the outcome to all."""
    return [sum(rewards)] * len(rewards)


def discounted(rewards: Sequence[float], gamma: float) -> list[float]:
    """G_t = Σ_{k≥t} γ^{k−t} r_k."""
    found: list[float] = []
    after = 0.0
    for reward in reversed(rewards):
        after = reward + gamma * after
        found.append(after)
    return found[::-1]


def gae(rewards: Sequence[float], values: Sequence[float], gamma: float, lam: float) -> list[float]:
    """Generalised advantage estimation (Schulman et al., 2016, arXiv:1506.02438).

    δ_t = r_t + γ V_{t+1} − V_t with V = 0 after the last, A_t = Σ_k (γλ)^k δ_{t+k}.
    """
    deltas = [r - v for r, v in zip(rewards, values, strict=True)]
    for i, (_, after) in enumerate(pairwise(values)):
        deltas[i] += gamma * after
    return discounted(deltas, gamma * lam)


def token_values(step: Step) -> list[float]:
    """The critic's value at each token of a step; one number stands for all of them.

    Raises:
        BadInput: there is no value, or not one for each token.
    """
    if step.value is None:
        raise BadInput(_no_value(f"state {step.state!r}"))
    if not isinstance(step.value, tuple):
        return [step.value] * step.tokens
    if len(step.value) != step.tokens:
        raise BadInput(f"a step has {step.tokens} tokens and {len(step.value)} values; expected one for each")
    return list(step.value)


def step_values(trajectory: Trajectory, pick: Callable[[Sequence[float]], float]) -> list[float]:
    """One value a step; `pick` chooses where a step has several.

    Raises:
        BadInput: a step has none.
    """
    found = [_one(step.value, pick) for step in trajectory.steps]
    if None in found:
        raise BadInput(_no_value(f"step {found.index(None)} of a trajectory of group {trajectory.group!r}"))
    return [x for x in found if x is not None]


def _one(value: Numbers | None, pick: Callable[[Sequence[float]], float]) -> float | None:
    return (pick(value) if value else None) if isinstance(value, tuple) else value


def _no_value(where: str) -> str:
    return f"{where} has no value; this preset subtracts a critic's, so give each step a `value`"


def token_gae(
    trajectory: Trajectory, rewards: Sequence[float], gamma: float, lam: float
) -> list[list[float]]:
    """GAE over tokens, through the whole trajectory; a step's reward is at its last token.

    Raises:
        BadInput: a step without a value or without a token.
    """
    values = [token_values(step) for step in trajectory.steps]
    _each_has_tokens(trajectory)
    flat = [x for reward, row in zip(rewards, values, strict=True) for x in (*[0.0] * (len(row) - 1), reward)]
    advantages = iter(gae(flat, [v for row in values for v in row], gamma, lam))
    return [[next(advantages) for _ in row] for row in values]


def turn_then_token_gae(
    trajectory: Trajectory, rewards: Sequence[float], gamma: float, lam: float, turn_gamma: float
) -> tuple[list[float], list[list[float]]]:
    """Bi-level GAE of RAGEN and VAGEN: over turn ends first, then inside each turn.

    The turn's return (its advantage + the value at its end) is the reward of its last token. A step is a
    turn, whatever its reward: boundaries are never guessed from rewards that are not 0.

    Returns:
        The advantage of each turn, and those of its tokens.
    """
    values = [token_values(step) for step in trajectory.steps]
    _each_has_tokens(trajectory)
    ends = [row[-1] for row in values]
    turns = gae(rewards, ends, turn_gamma, lam)
    inside = [
        gae([*[0.0] * (len(row) - 1), advantage + end], row, gamma, lam)
        for row, advantage, end in zip(values, turns, ends, strict=True)
    ]
    return turns, inside


def _each_has_tokens(trajectory: Trajectory) -> None:
    for i, step in enumerate(trajectory.steps):
        if not step.tokens:
            raise BadInput(
                f"step {i} of a trajectory of group {trajectory.group!r} has 0 tokens, so its reward has no "
                f"place: mark it as masked, or say how many tokens were sampled"
            )


def over(rewards: Scores, time: Time, gamma: float) -> Scores:
    """The scores of all steps: rewards taken along the axis of time."""
    match time:
        case "outcome":
            return [total(row) for row in rewards]
        case "return":
            return [discounted(row, gamma) for row in rewards]
        case "turn":
            return rewards
