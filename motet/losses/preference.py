"""Losses of preferences, one value a row or pair.

They sum over the tokens inside the mask, which in a conversation of several turns are the policy's own: what
tools and others said is masked out, and that is multi-turn DPO and KTO (Xiong et al. 2024, catalogue 303).
"""

from torch.nn.functional import logsigmoid

from motet.losses.shapes import Mask, PerRow, PerToken, Scalar, inside


def log_ratio(logp_B_T: PerToken, ref_B_T: PerToken, mask_B_T: Mask) -> PerRow:
    """log π/π_ref of each row: the sum over its own tokens of all turns."""
    logp_B_T, ref_B_T = inside(mask_B_T, logp_B_T, ref_B_T)
    return (logp_B_T - ref_B_T).sum(-1)


def dpo(chosen_P: PerRow, rejected_P: PerRow, *, beta: float = 0.1, smoothing: float = 0.0) -> PerRow:
    """−log σ(β (log-ratio of the chosen − log-ratio of the rejected)) of each pair (Rafailov et al. 2023).

    Args:
        chosen_P, rejected_P: `log_ratio` of the two rows of each pair.
        smoothing: share of labels that are thought to be wrong (conservative DPO).
    """
    margin_P = beta * (chosen_P - rejected_P)
    return -(1 - smoothing) * logsigmoid(margin_P) - smoothing * logsigmoid(-margin_P)


def kto(
    ratio_B: PerRow,
    desired_B: PerRow,
    reference: Scalar | float,
    *,
    beta: float = 0.1,
    desirable: float = 1.0,
    undesirable: float = 1.0,
) -> PerRow:
    """w (1 − σ(±β (log-ratio − z))) of each row (KTO, Ethayarajh et al. 2024); no pairs are needed.

    Args:
        ratio_B: `log_ratio` of each row.
        desired_B: above 0 where the row is good.
        reference: z, an estimate of KL(π‖π_ref) that is at least 0; no gradient goes through it.
        desirable, undesirable: weights of the two kinds of rows.
    """
    good_B = desired_B > 0
    sign_B = good_B.to(ratio_B.dtype) * 2 - 1
    weight_B = good_B * (desirable - undesirable) + undesirable
    return weight_B * (1 - (sign_B * beta * (ratio_B - reference)).sigmoid())
