"""What holds a policy near a reference, or keeps it from growing too sure: KL estimates and entropy."""

from typing import Literal

import torch

from motet.losses.shapes import Logits, Mask, PerToken, inside

KlForm = Literal["k1", "k2", "k3"]


def kl(logp_B_T: PerToken, ref_B_T: PerToken, mask_B_T: Mask, form: KlForm = "k3") -> PerToken:
    """An estimate of KL(π‖π_ref) at each token, for tokens that π sampled (Schulman 2020).

    With d = log π_ref − log π: k1 = −d (unbiased), k2 = d²/2 (its gradient is the KL's), k3 = e^d − d − 1
    (unbiased, never negative).

    Raises:
        ValueError: no such form.
    """
    logp_B_T, ref_B_T = inside(mask_B_T, logp_B_T, ref_B_T)
    d_B_T = (ref_B_T - logp_B_T).clamp(-20.0, 20.0)
    match form:
        case "k1":
            return -d_B_T
        case "k2":
            return d_B_T.square() / 2
        case "k3":
            return d_B_T.expm1() - d_B_T
        case _:
            raise ValueError(f"no estimate of KL is called {form!r}; known: k1, k2, k3")


def entropy(logits: Logits) -> torch.Tensor:
    """Entropy of the distribution over the last axis, in nats. Words with logit −inf count for nothing."""
    logp = logits.log_softmax(-1)
    return -(logp.exp() * logp.masked_fill(logp == -torch.inf, 0.0)).sum(-1)


def smoothing(
    entropy_B_T: PerToken,
    mask_B_T: Mask,
    *,
    history: float,
    low: float = 0.0,
    high: float = 2.0,
    alpha: float = 1.0,
    paper_constant: bool = False,
) -> PerToken:
    """Penalty on entropy outside [low, high] times its mean over earlier updates (EPO, catalogue 349).

    The penalty is a hinge, alpha times the distance to the band. The paper's code takes the constant alpha
    instead, which has no gradient at all (`paper_constant`, with alpha .05 or .1).

    Args:
        history: mean entropy of earlier updates, in nats.
    """
    (entropy_B_T,) = inside(mask_B_T, entropy_B_T)
    under_B_T = (low * history - entropy_B_T).clamp(min=0)
    over_B_T = (entropy_B_T - high * history).clamp(min=0)
    outside_B_T = under_B_T + over_B_T
    if paper_constant:
        outside_B_T = (outside_B_T > 0).to(entropy_B_T.dtype)
    return inside(mask_B_T, alpha * outside_B_T)[0]
