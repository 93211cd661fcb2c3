"""The training loop, whole: collect, credit, update, evaluate, checkpoint.

One iteration rolls the team out on a few groups (every call is on a tape), gives credit to each call, turns the
tapes into rows of token ids, takes a gradient step for each policy, and adds a line to the curve. Every seed is
derived from the run's seed and the iteration, so a run that was killed and resumed has the curve of one that
was not.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
from msgspec import Struct

from motet.credit import credit, preset
from motet.envs.collect import collect
from motet.errors import BadInput, UnknownName
from motet.performance import run_blocking
from motet.tape import Store
from motet.teams import Team
from motet.train import selfplay
from motet.train.engine import REFERENCE, Adam, Engine
from motet.train.folder import Folder, Line, State
from motet.train.objective import Loss
from motet.train.progress import bar
from motet.train.rows import Ledger, Row, rows_of
from motet.train.selfplay import Pool
from motet.train.source import Episodes, Marked, Rollout, Source, Tasks, check_policies, derived, trained_voices
from motet.train.steps import credited, reward_means, trajectories_of

Measure = Callable[[Engine], Mapping[str, float]]
"""An exact measure of the policies, e.g. their exploitability."""


class Stop(Struct, frozen=True):
    """When to stop early.

    Args:
        metric: a name in the lines of the curve; lines without it do not count.
        patience: stop after so many lines without a better value.
        target: stop when it is reached; None has no target.
        lowest: whether less is better.
    """

    metric: str = "score"
    patience: int = 10
    target: float | None = None
    lowest: bool = False

    def better(self, value: float, than: float | None) -> bool:
        """Whether a value is an improvement."""
        return than is None or (value < than if self.lowest else value > than)


class Plan(Struct, frozen=True, kw_only=True):
    """How to train.

    Args:
        iterations: updates of each policy (times `epochs`).
        groups, group_size: starts in one iteration, and rollouts of each.
        credit, options: a preset of `motet.credit` and its options.
        loss: PPO's with the preset's reduction when left out.
        final: what is left of learning rate and entropy bonus at the end; linear in between.
        epochs: passes over the rows of one iteration.
        evaluate_every, checkpoint_every: in iterations; the last one always counts.
        tests: rollouts of one evaluation on held-out work.
        swap_every: after so many iterations the policies change roles (CORY); 0 is never.
        pool: play a share of the groups against past selves.
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
    evaluate_every: int = 10
    checkpoint_every: int = 10
    tests: int = 64
    at_once: int = 16
    seed: int = 0
    swap_every: int = 0
    stop: Stop | None = None
    pool: Pool | None = None
    keep_tapes: bool = True


@dataclass(frozen=True)
class Job:
    """What is trained on what. `evaluate` is held-out work, or an exact measure."""

    source: Source
    engine: Engine
    policies: Mapping[str, str]
    plan: Plan
    evaluate: Source | Measure | None = None

    @property
    def trained(self) -> list[str]:
        """The policies that learn."""
        return sorted(set(self.policies.values()))


@dataclass(frozen=True)
class Trained:
    """What came of a training run.

    Args:
        team: the team with its tuned voices; use it as any other.
        curve: one line an iteration, the first from before all training.
        samples: what was said in the first and in the last rollouts.
        folder: where it is kept; None when it was not.
    """

    team: Team[...]
    curve: list[Line]
    ledger: Ledger
    stopped: str
    samples: tuple[list[str], list[str]] = field(repr=False)
    folder: Path | None = None

    def report(self) -> str:
        """Curves, samples before and after, and the drift ledger, as Markdown."""
        from motet.train.report import report

        return report(self.curve, self.samples, str(self.ledger), self.stopped)


def train(
    what: Source | Team[...] | str,
    suite: Marked | None = None,
    *,
    engine: Engine,
    policies: Mapping[str, str],
    evaluate: Source | Marked | Measure | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    **plan: Any,
) -> Trained:
    """Train a team on a suite, or self-play in an environment.

    Args:
        what: a team, with `suite`; or the name of an environment; or a `Source`.
        engine: holds the policies (`tabular_engine`, `torch_engine`).
        policies: the policy of each voice; several voices may share one, `*` is everybody else.
        evaluate: held-out work (a suite, with a team), or a function of the engine that measures exactly.
        out: folder for checkpoints, curve, tapes and report. Without one nothing is kept.
        resume: go on from the last checkpoint in `out`; where there is none, begin.
        plan: fields of `Plan`.

    Raises:
        BadInput: voices without ids, groups that began in different states, a folder that is in use or holds
            another run. UnknownName: no such voice, policy, preset, option or field.
    """
    for name in plan:
        if name not in Plan.__struct_fields__:
            raise UnknownName("setting of a training run", name, Plan.__struct_fields__)
    if isinstance(evaluate, Marked):
        evaluate = Tasks(_team(what), evaluate, shuffled=False)
    source = _source(what, suite)
    job = Job(source, engine, dict(policies), _checked(Plan(**plan)), evaluate)
    check_policies(source, job.policies, engine.policies)
    if job.plan.pool and (len(job.trained) > 1 or job.plan.pool.slot not in set(engine.policies) - set(job.trained)):
        raise BadInput(
            f"a pool needs one trained policy, got {job.trained}, and one more of the engine to play past "
            f"selves, {job.plan.pool.slot!r}; the engine has {list(engine.policies)}"
        )
    with ExitStack() as held:
        kept = out or held.enter_context(TemporaryDirectory())
        folder = Folder(kept)
        held.callback(folder.close)
        done = run_blocking(_learn(job, folder, _opened(job, folder, resume), out is not None))
        if done.folder:
            (done.folder / "report.md").write_text(done.report())
        return done


def _source(what: Source | Team[...] | str, suite: Marked | None) -> Source:
    if isinstance(what, str):
        return Episodes(what)
    if isinstance(what, Team):
        if suite is None:
            raise BadInput(f"the team {what.name} needs a suite to train on: train(team, suite, …)")
        return Tasks(what, suite)
    return what


def _team(what: Source | Team[...] | str) -> Team[...]:
    team = what.team if isinstance(what, Tasks) else what
    if not isinstance(team, Team):
        raise BadInput("a suite to evaluate on needs a team; give `evaluate` a Source or a function here")
    return team


def _checked(plan: Plan) -> Plan:
    """The plan with its loss, if the credit preset knows its options."""
    chosen = preset(plan.credit)
    chosen.read(plan.options, plan.credit)
    if plan.loss is None:
        if chosen.reduction == "constant":
            raise BadInput(f"{plan.credit} divides by a length; give loss=Loss(reduction='constant', length=…)")
        reduction = "rollout" if chosen.reduction == "episode" else chosen.reduction
        plan = msgspec.structs.replace(plan, loss=Loss(reduction=reduction))
    for name in ("iterations", "groups", "group_size", "epochs", "evaluate_every", "checkpoint_every"):
        if getattr(plan, name) < 1:
            raise BadInput(f"{name} is {getattr(plan, name)!r}; expected 1 or more")
    return plan


def _opened(job: Job, folder: Folder, resume: bool) -> State:
    """The state to go on from, or a new one."""
    plan: dict[str, Any] = msgspec.json.decode(msgspec.json.encode([job.plan, job.source.name, job.policies]))
    ...


async def _learn(job: Job, folder: Folder, state: State, keep: bool) -> Trained: ...
