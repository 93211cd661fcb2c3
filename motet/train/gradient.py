"""An engine on gradients of torch. What computes log-probabilities (`Body`) is a table or a language model;
losses, micro-batches, optimisers and checkpoints are the same for both."""

from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from math import isfinite, nan
from operator import is_
from pathlib import Path
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from motet.errors import MotetError, UnknownName
from motet.models.protocol import Model
from motet.models.trainable.checkpoint import (
    WEIGHT,
    About,
    check_base,
    placed,
    read_checkpoint,
    write_checkpoint,
)
from motet.models.trainable.weights import gathered
from motet.train.around import checked, metrics, pairs_in_order, rollouts_of, with_reference_point
from motet.train.batch import Batch, micro_batches, tensors
from motet.train.engine import REFERENCE, Adam
from motet.train.objective import Loss, kind_of, total, weights_of
from motet.train.rows import Row
from motet.types import Sampling, Tokens

KEPT = 4
"""How many of the latest batches stay as tensors, since more epochs may go through them."""

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

    def share(self, policy: str, batches: list[list[int]]) -> Iterable[list[int]]:
        """This process's part of the micro-batches."""
        ...

    def add_up(self, tensor: Tensor) -> Tensor:
        """The sum of a tensor over all processes."""
        ...


class _Dealt(NamedTuple):
    """Rows that a loss was computed over."""

    rows: tuple[Row, ...]
    loss: Loss
    batch: Batch
    micro: list[list[int]]


class GradientEngine:
    """The engine of a body; see `motet.train.engine.Engine` for what its methods promise.

    Args:
        micro_tokens: padded tokens that go through the body at once; bounds the memory, changes no result.
    """

    def __init__(self, body: Body, micro_tokens: int = 2048) -> None:
        self._body, self._micro_tokens = body, micro_tokens
        self._optimizers: dict[str, torch.optim.AdamW] = {}
        self._dealt: deque[_Dealt] = deque(maxlen=KEPT)

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
        batch, micro = self._deal(rows, loss)
        if loss.name == "kto" and "reference" not in loss.options:
            loss = with_reference_point(loss, batch, self._scores(policy, rows))
        weight = weights_of(batch, rollouts_of(rows), loss)
        logp = torch.zeros_like(batch.sampler_B_T)
        summed = torch.zeros(1, dtype=torch.float64)
        for index in self._body.share(policy, micro):
            index = pairs_in_order(index, batch) if loss.name == "dpo" else index
            at = torch.tensor(index)  # a list is read again for every tensor
            part = Batch(*(tensor[at] for tensor in batch))
            scored, entropy = self._body.score(policy, part, loss.needs_entropy)
            # One weight a pair, not a row, for pairs.
            share = weight[at[: len(at) // 2]] if loss.name == "dpo" else weight[at]
            value = total(part, scored, entropy, share, loss)
            if value.requires_grad:
                value.backward()  # type: ignore[no-untyped-call]
            summed += value.detach()
            logp[at] = scored.detach()
        logp, summed = self._body.add_up(logp), self._body.add_up(summed)
        return metrics(batch, logp, summed.item(), loss, kind)

    def optim_step(self, policy: str, optimizer: Adam) -> dict[str, float]:
        """Take one step along the gradient and forget it."""
        parameters = self._body.parameters(self._known(policy))
        for parameter in parameters.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            parameter.grad = self._body.add_up(parameter.grad)
        clip = float("inf") if optimizer.clip is None else optimizer.clip
        norm = gathered(torch.nn.utils.clip_grad_norm_(parameters.values(), clip)).item()
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
        write_checkpoint(path, self._kept(policy), self._body.about(policy))

    def _kept(self, policy: str) -> dict[str, Tensor]:
        parameters = self._body.parameters(self._known(policy))
        state = self._optimizer(policy, parameters).state
        kept: dict[str, Tensor] = {WEIGHT + name: p for name, p in parameters.items()}
        for name, parameter in parameters.items():
            kept |= {
                f"{key}.{name}": state[parameter][key] for key in _ADAM if key in state.get(parameter, {})
            }
        kept["random"] = torch.get_rng_state()
        return {name: gathered(tensor.detach()) for name, tensor in kept.items()}

    def load(self, policy: str, path: str | Path) -> None:
        """Make the policy what was saved."""
        own = self._body.about(self._known(policy))
        saved, about = read_checkpoint(path)
        check_base(about, own.base, path)
        self._take(policy, saved, about, path)

    def _take(self, policy: str, saved: dict[str, Tensor], about: About, path: str | Path) -> None:
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
                state[parameter] = {k: t if k == "step" else placed(t, parameter) for k, t in found.items()}
        torch.set_rng_state(saved["random"])

    def _deal(self, rows: Sequence[Row], loss: Loss) -> tuple[Batch, list[list[int]]]:
        """The rows, checked, as tensors and as micro-batches; kept for the next epoch on the same rows."""
        for old in self._dealt:
            if old.loss == loss and len(old.rows) == len(rows) and all(map(is_, old.rows, rows)):
                return old.batch, old.micro
        batch = checked(rows, loss, kind_of(loss))
        micro = list(micro_batches(rows, self._micro_tokens))
        self._dealt.append(_Dealt(tuple(rows), loss, batch, micro))
        return batch, micro

    def _known(self, policy: str, *more: str) -> str:
        if policy not in self._body.policies and policy not in more:
            raise UnknownName("policy", policy, self._body.policies)
        return policy

    def _scores(self, policy: str, rows: Sequence[Row]) -> Tensor:
        batch = tensors(rows)
        logp = torch.zeros_like(batch.sampler_B_T)
        with torch.no_grad():
            for index in self._body.share(policy, list(micro_batches(rows, self._micro_tokens))):
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
