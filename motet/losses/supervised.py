"""Losses of imitation, and the weights that say which tokens to imitate."""

import torch

from motet.losses.shapes import Indices, Mask, PerRow, PerToken, Steps, inside


def sft(logp_B_T: PerToken, mask_B_T: Mask, weight_B_T: PerToken | None = None) -> PerToken:
    """−w log π; w is 1 when left out."""
    (logp_B_T,) = inside(mask_B_T, logp_B_T)
    if weight_B_T is None:
        return -logp_B_T
    return -inside(mask_B_T, weight_B_T)[0] * logp_B_T


def value(value_B_T: PerToken, return_B_T: PerToken, mask_B_T: Mask) -> PerToken:
    """½(V − G)², what a critic descends."""
    value_B_T, return_B_T = inside(mask_B_T, value_B_T, return_B_T)
    return (value_B_T - return_B_T) ** 2 / 2


def span_weights(reason_B_T: Mask, act_B_T: Mask, *, reason: float = 1.0, act: float = 1.0) -> PerToken:
    """One weight for tokens of reasoning, another for those of action (catalogue 214).

    Raises:
        ValueError: a token is in both.
    """
    if bool((reason_B_T & act_B_T).any()):
        raise ValueError("a token cannot be reasoning and action at once: the two masks overlap")
    return reason * reason_B_T.double() + act * act_B_T.double()


def partial_mask(mask_B_T: Mask, step_B_T: Indices, keep_B_S: Steps) -> Mask:
    """The mask without the tokens of wrong steps, which stay as context (STeP, catalogue 341).

    Args:
        step_B_T: number of the step that each token is a part of; read inside the mask only.
        keep_B_S: which steps of each row are worth imitating.
    """
    step_B_T = step_B_T.masked_fill(~mask_B_T, 0)
    return mask_B_T & keep_B_S.gather(1, step_B_T)


def rwr_weights(reward_B: PerRow, *, tau: float = 0.4, most: float | None = None) -> PerRow:
    """exp(r/τ), for reward-weighted regression (Peters & Schaal 2007; τ = .4 is RISE's): `sft` with these.

    Args:
        most: no weight is larger.
    """
    weight_B = (reward_B / tau).exp()
    return weight_B if most is None else weight_B.clamp(max=most)


def rwr(
    logp_B_T: PerToken, reward_B: PerRow, mask_B_T: Mask, *, tau: float = 0.4, most: float | None = None
) -> PerToken:
    """Reward-weighted regression: −exp(r/τ) log π."""
    weight_B_T = rwr_weights(reward_B, tau=tau, most=most)[:, None].expand_as(logp_B_T)
    return sft(logp_B_T, mask_B_T, torch.as_tensor(weight_B_T, dtype=logp_B_T.dtype))
