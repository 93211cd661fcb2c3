"""What every engine does around its gradient: rows are checked, numbered and, in the end, measured."""

from collections.abc import Sequence
from math import isfinite

import torch
from torch import Tensor

from motet import losses
from motet.errors import BadInput
from motet.train.batch import Batch, tensors
from motet.train.objective import OFF_POLICY, Kind, Loss
from motet.train.rows import Row


def checked(rows: Sequence[Row], loss: Loss, kind: Kind) -> Batch:
    """The rows as tensors, if they have all that the loss reads inside their masks."""
    if not rows:
        raise BadInput(
            f"no rows to compute the loss {loss.name!r} over; every one may have been filtered out"
        )
    batch = tensors(rows)
    if not bool(batch.mask_B_T.any()):
        raise BadInput(f"none of the {len(rows)} rows has a token to train on: their masks are empty")
    wanted = dict.fromkeys(kind.reads)
    if loss.kl:
        wanted["reference"] = None
    for name in wanted:
        for number, row in enumerate(rows):
            if not _has(row, name):
                raise BadInput(
                    f"row {number} has no {name} for the tokens that {loss.name!r} trains; {_HINTS[name]}"
                )
    if loss.name not in OFF_POLICY:
        known = ~batch.sampler_B_T.isnan() | ~batch.old_B_T.isnan()
        if bool((batch.mask_B_T & ~known).any()):
            raise BadInput(
                f"loss {loss.name!r} needs the sampler's log-probabilities, and some rows have none; sample "
                f"with a model that gives them, or fill `old` from Engine.logprobs before the first step"
            )
    if loss.name == "dpo":
        _check_pairs(rows)
    return batch


_HINTS = {
    "advantages": "fill them with Row.credited",
    "reference": "fill it with Engine.logprobs(REFERENCE, rows)",
    "returns": "a critic learns what came after each state (`motet.train.critic`)",
    "reward": "a row that could not be scored has to be left out",
    "label": "it is above 0 for a wanted row, below 0 for an unwanted one",
    "pair": "the two rows of a preference share a name",
}


def _has(row: Row, name: str) -> bool:
    match value := getattr(row, name):
        case tuple():
            inside = [x for x, on in zip(value, row.mask, strict=False) if on]
            return len(value) == len(row.ids) and all(map(isfinite, inside))
        case None:
            return False
        case float():
            return isfinite(value) and (name != "label" or value != 0)
        case _:
            return bool(value)


def _check_pairs(rows: Sequence[Row]) -> None:
    pairs: dict[str, list[float]] = {}
    for row in rows:
        pairs.setdefault(row.pair, []).append(row.label)
    for name, labels in pairs.items():
        if sorted(label > 0 for label in labels) != [False, True]:
            raise BadInput(f"pair {name!r} has the labels {labels}; expected one row above 0 and one below")


def pairs_in_order(index: list[int], batch: Batch) -> list[int]:
    """Wanted rows first: pairs come together and in one order, so that the n-th of each belong together."""
    wanted = [i for i in index if batch.label_B[i] > 0]
    return [*wanted, *(i for i in index if batch.label_B[i] < 0)]


def with_reference_point(loss: Loss, batch: Batch, logp: Tensor) -> Loss:
    """KTO's reference point: how far the policy is from its reference on these rows, at least 0."""
    ratio = losses.log_ratio(logp, batch.reference_B_T, batch.mask_B_T)
    options = {**loss.options, "reference": max(0.0, ratio.mean().item())}
    return Loss(loss.name, options, loss.reduction, loss.length)


def rollouts_of(rows: Sequence[Row]) -> Tensor:
    numbers: dict[object, int] = {}
    return torch.tensor([numbers.setdefault(row.run or i, len(numbers)) for i, row in enumerate(rows)])


def metrics(batch: Batch, logp: Tensor, value: float, loss: Loss, kind: Kind) -> dict[str, float]:
    mask = batch.mask_B_T
    found = {
        "loss": value,
        "rows": float(len(mask)),
        "tokens": float(mask.sum()),
        "logp": logp[mask].mean().item(),
    }
    sampled = mask & ~batch.sampler_B_T.isnan()
    if loss.name not in OFF_POLICY:
        found |= losses.mismatch(logp, batch.sampler_B_T, sampled, cap=loss.cap or 2.0)
    if kind.bounds:
        old = batch.old_B_T.where(~batch.old_B_T.isnan(), batch.sampler_B_T)
        low, high = (loss.options.get(side, kind.bounds[side]) for side in ("low", "high"))
        ratio = losses.ratio(logp, old, mask, of_rows=kind.of_rows)[mask]
        found["clipped"] = ((ratio < 1 - low) | (ratio > 1 + high)).double().mean().item()
    return found
