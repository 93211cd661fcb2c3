"""A loss by name with its options: what an engine is told to descend, in a form that can be stored."""

from collections.abc import Callable
from typing import Any

import torch
from msgspec import Struct, field
from torch import Tensor

from motet import losses
from motet.errors import BadInput, UnknownName
from motet.losses import KlForm, Reduction
from motet.train.batch import Batch


class Loss(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What is descended.

    Args:
        name: a key of `LOSSES`.
        options: its keyword options, e.g. `{"low": 0.2, "high": 0.28}`.
        reduction, length: how tokens weigh (`motet.losses.token_weights`); preferences count by row or pair.
        kl: weight of KL(π‖reference); rows must have `reference`.
        entropy: weight of the entropy bonus.
        smoothing: options of `motet.losses.smoothing` (EPO); its penalty weighs as much as the entropy.
        cap: importance weights against the sampler's mismatch are cut off here; None switches the guard off.
    """

    name: str = "ppo"
    options: dict[str, Any] = field(default_factory=dict)
    reduction: Reduction = "token"
    length: int | None = None
    kl: float = 0.0
    kl_form: KlForm = "k3"
    entropy: float = 0.0
    smoothing: dict[str, Any] = field(default_factory=dict)
    cap: float | None = 2.0

    def __post_init__(self) -> None:
        if self.cap is not None and not self.cap > 0:
            raise BadInput(f"cap is {self.cap!r}; expected a number above 0, or None for no guard")

    @property
    def needs_entropy(self) -> bool:
        """Whether the entropy of every trained token has to be computed."""
        return bool(self.entropy or self.smoothing)


class Kind(Struct, frozen=True):
    """How a loss is computed, from the batch, the log-probabilities now and of old, and the options.

    Args:
        takes: its options.
        reads: the fields that rows must have.
        rows: one value a row or pair, and not a token.
        bounds: default `low` and `high` of losses that clip a ratio to the old policy.
        of_rows: that ratio is of rows, and not of tokens.
    """

    function: Callable[[Batch, Tensor, Tensor, dict[str, Any]], Tensor]
    takes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    rows: bool = False
    bounds: dict[str, float] = {}
    of_rows: bool = False


def _clipped(function: Callable[..., Tensor], *, of_rows: bool = False) -> Kind:
    def compute(b: Batch, logp: Tensor, old: Tensor, options: dict[str, Any]) -> Tensor:
        return function(logp, old, b.advantage_B_T, b.mask_B_T, **options)

    defaults = function.__kwdefaults__ or {}
    bounds = {side: defaults[side] for side in ("low", "high")}
    return Kind(compute, tuple(defaults), ("advantages",), bounds=bounds, of_rows=of_rows)


def _reinforce(b: Batch, logp: Tensor, old: Tensor, o: dict[str, Any]) -> Tensor:
    return losses.reinforce(logp, b.advantage_B_T, b.mask_B_T)


def _rwr(b: Batch, logp: Tensor, old: Tensor, o: dict[str, Any]) -> Tensor:
    return losses.rwr(logp, b.reward_B, b.mask_B_T, **o)


def _sft(b: Batch, logp: Tensor, old: Tensor, o: dict[str, Any]) -> Tensor:
    return losses.sft(logp, b.mask_B_T, b.weight_B_T.nan_to_num(1.0))


def _value(b: Batch, logp: Tensor, old: Tensor, o: dict[str, Any]) -> Tensor:
    return losses.value(logp, b.return_B_T, b.mask_B_T)


def _dpo(b: Batch, logp: Tensor, old: Tensor, o: dict[str, Any]) -> Tensor:
    ratio_B = losses.log_ratio(logp, b.reference_B_T, b.mask_B_T)
    return losses.dpo(ratio_B[b.label_B > 0], ratio_B[b.label_B < 0], **o)


def _kto(b: Batch, logp: Tensor, old: Tensor, o: dict[str, Any]) -> Tensor:
    ratio_B = losses.log_ratio(logp, b.reference_B_T, b.mask_B_T)
    return losses.kto(ratio_B, b.label_B, **o)


LOSSES: dict[str, Kind] = {
    "reinforce": Kind(_reinforce, (), ("advantages",)),
    "ppo": _clipped(losses.ppo),
    "gspo": _clipped(losses.gspo, of_rows=True),
    "gspo_token": _clipped(losses.gspo_token, of_rows=True),
    "cispo": _clipped(losses.cispo),
    "aepo": _clipped(losses.aepo),
    "sft": Kind(_sft),
    "rwr": Kind(_rwr, ("tau", "most"), ("reward",)),
    "value": Kind(_value, (), ("returns",)),
    "dpo": Kind(_dpo, ("beta", "smoothing"), ("reference", "label", "pair"), rows=True),
    "kto": Kind(_kto, ("reference", "beta", "desirable", "undesirable"), ("reference", "label"), rows=True),
}
"""The losses by name."""

OFF_POLICY = ("sft", "rwr", "value", "dpo", "kto")
"""Losses of rows that may come from anywhere: the sampler's log-probabilities play no part."""


def kind_of(loss: Loss) -> Kind:
    """How the loss is computed.

    Raises:
        UnknownName: there is no such loss, or it has no such option.
    """
    if loss.name not in LOSSES:
        raise UnknownName("loss", loss.name, LOSSES)
    kind = LOSSES[loss.name]
    for option in loss.options:
        if option not in kind.takes:
            raise UnknownName(f"option of loss {loss.name!r}", option, kind.takes)
    return kind


def total(batch: Batch, logp: Tensor, entropy: Tensor | None, weight: Tensor, loss: Loss) -> Tensor:
    """The loss of a micro-batch: Σ weight · loss, where the weights are those of the whole batch.

    Args:
        weight: of each token, or of each row or pair for preferences.
    """
    kind, mask = kind_of(loss), batch.mask_B_T
    old = batch.old_B_T.where(~batch.old_B_T.isnan(), batch.sampler_B_T)
    value = kind.function(batch, logp, old, loss.options)
    if kind.rows:
        return (value * weight).sum()
    if loss.cap is not None and loss.name not in OFF_POLICY:
        value = value * _guard(batch, logp, bool(kind.bounds), loss.cap)
    if loss.kl:
        value = value + loss.kl * losses.kl(logp, batch.reference_B_T, mask, loss.kl_form)
    if entropy is not None:
        value = value - loss.entropy * entropy
        if loss.smoothing:
            value = value + (loss.entropy or 1.0) * losses.smoothing(entropy, mask, **loss.smoothing)
    return (value.masked_fill(~mask, 0.0) * weight).sum()


def _guard(batch: Batch, logp: Tensor, ratio: bool, cap: float) -> Tensor:
    """Weights for the way from the sampler to the policy that the loss is taken against.

    A ratio to the sampler corrects for it by itself; one to the trainer's own old policy does not.
    """
    against = batch.old_B_T if ratio else batch.old_B_T.where(~batch.old_B_T.isnan(), logp.detach())
    known = batch.mask_B_T & ~against.isnan() & ~batch.sampler_B_T.isnan()
    weight = losses.importance(against, batch.sampler_B_T, known, cap=cap)
    return torch.where(known, weight, 1.0)


def weights_of(batch: Batch, rollouts: Tensor, loss: Loss) -> Tensor:
    """The weights over a whole batch that `total` takes its share of.

    Raises:
        BadInput: the reduction lacks its length or has an unknown name.
    """
    if loss.name == "dpo":
        return torch.full_like(batch.label_B, 2 / len(batch.label_B))
    if kind_of(loss).rows:
        return torch.full_like(batch.label_B, 1 / len(batch.label_B))
    try:
        return losses.token_weights(batch.mask_B_T, loss.reduction, length=loss.length, rollout_B=rollouts)
    except ValueError as error:
        raise BadInput(str(error)) from error
