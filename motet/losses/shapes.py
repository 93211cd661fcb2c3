"""Shapes of what the losses take: B rows, T tokens, V words of the vocabulary.

Token `t` of a row is scored by the logits at `t - 1`; a mask says which tokens are trained on. What lies
outside the mask is never read: it may be anything, NaN and infinity too, and gets a gradient of exactly 0.
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor

PerToken = Float[Tensor, "B T"]
PerRow = Float[Tensor, " B"]
Mask = Bool[Tensor, "B T"]
Steps = Bool[Tensor, "B S"]
Indices = Int[Tensor, "B T"]
Logits = Float[Tensor, "*batch V"]
Scalar = Float[Tensor, ""]


def inside(mask_B_T: Mask, *values_B_T: PerToken) -> tuple[PerToken, ...]:
    """The values with 0 wherever the mask is off; a gradient cannot come back from there."""
    return tuple(value.masked_fill(~mask_B_T, 0.0) for value in values_B_T)


def mean_inside(mask_B_T: Mask, value_B_T: PerToken) -> PerRow:
    """The mean over the tokens inside the mask, for each row; 0 for a row that has none."""
    (value_B_T,) = inside(mask_B_T, value_B_T)
    return value_B_T.sum(-1) / mask_B_T.sum(-1).clamp(min=1)


def expanded(value_B: PerRow, mask_B_T: Mask) -> PerToken:
    """A value of each row, repeated for its tokens, 0 outside the mask."""
    return value_B[:, None] * mask_B_T
