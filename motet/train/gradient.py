"""An engine on gradients of torch. What computes log-probabilities (`Body`) is a table or a language model;
losses, micro-batches, optimisers and checkpoints are the same for both."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from math import isfinite, nan
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from motet import losses
from motet.errors import BadInput, MotetError, UnknownName
from motet.models.protocol import Model
from motet.models.torch_checkpoint import WEIGHT, About, check_base, read_checkpoint, write_checkpoint
from motet.train.batch import Batch, micro_batches, tensors
from motet.train.engine import REFERENCE, Adam
from motet.train.objective import OFF_POLICY, Kind, Loss, kind_of, total, weights_of
from motet.train.rows import Row
from motet.types import Sampling, Tokens

_ADAM = ("exp_avg", "exp_avg_sq", "step")


class Body(Protocol):
    """What an engine asks of what it trains."""

    @property
    def policies(self) -> tuple[str, ...]: ...

    @property
    def lock(self) -> AbstractContextManager[object]:
        """Held while the weights are read or changed."""
        ...

    def about(self, policy: str) -> About: ...

    def step(self, policy: str) -> int: ...

    def model(self, policy: str) -> Model: ...

    def parameters(self, policy: str) -> dict[str, Tensor]: ...

    def score(self, policy: str, batch: Batch, entropy: bool) -> tuple[Tensor, Tensor | None]:
        """Log-probability (and entropy) at each id inside the mask, 0 elsewhere; 64-bit."""
        ...

    def sample(
        self, policy: str, prompts: Sequence[Sequence[int]], n: int, sampling: Sampling
    ) -> list[list[Tokens]]: ...

    def stepped(self, policy: str, step: int) -> None:
        """The weights have changed, and have taken this many steps."""
        ...

    def restore(self, policy: str, saved: dict[str, Tensor], about: About, path: str | Path) -> None:
        """Take over the weights, or raise BadInput and change nothing."""
        ...

    def share(self, batches: list[list[int]]) -> list[list[int]]:
        """This process's part of the micro-batches."""
        ...

    def add_up(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        ...


class GradientEngine:
    """The engine of a body; see `motet.train.engine.Engine` for what its methods promise.

    Args:
        micro_tokens: padded tokens that go through the body at once; bounds the memory, changes no result.
    """

    def __init__(self, body: Body, micro_tokens: int = 2048) -> None:
        self._body, self._micro_tokens = body, micro_tokens
        self._optimizers: dict[str, torch.optim.AdamW] = {}

    @property
    def policies(self) -> tuple[str, ...]:
        """Ids of the policies that can be trained."""
        return self._body.policies

    def step(self, policy: str) -> int:
        """How many steps the policy has taken."""
        return self._body.step(self._known(policy))

    def model(self, policy: str) -> Model:
        """The policy as a model; `REFERENCE` is one too."""
        return self._body.model(self._known(policy, REFERENCE))

    def forward_backward(self, policy: str, rows: Sequence[Row], loss: Loss) -> dict[str, float]:
        """Add the gradient of a loss over these rows to the policy's."""
        self._known(policy)
        kind = kind_of(loss)
        batch = _checked(rows, loss, kind)
        if loss.name == "kto" and "reference" not in loss.options:
            loss = _with_reference(loss, batch, self._scores(policy, rows))
        weight = weights_of(batch, _rollouts(rows), loss)
        logp = torch.zeros_like(batch.sampler_B_T)
        summed = torch.zeros(1, dtype=torch.float64)
        for index in self._body.share(list(micro_batches(rows, self._micro_tokens))):
            index = _paired(index, batch) if loss.name == "dpo" else index
            part = Batch(*(tensor[index] for tensor in batch))
            scored, entropy = self._body.score(policy, part, loss.needs_entropy)
            # One weight a pair, not a row, for pairs.
            share = weight[index[: len(index) // 2]] if loss.name == "dpo" else weight[index]
            value = total(part, scored, entropy, share, loss)
            if value.requires_grad:
                value.backward()  # type: ignore[no-untyped-call]
            summed += value.detach()
            logp[index] = scored.detach()
        logp, summed = self._body.add_up(logp), self._body.add_up(summed)
        return _metrics(batch, logp, summed.item(), loss, kind)

    def optim_step(self, policy: str, optimizer: Adam) -> dict[str, float]:
        """Take one step along the gradient and forget it."""
        parameters = self._body.parameters(self._known(policy))
        for parameter in parameters.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad = self._body.add_up(parameter.grad)
        clip = float("inf") if optimizer.clip is None else optimizer.clip
        norm = torch.nn.utils.clip_grad_norm_(parameters.values(), clip).item()
        if not isfinite(norm):
            for parameter in parameters.values():
                parameter.grad = None
            raise MotetError(
                f"the gradient of policy {policy!r} is not finite ({norm}); no step was taken. Look for "
                f"rewards or log-probabilities that are not finite, or lower the learning rate"
            )
        stepper = self._optimizer(policy, parameters)
        for group in stepper.param_groups:
            group.update(
                lr=optimizer.lr,
                betas=(optimizer.beta1, optimizer.beta2),
                eps=optimizer.eps,
                weight_decay=optimizer.weight_decay,
            )
        step = self._body.step(policy) + 1
        with self._body.lock:  # whoever samples meanwhile gets the weights before or after, not between
            stepper.step()
            self._body.stepped(policy, step)
        stepper.zero_grad()
        return {"grad_norm": norm, "step": float(step)}

    def sample(
        self, policy: str, prompts: Sequence[Sequence[int]], n: int, sampling: Sampling
    ) -> list[list[Tokens]]:
        """Draw `n` continuations of each prompt of ids."""
        return self._body.sample(self._known(policy, REFERENCE), prompts, n, sampling)

    def logprobs(self, policy: str, rows: Sequence[Row]) -> list[tuple[float, ...]]:
        """The policy's log-probability of each id inside the mask of each row, NaN elsewhere."""
        self._known(policy, REFERENCE)
        if not rows:
            return []
        scored = self._scores(policy, rows).masked_fill(~tensors(rows).mask_B_T, nan)
        return [tuple(line[: len(row.ids)]) for line, row in zip(scored.tolist(), rows, strict=True)]

    def save(self, policy: str, path: str | Path) -> None:
        """Write all there is of the policy to one file, atomically."""
        parameters = self._body.parameters(self._known(policy))
        state = self._optimizer(policy, parameters).state
        kept: dict[str, Tensor] = {WEIGHT + name: p for name, p in parameters.items()}
        for name, parameter in parameters.items():
            kept |= {
                f"{key}.{name}": state[parameter][key] for key in _ADAM if key in state.get(parameter, {})
            }
        kept["random"] = torch.get_rng_state()
        write_checkpoint(path, kept, self._body.about(policy))

    def load(self, policy: str, path: str | Path) -> None:
        """Make the policy what was saved."""
        own = self._body.about(self._known(policy))
        saved, about = read_checkpoint(path)
        check_base(about, own.base, path)
        self._body.restore(policy, saved, about, path)
        self._body.stepped(policy, about.step)
        self._optimizers.pop(policy, None)
        parameters = self._body.parameters(policy)
        state = self._optimizer(policy, parameters).state
        for name, parameter in parameters.items():
            parameter.grad = None
            if (found := {k: saved[f"{k}.{name}"] for k in _ADAM if f"{k}.{name}" in saved}).keys() == set(
                _ADAM
            ):
                state[parameter] = {k: t.to(parameter.device) if k != "step" else t for k, t in found.items()}
        torch.set_rng_state(saved["random"])

    def _known(self, policy: str, *more: str) -> str:
        if policy not in self._body.policies and policy not in more:
            raise UnknownName("policy", policy, self._body.policies)
        return policy

    def _scores(self, policy: str, rows: Sequence[Row]) -> Tensor:
        batch = tensors(rows)
        logp = torch.zeros_like(batch.sampler_B_T)
        with torch.no_grad():
            for index in self._body.share(list(micro_batches(rows, self._micro_tokens))):
                part = Batch(*(tensor[index] for tensor in batch))
                logp[index] = self._body.score(policy, part, False)[0]
        return self._body.add_up(logp)

    def _optimizer(self, policy: str, parameters: dict[str, Tensor]) -> torch.optim.AdamW:
        """The policy's optimiser; a table's parameters come into being as they are met."""
        if policy not in self._optimizers:
            self._optimizers[policy] = torch.optim.AdamW([{"params": list(parameters.values())}])
        optimizer = self._optimizers[policy]
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if new := [p for p in parameters.values() if id(p) not in held]:
            optimizer.add_param_group({"params": new})
        return optimizer


def _checked(rows: Sequence[Row], loss: Loss, kind: Kind) -> Batch:
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


def _paired(index: list[int], batch: Batch) -> list[int]:
    """Wanted rows first: pairs come together and in one order, so that the n-th of each belong together."""
    wanted = [i for i in index if batch.label_B[i] > 0]
    return [*wanted, *(i for i in index if batch.label_B[i] < 0)]


def _with_reference(loss: Loss, batch: Batch, logp: Tensor) -> Loss:
    """KTO's reference point: how far the policy is from its reference on these rows, at least 0."""
    ratio = losses.log_ratio(logp, batch.reference_B_T, batch.mask_B_T)
    options = {**loss.options, "reference": max(0.0, ratio.mean().item())}
    return Loss(loss.name, options, loss.reduction, loss.length)


def _rollouts(rows: Sequence[Row]) -> Tensor:
    numbers: dict[object, int] = {}
    return torch.tensor([numbers.setdefault(row.run or i, len(numbers)) for i, row in enumerate(rows)])


def _metrics(batch: Batch, logp: Tensor, value: float, loss: Loss, kind: Kind) -> dict[str, float]:
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
