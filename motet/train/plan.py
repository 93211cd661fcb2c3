"""How a training run goes: its numbers, and when it stops."""

from collections.abc import Mapping
from math import inf
from typing import Any, Literal

import msgspec
from msgspec import Struct

from motet.credit import preset
from motet.errors import BadInput, UnknownName
from motet.train.engine import Adam
from motet.train.objective import Loss, kind_of
from motet.train.selfplay import Pool


class Stop(Struct, frozen=True, forbid_unknown_fields=True):
    """When to stop early.

    Args:
        metric: a name in the lines of the curve; lines without it do not count.
        patience: stop after so many lines in a row without a better value.
        target: stop when it is reached; None has no target.
        lowest: whether less is better.
    """

    metric: str = "score"
    patience: int = 10
    target: float | None = None
    lowest: bool = False

    def better(self, value: float, than: float) -> bool:
        """Whether a value is an improvement."""
        return value < than if self.lowest else value > than

    def reached(self, value: float) -> bool:
        """Whether a value is on target."""
        return self.target is not None and not self.better(self.target, value)


class Horizon(Struct, frozen=True, forbid_unknown_fields=True):
    """Short episodes first, long ones later: ScalingInter-RL (Xi et al. 2025, arXiv:2509.08755; system 252).

    Short ones teach to use what is known, long ones to explore. Evaluation is never cut short.

    Args:
        first, last: turns of an episode at the beginning, and at most.
        grow, every: so many more turns after every so many iterations.
        knob: the team's parameter that bounds its turns; environments call it `turns`.
    """

    first: int
    last: int
    grow: int = 1
    every: int = 10
    knob: str = "turns"

    def __post_init__(self) -> None:
        if not 1 <= self.first <= self.last or self.grow < 1 or self.every < 1:
            raise BadInput(f"{self}: expected 1 <= first <= last, and grow and every of 1 or more")

    def at(self, iteration: int) -> int:
        """How long an episode of this iteration, counted from 0, may be."""
        return min(self.last, self.first + self.grow * (iteration // self.every))


class Critic(Struct, frozen=True, forbid_unknown_fields=True):
    """Critics for credit that subtracts values, learned along the way (`motet.train.critic`).

    Args:
        of: the critic of each policy; policies may share one.
        sees: `own`: what the voice saw (independent PPO); `all`: that, and what the other voices saw that
            acted in the same step of the world (MAPPO).
        gamma, lam: of the λ-returns that critics learn.
        epochs, minibatches: as in `Plan`.
    """

    of: dict[str, str]
    sees: Literal["own", "all"] = "own"
    gamma: float = 0.99
    lam: float = 0.95
    adam: Adam = Adam(lr=1e-3)
    epochs: int = 1
    minibatches: int = 1


class Plan(Struct, frozen=True, kw_only=True):
    """How to train.

    Args:
        iterations: how many times to collect and update.
        groups, group_size: starts in one iteration, and rollouts of each.
        credit, options: a preset of `motet.credit`, and its options.
        loss: PPO's, with the preset's reduction, when left out.
        final: what is left of the learning rate in the last iteration; linear in between.
        epochs: how often one goes through the rows of one iteration.
        minibatches: parts that the rows are dealt into by chance; a step is taken on each.
        evaluate_every, checkpoint_every: in iterations; the last one always counts.
        tests: rollouts of one evaluation on held-out work.
        at_once: rollouts at a time.
        swap_every: after so many iterations the policies change roles (CORY); 0 is never.
        stop: when to stop early.
        pool: play a share of the groups against past selves.
        critic: who says what states are worth, for credit that reads values.
        horizon: how long episodes may be; without one as long as they are.
        keep_tapes: write every rollout to the run's folder.
    """

    iterations: int = 100
    groups: int = 8
    group_size: int = 8
    credit: str = "grpo"
    options: dict[str, Any] = {}
    loss: Loss | None = None
    adam: Adam = Adam()
    final: float = 1.0
    epochs: int = 1
    minibatches: int = 1
    evaluate_every: int = 10
    checkpoint_every: int = 10
    tests: int = 64
    at_once: int = 16
    seed: int = 0
    swap_every: int = 0
    stop: Stop | None = None
    pool: Pool | None = None
    critic: Critic | None = None
    horizon: Horizon | None = None
    keep_tapes: bool = True

    def told(self, source: str, policies: Mapping[str, str]) -> dict[str, Any]:
        """What is trained how, in plain numbers and words, as it is kept with a checkpoint."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {"source": source, "policies": dict(policies), **plain}

    def adam_at(self, iteration: int) -> Adam:
        """The optimiser of an iteration, counted from 0."""
        share = 1 - (1 - self.final) * iteration / max(1, self.iterations - 1)
        return msgspec.structs.replace(self.adam, lr=self.adam.lr * share)


LEAST_ONE = (
    "iterations", "groups", "group_size", "epochs", "minibatches", "evaluate_every", "checkpoint_every",
    "at_once",
)  # fmt: skip


def read_plan(settings: dict[str, Any]) -> Plan:
    """A plan whose names and numbers make sense, with its loss.

    Raises:
        UnknownName: no such setting, preset, option or loss. BadInput: a number is out of range.
    """
    for name in settings:
        if name not in Plan.__struct_fields__:
            raise UnknownName("setting of a training run", name, Plan.__struct_fields__)
    try:
        plan = msgspec.convert(msgspec.to_builtins(Plan(**settings)), Plan)
    except (msgspec.ValidationError, TypeError) as error:
        raise BadInput(f"the settings {settings!r} are not all of their types: {error}") from error
    for name in LEAST_ONE:
        if getattr(plan, name) < 1:
            raise BadInput(f"{name} is {getattr(plan, name)!r}; expected 1 or more")
    for name in ("final", "tests", "swap_every"):
        if not 0 <= getattr(plan, name) < inf:
            raise BadInput(f"{name} is {getattr(plan, name)!r}; expected a finite number, 0 or more")
    chosen = preset(plan.credit)
    chosen.read(plan.options, plan.credit)
    if plan.loss is not None:
        kind_of(plan.loss)
        return plan
    if chosen.reduction == "constant":
        raise BadInput(
            f"the credit preset {plan.credit!r} divides losses by a constant length; say which: "
            f"loss=Loss(reduction='constant', length=…)"
        )
    reduction = "rollout" if chosen.reduction == "episode" else chosen.reduction
    return msgspec.structs.replace(plan, loss=Loss(reduction=reduction))
