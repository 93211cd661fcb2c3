"""Losses of policy gradients, one value a token. `logp` is the trained policy's, `old` that of the policy the
ratio is taken against (the sampler, or the trainer's own before the first step).

Log-ratios are held within ±20, so that one absurd token gives a large loss and not an infinite one.
"""

import torch

from motet.losses.shapes import Mask, PerToken, expanded, inside, mean_inside

LOG_RATIO_MAX = 20.0


def ratio(logp_B_T: PerToken, old_B_T: PerToken, mask_B_T: Mask, *, of_rows: bool = False) -> PerToken:
    """π/π_old of each token, or the geometric mean over its row's tokens; 1 outside the mask."""
    logp_B_T, old_B_T = inside(mask_B_T, logp_B_T, old_B_T)
    log_B_T = logp_B_T - old_B_T
    if of_rows:
        log_B_T = expanded(mean_inside(mask_B_T, log_B_T), mask_B_T)
    return log_B_T.clamp(-LOG_RATIO_MAX, LOG_RATIO_MAX).exp()


def reinforce(logp_B_T: PerToken, advantage_B_T: PerToken, mask_B_T: Mask) -> PerToken:
    """−A log π (Williams 1992)."""
    logp_B_T, advantage_B_T = inside(mask_B_T, logp_B_T, advantage_B_T)
    return -advantage_B_T * logp_B_T


def ppo(
    logp_B_T: PerToken,
    old_B_T: PerToken,
    advantage_B_T: PerToken,
    mask_B_T: Mask,
    *,
    low: float = 0.2,
    high: float = 0.2,
    dual: float | None = None,
) -> PerToken:
    """−min(ρA, clip(ρ, 1−low, 1+high) A) (Schulman et al. 2017; DAPO has low .2, high .28).

    Args:
        dual: bounds the loss at dual·|A| where A < 0 (dual clip, Ye et al. 2020; usually 3).
    """
    (advantage_B_T,) = inside(mask_B_T, advantage_B_T)
    ratio_B_T = ratio(logp_B_T, old_B_T, mask_B_T)
    clipped_B_T = ratio_B_T.clamp(1 - low, 1 + high)
    gain_B_T = torch.minimum(ratio_B_T * advantage_B_T, clipped_B_T * advantage_B_T)
    return inside(mask_B_T, -_bounded(gain_B_T, advantage_B_T, dual))[0]


def _bounded(gain_B_T: PerToken, advantage_B_T: PerToken, dual: float | None) -> PerToken:
    if dual is None:
        return gain_B_T
    return torch.where(advantage_B_T < 0, torch.maximum(gain_B_T, dual * advantage_B_T), gain_B_T)


def gspo(
    logp_B_T: PerToken,
    old_B_T: PerToken,
    advantage_B_T: PerToken,
    mask_B_T: Mask,
    *,
    low: float = 3e-4,
    high: float = 4e-4,
) -> PerToken:
    """Clip the ratio of the whole row, s = exp(mean log ρ) (GSPO, Zheng et al. 2025).

    The row's advantage is the mean of its tokens'. Each of its tokens gets the row's loss, so that reduction
    `sequence` gives the paper's mean over rows.
    """
    logp_B_T, old_B_T = inside(mask_B_T, logp_B_T, old_B_T)
    log_B = mean_inside(mask_B_T, logp_B_T - old_B_T).clamp(-LOG_RATIO_MAX, LOG_RATIO_MAX)
    advantage_B = mean_inside(mask_B_T, advantage_B_T)
    gain_B = torch.minimum(log_B.exp() * advantage_B, log_B.exp().clamp(1 - low, 1 + high) * advantage_B)
    return expanded(-gain_B, mask_B_T)


def gspo_token(
    logp_B_T: PerToken,
    old_B_T: PerToken,
    advantage_B_T: PerToken,
    mask_B_T: Mask,
    *,
    low: float = 3e-4,
    high: float = 4e-4,
) -> PerToken:
    """GSPO with an advantage for each token: s_t = sg(s) π/sg(π). With one advantage a row it is `gspo`."""
    logp_B_T, old_B_T, advantage_B_T = inside(mask_B_T, logp_B_T, old_B_T, advantage_B_T)
    log_B = mean_inside(mask_B_T, logp_B_T - old_B_T).clamp(-LOG_RATIO_MAX, LOG_RATIO_MAX)
    scale_B_T = log_B.detach().exp()[:, None] * _one(logp_B_T)
    gain_B_T = torch.minimum(scale_B_T * advantage_B_T, scale_B_T.clamp(1 - low, 1 + high) * advantage_B_T)
    return inside(mask_B_T, -gain_B_T)[0]


def cispo(
    logp_B_T: PerToken,
    old_B_T: PerToken,
    advantage_B_T: PerToken,
    mask_B_T: Mask,
    *,
    low: float = 1.0,
    high: float = 4.0,
) -> PerToken:
    """−sg(clip(ρ, 1−low, 1+high)) A log π (CISPO, MiniMax-M1 2025): every token keeps a gradient.

    As in the paper there is no lower bound unless `low` is below 1; the upper one is a weight of 5 (TRL's).
    """
    weight_B_T = ratio(logp_B_T, old_B_T, mask_B_T).detach().clamp(1 - low, 1 + high)
    return weight_B_T * reinforce(logp_B_T, advantage_B_T, mask_B_T)


def aepo(
    logp_B_T: PerToken,
    old_B_T: PerToken,
    advantage_B_T: PerToken,
    mask_B_T: Mask,
    *,
    low: float = 0.2,
    high: float = 0.2,
) -> PerToken:
    """PPO's clip, where a clipped token keeps the gradient of its bound, clip(ρ) π/sg(π).

    From AEPO (Dong et al. 2025); the value is PPO's. The advantage carries the entropy (`motet.credit`).
    """
    logp_B_T, advantage_B_T = inside(mask_B_T, logp_B_T, advantage_B_T)
    ratio_B_T = ratio(logp_B_T, old_B_T, mask_B_T)
    bounded_B_T = ratio_B_T.detach().clamp(1 - low, 1 + high) * _one(logp_B_T)
    gain_B_T = torch.minimum(ratio_B_T * advantage_B_T, bounded_B_T * advantage_B_T)
    return inside(mask_B_T, -gain_B_T)[0]


def _one(logp_B_T: PerToken) -> PerToken:
    """π/sg(π): 1, with the gradient of log π."""
    return (logp_B_T - logp_B_T.detach()).exp()
