"""Axis 6: from one number a step to one a token, and how much each token weighs in the loss."""

from collections.abc import Callable
from math import nan
from typing import Literal

from motet.credit.types import Batch, Credit, Step
from motet.errors import BadInput, UnknownName

Span = Literal["all", "reason", "act"]
Reduction = Literal["sequence", "token", "constant", "episode"]

Tokens = list[list[list[float]]]
"""For each trajectory, for each step, one number a token."""


def _reasoning(step: Step) -> int:
    if step.reason_tokens is None:
        raise BadInput(
            f"a step of {step.tokens} tokens does not say how many are reasoning: give `reason_tokens`"
        )
    return min(step.reason_tokens, step.tokens)


SPANS: dict[str, Callable[[Step], range]] = {
    "all": lambda step: range(step.tokens),
    "reason": lambda step: range(_reasoning(step)),
    "act": lambda step: range(_reasoning(step), step.tokens),
}
"""Which tokens of a step are trained."""


def to_tokens(batch: Batch, credit: Credit, *, span: Span = "all", voice: str | None = None) -> Tokens:
    """One advantage a token; NaN where the token is not to be trained on.

    Args:
        span: all sampled tokens, or only the reasoning or the action (as in catalogue 214).
        voice: train this voice's trajectories only; everybody's when left out.

    Raises:
        UnknownName: no such span or voice. BadInput: spans are asked for and a step does not tell its own.
    """
    if span not in SPANS:
        raise UnknownName("span", span, SPANS)
    if voice is not None and voice not in (known := {t.voice for t in batch.trajectories}):
        raise UnknownName("voice of these trajectories", voice, known)
    found: Tokens = []
    for i, t in enumerate(batch.trajectories):
        rows = [[nan] * step.tokens for step in t.steps]
        for j, step in enumerate(t.steps):
            advantage = credit.advantages[i][j]
            if advantage is None or voice not in (None, t.voice):
                continue
            fine = credit.tokens[i][j] if credit.tokens else None
            for k in SPANS[span](step):
                rows[j][k] = fine[k] if fine else advantage
        found.append(rows)
    return found


def weights(advantages: Tokens, reduction: Reduction, *, length: int | None = None) -> Tokens:
    """How much each token's loss weighs, so that the loss is Σ weight·loss; 0 where there is no advantage.

    Args:
        reduction: `sequence`: the mean of each step's mean (GRPO); `token`: the mean over all tokens (DAPO);
            `constant`: each step's sum over a constant length (Dr. GRPO); `episode`: the mean of each
            trajectory's mean, so that one of many steps does not outweigh the others (agent-lightning).
        length: the constant, in tokens; required for `constant`.

    Raises:
        BadInput: `constant` without a length.
    """
    if reduction == "constant" and not length:
        raise BadInput("reduction 'constant' divides by a length: give `length`, the longest a step may be")
    live = [[sum(x == x for x in row) for row in rows] for rows in advantages]
    steps = sum(n > 0 for counts in live for n in counts)
    episodes = sum(any(counts) for counts in live)
    every = sum(map(sum, live))

    def weight(i: int, j: int) -> float:
        match reduction:
            case "sequence":
                return 1 / (steps * live[i][j])
            case "token":
                return 1 / every
            case "episode":
                return 1 / (episodes * sum(live[i]))
            case "constant":
                return 1 / (steps * (length or 1))

    return [
        [[weight(i, j) if x == x else 0.0 for x in row] for j, row in enumerate(rows)]
        for i, rows in enumerate(advantages)
    ]
