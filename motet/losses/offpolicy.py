"""The guard against a sampler that is not quite the trainer: other kernels, precision, older weights."""

from typing import Literal

import torch

from motet.losses.shapes import Mask, PerToken, expanded, inside

Level = Literal["token", "sequence"]


def importance(
    logp_B_T: PerToken,
    sampler_B_T: PerToken,
    mask_B_T: Mask,
    *,
    cap: float = 2.0,
    level: Level = "token",
    drop: bool = False,
) -> PerToken:
    """Weights min(π/π_sampler, cap), without a gradient; 0 outside the mask.

    Args:
        logp_B_T: what the trainer says of the sampled tokens.
        sampler_B_T: what the sampler said.
        cap: no weight is larger (Yao et al. 2025 take 2, TRL 3).
        level: of each token, or of the row as a whole (the product over its tokens).
        drop: a weight above the cap becomes 0 instead of the cap.
    """
    logp_B_T, sampler_B_T = inside(mask_B_T, logp_B_T.detach(), sampler_B_T)
    gap_B_T = logp_B_T - sampler_B_T
    if level == "sequence":
        gap_B_T = expanded(gap_B_T.sum(-1), mask_B_T)
    weight_B_T = gap_B_T.clamp(-20.0, 20.0).exp()
    bounded_B_T = weight_B_T.masked_fill(weight_B_T > cap, 0.0) if drop else weight_B_T.clamp(max=cap)
    return inside(mask_B_T, bounded_B_T)[0]


def mismatch(
    logp_B_T: PerToken, sampler_B_T: PerToken, mask_B_T: Mask, *, cap: float = 2.0
) -> dict[str, float]:
    """How far the sampler is from the trainer, over the tokens inside the mask.

    Returns:
        `mismatch_mean` and `mismatch_max` of |Δ log-probability|, `mismatch_kl` (k3, in nats a token),
        `mismatch_capped` (share of tokens over the cap), `mismatch_ess` (effective share of the samples).
        Nothing when there are no tokens.
    """
    if not bool(mask_B_T.any()):
        return {}
    gap_N = (logp_B_T.detach()[mask_B_T] - sampler_B_T[mask_B_T]).double()
    ratio_N = gap_N.clamp(-20.0, 20.0).exp()
    return {
        "mismatch_mean": gap_N.abs().mean().item(),
        "mismatch_max": gap_N.abs().max().item(),
        "mismatch_kl": (ratio_N - 1 - torch.log(ratio_N)).mean().item(),
        "mismatch_capped": (ratio_N > cap).double().mean().item(),
        "mismatch_ess": (ratio_N.sum().square() / (len(ratio_N) * ratio_N.square().sum())).item(),
    }
