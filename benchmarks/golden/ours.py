"""What Motet makes of the cases, under the names that `theirs` uses."""

from collections.abc import Callable
from itertools import pairwise
from math import fsum
from typing import Any

import torch
from torch import Tensor

from benchmarks.golden import cases as c
from motet import losses
from motet.credit import Step, Trajectory, credit
from motet.credit.rewards import overlong
from motet.losses import Reduction

Numbers = list[float]


def tensor(rows: Any) -> Tensor:
    """Numbers in 64 bits."""
    return torch.tensor(rows, dtype=torch.float64)


MASK = torch.tensor([[t < n for t in range(c.WIDTH)] for n in c.LENGTHS])
OLD, REFERENCE = tensor(c.OLD), tensor(c.REFERENCE)
ADVANTAGES = tensor(c.ADVANTAGES)[:, None].expand(c.ROWS, c.WIDTH)


def trajectories() -> list[Trajectory]:
    """The replies, each of one step but for the one with an observation inside."""
    return [Trajectory(group=i // c.SIZE, reward=c.REWARDS[i], steps=tuple(_steps(i))) for i in range(c.ROWS)]


def _steps(row: int) -> list[Step]:
    values, (where, at) = c.VALUES[row][: c.LENGTHS[row]], c.OBSERVED
    cuts = [0, at, at + 1, len(values)] if row == where else [0, len(values)]
    parts = [values[a:b] for a, b in pairwise(cuts)]
    return [Step(tokens=len(part), value=tuple(part), masked=i == 1) for i, part in enumerate(parts)]


def advantages(name: str, **options: Any) -> Callable[[], Numbers]:
    """The advantage of each reply."""

    def compute() -> Numbers:
        found = [row[0] for row in credit(trajectories(), name, **options).advantages]
        return [x for x in found if x is not None]

    return compute


def gae() -> Numbers:
    """The advantage of each token that was sampled."""
    found = credit(trajectories(), "ppo_token_gae", gamma=c.GAMMA, lam=c.LAMBDA, whiten=True).tokens or ()
    return [x for steps in found for tokens in steps for x in tokens or ()]


def with_gradient(loss: Callable[[Tensor], Tensor]) -> Callable[[], Numbers]:
    """A loss and its gradient with respect to the log-probabilities."""

    def compute() -> Numbers:
        logp = tensor(c.LOGP).requires_grad_()
        value = loss(logp)
        value.backward()
        assert logp.grad is not None
        return [value.item(), *logp.grad.flatten().tolist()]

    return compute


def policy(function: Callable[..., Tensor], reduction: Reduction, **options: Any) -> Callable[[], Numbers]:
    """A policy loss, reduced."""
    weight = losses.token_weights(MASK, reduction, length=c.WIDTH)
    return with_gradient(lambda p: (function(p, OLD, ADVANTAGES, MASK, **options) * weight).sum())


def kl(form: losses.KlForm) -> Callable[[], Numbers]:
    """The sum of an estimate of KL over all tokens."""
    return with_gradient(lambda p: losses.kl(p, REFERENCE, MASK, form).sum())


def _with_kl(logp: Tensor) -> Tensor:
    value = losses.ppo(logp, OLD, ADVANTAGES, MASK, **CLIP)
    value = value + c.BETA * losses.kl(logp, REFERENCE, MASK)
    return (value * losses.token_weights(MASK, "sequence")).sum()


def _dpo(logp: Tensor) -> Tensor:
    chosen, rejected = losses.log_ratio(logp, REFERENCE, MASK).chunk(2)
    return losses.dpo(chosen, rejected, beta=c.BETA).mean()


def _kto(logp: Tensor) -> Tensor:
    ratio = losses.log_ratio(logp, REFERENCE, MASK)
    reference = max(0.0, fsum(ratio.tolist()) / c.ROWS)
    return losses.kto(ratio, tensor(c.DESIRED), reference, beta=c.BETA).mean()


CLIP = {"low": c.LOW, "high": c.HIGH}
DUAL = {**CLIP, "dual": c.DUAL}

OURS: dict[str, Callable[[], Numbers]] = {
    "verl grpo": advantages("grpo"),
    "verl dr_grpo": advantages("dr_grpo"),
    "verl rloo": advantages("rloo"),
    "verl gae of tokens": gae,
    "verl reinforce++": advantages("reinforce_pp"),
    "verl reinforce++ baseline": advantages("grpo", scale="batch", eps=0),
    "verl ppo, dual clip, of tokens": policy(losses.ppo, "token", **DUAL),
    "verl ppo, dual clip, of rows": policy(losses.ppo, "sequence", **DUAL),
    "verl ppo, dual clip, constant": policy(losses.ppo, "constant", **DUAL),
    "verl gspo": policy(losses.gspo, "sequence", **CLIP),
    "verl cispo": policy(losses.cispo, "token", **CLIP),
    "verl kl k1": kl("k1"),
    "verl kl k2": kl("k2"),
    "verl kl k3": kl("k3"),
    "trl overlong": lambda: [overlong(n, c.LONGEST, c.CACHE) for n in c.LENGTHS],
    "trl grpo": advantages("grpo", eps="trl"),
    "trl dr_grpo": advantages("dr_grpo"),
    "trl rloo": advantages("rloo"),
    "trl grpo loss, of rows": policy(losses.ppo, "sequence", **CLIP),
    "trl dapo loss, of tokens": policy(losses.ppo, "token", **CLIP),
    "trl dr_grpo loss, constant": policy(losses.ppo, "constant", **CLIP),
    "trl two-sided clip": policy(losses.ppo, "sequence", **DUAL),
    "trl gspo": policy(losses.gspo, "sequence", **CLIP),
    "trl cispo": policy(losses.cispo, "token", high=c.HIGH),
    "trl grpo loss with kl": with_gradient(_with_kl),
    "trl dpo": with_gradient(_dpo),
    "trl kto": with_gradient(_kto),
}
"""Advantages, or a loss with its gradient, by the name of the formula that they must agree with."""
