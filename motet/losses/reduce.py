"""How much each token weighs, so that a loss is Σ weight · loss.

The weights are found once, over the whole batch. A micro-batch then takes its share of them and the gradients
add up to those of the whole batch, however it is split.
"""

from typing import Literal, get_args

import torch

from motet.losses.shapes import Mask, PerRow, PerToken

Reduction = Literal["token", "sequence", "constant", "rollout"]


def token_weights(
    mask_B_T: Mask, reduction: Reduction, *, length: int | None = None, rollout_B: PerRow | None = None
) -> PerToken:
    """Weights of the tokens; 0 outside the mask. Rows without a trained token count for nothing.

    Args:
        reduction: `token`: the mean over all tokens of the batch (DAPO); `sequence`: the mean of each row's
            mean (GRPO); `constant`: each row's sum over a constant length (Dr. GRPO); `rollout`: the mean of
            each rollout's mean over all its rows' tokens, so that a rollout of many rows does not outweigh
            one of few (agent-lightning).
        length: the constant, in tokens; required for `constant`.
        rollout_B: number of the rollout that each row is a part of; required for `rollout`.

    Raises:
        ValueError: no such reduction, or it lacks what it needs.
    """
    tokens_B = mask_B_T.sum(-1).double()
    live_B = (tokens_B > 0).double()
    match reduction:
        case "token":
            weight_B = live_B / tokens_B.sum().clamp(min=1)
        case "sequence":
            weight_B = live_B / (live_B.sum().clamp(min=1) * tokens_B.clamp(min=1))
        case "constant":
            if not length:
                raise ValueError(f"reduction 'constant' divides by a length, got {length!r}: give `length`")
            weight_B = live_B / (live_B.sum().clamp(min=1) * length)
        case "rollout":
            if rollout_B is None:
                raise ValueError("reduction 'rollout' needs to know the rollouts: give `rollout_B`")
            _, rollout_B = torch.unique(rollout_B, return_inverse=True)
            total_R = torch.zeros_like(tokens_B).index_add(0, rollout_B, tokens_B)
            weight_B = live_B / ((total_R > 0).sum().clamp(min=1) * total_R[rollout_B].clamp(min=1))
        case _:
            raise ValueError(f"no reduction is called {reduction!r}; known: {', '.join(get_args(Reduction))}")
    return weight_B[:, None] * mask_B_T
