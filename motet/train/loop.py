"""The training loop, whole: collect, credit, update, evaluate, checkpoint.

An iteration rolls the team out on a few groups of equal starts (every call is on a tape), gives credit to
every call, turns the tapes into rows of token ids, takes a gradient step for each policy, and adds a line to
the curve. Every seed is derived from the run's seed and the iteration, so a run that was killed and resumed
has the curve of one that was not.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from motet.envs.collect import collect
from motet.performance import run_blocking
from motet.tape import Store
from motet.teams import Team
from motet.train import selfplay
from motet.train.assign import credited, means, replayed
from motet.train.batch import minibatches
from motet.train.critic import appraised, critics_of
from motet.train.engine import REFERENCE, Engine
from motet.train.folder import Folder, Line, State
from motet.train.gain import informed
from motet.train.made import engine_for
from motet.train.objective import Loss
from motet.train.plan import Plan, read_plan
from motet.train.progress import shown
from motet.train.report import Dialogue, render, report, spoken
from motet.train.rows import Ledger, Row, rows_of
from motet.train.selfplay import NOW
from motet.train.source import (
    Marked,
    Rollout,
    Source,
    Tasks,
    checked_policies,
    derived,
    source_of,
    trained_voices,
)

Measure = Callable[[Engine], Mapping[str, float]]
"""An exact measure of the policies, e.g. their exploitability."""


@dataclass(frozen=True)
class Trained:
    """What came of a training run.

    Args:
        team: the team with its tuned voices; it runs as any other.
        curve: one line an iteration, the first from before all training.
        stopped: why it stopped early, or "".
        samples: what was said in the first and in the last rollouts.
        folder: where it is kept; None when it was not.
    """

    team: Team[...]
    curve: list[Line]
    ledger: Ledger
    stopped: str
    samples: tuple[list[Dialogue], list[Dialogue]] = field(repr=False)
    folder: Path | None = None

    def report(self) -> str:
        """Curves, samples before and after, and the drift ledger, as Markdown."""
        return report(self.curve, self.samples, str(self.ledger), self.stopped)


def train(
    what: Source | Team[...] | str,
    suite: Marked | None = None,
    *,
    policies: Mapping[str, str],
    engine: Engine | None = None,
    evaluate: Source | Marked | Measure | None = None,
    out: str | Path | None = None,
    resume: bool = False,
    **plan: Any,
) -> Trained:
    """Train a team on a suite, or on an environment, where one policy in several seats is self-play.

    Args:
        what: a team, with its `suite`; or the name of an environment; or a `Source`.
        policies: the policy of each voice; voices may share one, and `*` is everybody. Without an engine:
            `lora` or `full` for each voice, trained on the weights that it is cast with.
        engine: holds the policies (`tabular_engine`, `torch_engine`, …).
        evaluate: held-out work (a suite for the team, or a `Source`), or a function of the engine that
            measures exactly.
        out: folder for checkpoints, curve, tapes and report; without one nothing is kept.
        resume: go on from the last checkpoint in `out`; where there is none, begin.
        plan: fields of `Plan`.

    Raises:
        BadInput: a voice without ids, a group that began in different states, a folder that is in use or
            holds another run. UnknownName: no such voice, policy, preset, option or setting.
    """
    if engine is None:
        engine, policies = engine_for(what.team if isinstance(what, Tasks) else what, policies)
    source = source_of(what, suite)
    test = source_of(what, evaluate, shuffled=False) if isinstance(evaluate, Marked) else evaluate
    settings = read_plan(plan)
    policies = checked_policies(source, policies, engine.policies)
    critics_of(settings.critic, policies, engine.policies)
    if settings.pool:
        selfplay.check_pool(settings.pool, set(policies.values()), engine.policies)
    with ExitStack() as held:
        folder = Folder(out or held.enter_context(TemporaryDirectory(prefix="motet-train-")))
        held.callback(folder.close)
        loop = Loop(source, test, engine, policies, settings, folder, keep=out is not None)
        state = folder.open(settings.told(source.name, policies), engine, loop.learners, resume=resume)
        return run_blocking(loop.run(state))


@dataclass(frozen=True)
class Loop:
    """A training run at work."""

    source: Source
    test: Source | Measure | None
    engine: Engine
    policies: dict[str, str]
    plan: Plan
    folder: Folder
    keep: bool

    async def run(self, state: State) -> Trained:
        """The story: until enough is done, iterate, log, checkpoint."""
        plan, folder = self.plan, self.folder
        rollouts: list[Rollout] = []
        with shown(plan.iterations) as show:
            if state.iteration == 0 and not folder.curve():
                folder.log({"iteration": 0, **await self.evaluate()})
            while state.iteration < plan.iterations and not state.stopped:
                begun = time.perf_counter()
                line, rollouts = await self.iterate(state)
                state.watch(plan.stop, line)
                line["seconds"] = time.perf_counter() - begun
                folder.log({"iteration": state.iteration, **line})
                show(state.iteration, line)
                if self.due(state, plan.checkpoint_every):
                    folder.checkpoint(self.engine, self.learners, state)
                    self.draw(state, [spoken(r) for r in rollouts[:3]], running=True)
        return self.trained(state, [spoken(r) for r in rollouts[:3]])

    async def iterate(self, state: State) -> tuple[Line, list[Rollout]]:
        """Collect, credit, update, evaluate: a line of the curve, and the rollouts it comes from."""
        plan, at = self.plan, state.iteration
        policies = selfplay.swapped(self.policies, at, plan.swap_every)
        rollouts, trained = await self.collect(state, policies)
        ledger = Ledger()
        rows = [
            row
            for rollout, voices in zip(rollouts, trained, strict=True)
            for row in rows_of([rollout.run.tape], trained_voices(voices, rollout.run), ledger=ledger)
        ]
        state.note(ledger, [] if state.samples else [spoken(r) for r in rollouts[:3]])
        rollouts, line = appraised(self.engine, plan.critic, rollouts, rows)
        rollouts = informed(rollouts, rows, plan.credit, self.engine)
        rows, given = credited(rollouts, rows, plan.credit, state.credit, plan.options)
        state.credit = given.state
        line |= self.update(rows, at)
        state.iteration += 1
        if plan.horizon:
            line["horizon"] = float(plan.horizon.at(at))
        line |= means(rollouts, trained) | {f"credit/{k}": float(v) for k, v in given.counts.items()}
        line |= self.meet(state, rollouts, trained)
        if self.due(state, plan.evaluate_every):
            line |= await self.evaluate()
        return line, rollouts

    @property
    def learners(self) -> list[str]:
        """All that a checkpoint holds: policies and critics."""
        policies = set(self.policies.values())
        return sorted(policies | critics_of(self.plan.critic, self.policies, self.engine.policies))

    def due(self, state: State, every: int) -> bool:
        """Whether it is time for what is done every so often, and at the end."""
        return not state.iteration % every or state.iteration == self.plan.iterations or bool(state.stopped)

    def store(self) -> Store:
        """Where tapes go: the run's folder, or memory that is given back with the iteration."""
        kept = self.keep and self.plan.keep_tapes
        return Store(self.folder.path / "tapes.sqlite") if kept else Store.memory()

    async def collect(
        self, state: State, policies: dict[str, str]
    ) -> tuple[list[Rollout], list[dict[str, str]]]:
        """The rollouts of one iteration, and which voices of each are trained as what."""
        plan, at = self.plan, state.iteration
        lineups = [policies] * plan.groups
        if plan.pool and (rival := selfplay.drawn_opponent(state.pool, plan.seed, at)):
            self.engine.load(plan.pool.slot, self.folder.pool(rival))
            lineups = selfplay.lineups(plan.pool, policies, self.source.voices, plan.groups, at)
            state.rival = rival
        alike = {id(lineup): lineup for lineup in lineups}
        made = {which: self.cast(self.source, lineup) for which, lineup in alike.items()}
        teams = [made[id(lineup)] for lineup in lineups]
        if plan.horizon:
            teams = [t.configured(**{plan.horizon.knob: plan.horizon.at(at)}) for t in teams]
        slot = plan.pool.slot if plan.pool else ""
        store, aside = self.store(), Store.memory()
        trained = [{v: p for v, p in lineup.items() if p != slot} for lineup in lineups]

        async def rollout(number: int) -> Rollout:
            group, sample = divmod(number, plan.group_size)
            team, seed = teams[group], derived(plan.seed, at, group, sample)
            found = await self.source.rollout(team, at * plan.groups + group, seed, store)
            voices = trained_voices(trained[group], found.run)
            return await replayed(self.source, team, found, voices, plan, aside)

        try:
            rollouts = await collect(rollout, range(plan.groups * plan.group_size), at_once=plan.at_once)
        finally:
            store.close()
            aside.close()
        return rollouts, [voices for voices in trained for _ in range(plan.group_size)]

    def cast(self, source: Source, policies: Mapping[str, str]) -> Team[...]:
        """The team with its voices sung by the policies as they are now."""
        voices = source.voices
        return source.cast({v: self.engine.model(p) for v, p in policies.items() if v in voices})

    def update(self, rows: Sequence[Row], iteration: int) -> Line:
        """Take the steps of each policy on its rows; a policy without any stays as it is."""
        loss, adam = self.plan.loss or Loss(), self.plan.adam_at(iteration)
        line: Line = {"rows": float(len(rows))}
        for policy in sorted({row.policy for row in rows}):
            mine = [row for row in rows if row.policy == policy]
            if loss.kl:
                reference = self.engine.logprobs(REFERENCE, mine)
                mine = [row.but(reference=logp) for row, logp in zip(mine, reference, strict=True)]
            dealing = f"{policy}/{self.engine.step(policy)}"
            for part in minibatches(mine, self.plan.minibatches, self.plan.epochs, dealing):
                found = self.engine.forward_backward(policy, part, loss)
                found |= self.engine.optim_step(policy, adam)
            line |= {f"{policy}/{name}": value for name, value in found.items()}
        return line

    def meet(self, state: State, rollouts: Sequence[Rollout], trained: Sequence[Mapping[str, str]]) -> Line:
        """Rate the games against a past self, and keep the present one when it is time."""
        if not (pool := self.plan.pool):
            return {}
        for rollout, voices in zip(rollouts, trained, strict=True):
            if len(voices) == 1 and state.rival:
                score = selfplay.score_of(rollout.rewards, next(iter(voices)))
                state.ratings = selfplay.rated(state.ratings, NOW, state.rival, score, pool.k)
        if not state.iteration % pool.every:
            name = f"{state.iteration:06}"
            self.engine.save(next(iter(self.policies.values())), self.folder.pool(name))
            state.pool = [*state.pool, name][-pool.size :]
            state.ratings[name] = state.ratings.get(NOW, 0.0)
        return {"elo": state.ratings.get(NOW, 0.0)}

    async def evaluate(self) -> Line:
        """Mean reward on held-out work, or what the exact measure says."""
        test = self.test
        if test is None:
            return {}
        if not isinstance(test, Source):
            return dict(test(self.engine))
        source, store = test, Store.memory()
        team = self.cast(source, self.policies)

        async def rollout(number: int) -> Rollout:
            return await source.rollout(team, number, derived(self.plan.seed, "test", number), store)

        rollouts = await collect(rollout, range(self.plan.tests), at_once=self.plan.at_once)
        store.close()
        found = means(rollouts, [dict.fromkeys(source.voices, "")] * len(rollouts))
        rewards = [value for name, value in found.items() if name.startswith("reward/")]
        score = {"score": sum(rewards) / len(rewards)} if rewards else {}
        return {f"test/{name}": value for name, value in found.items()} | score

    def trained(self, state: State, samples: list[Dialogue]) -> Trained:
        """What came of it, with the report in the run's folder."""
        ledger, curve = state.drift(), self.folder.curve()
        team = self.cast(self.source, self.policies)
        folder = self.folder.path if self.keep else None
        done = Trained(team, curve, ledger, state.stopped, (state.samples, samples), folder)
        if folder:
            (folder / "report.md").write_text(done.report())
            self.draw(state, samples)
        return done

    def draw(self, state: State, samples: list[Dialogue], *, running: bool = False) -> None:
        """The page of the run as it stands."""
        page = render(
            self.source.name,
            self.folder.curve(),
            (state.samples, samples),
            state.drift(),
            of=self.plan.iterations,
            stopped=state.stopped,
            running=running,
        )
        (self.folder.path / "report.html").write_text(page)
