"""Where rollouts come from: episodes of an environment, or a team on the tasks of a suite.

Either way a rollout is a run of a team through `Performance`: every call is on a tape, and rows, credit and
report are readings of it.
"""

import time
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from math import isfinite
from random import Random
from typing import Any, Protocol, runtime_checkable

from msgspec import Struct

from motet.agent import Agent
from motet.envs.play import returns_of, seat_players
from motet.envs.players import PLAYERS
from motet.envs.registry import make
from motet.errors import BadInput, UnknownName
from motet.models.names import as_model
from motet.models.protocol import Model
from motet.performance import Performance
from motet.run import Run
from motet.tape import Scored, Store
from motet.tape.keys import digest
from motet.teams import Team
from motet.train.replay import without
from motet.types import FailureKind, Sampling, Task

OWN_FAULT = frozenset(
    {FailureKind.NO_ANSWER, FailureKind.EMPTY, FailureKind.SCHEMA, FailureKind.TOOL_LOOP, FailureKind.REFUSED}
)
"""Failures that a team brings on itself: they earn 0. A run that failed otherwise has no reward at all."""


class Rollout(Struct, frozen=True):
    """A finished run and what it earned.

    Args:
        rewards: the outcome of each voice, `*` for all that are not named; None when nobody could tell.
        group: rollouts of one group have the same task and start.
        start: hash of the state it started from.
        steps: what each call earned at once, by its id; a part of the outcome.
        seen: hash of what the voice saw before each call.
        notes: what else credit reads of each call, by its id: fields of `motet.credit.Step` such as `value`,
            `contribution`, `judge`, `progress`, `answer_logp`.
        facts: the same of each voice (`*` for all that are not named): fields of `motet.credit.Trajectory`.
        coalitions: what the team earns when only these voices sing, names joined by `+`; filled in by the
            training loop for credit that reads it.
    """

    run: Run
    rewards: dict[str, float | None]
    group: str
    start: str
    game: str
    steps: dict[str, float] = {}
    seen: dict[str, str] = {}
    notes: dict[str, dict[str, Any]] = {}
    facts: dict[str, dict[str, Any]] = {}
    coalitions: dict[str, float] = {}

    def reward(self, voice: str) -> float | None:
        """The outcome of a voice."""
        return self.rewards.get(voice, self.rewards.get("*"))


@runtime_checkable
class Source(Protocol):
    """Something that a team can be rolled out on. Equal numbers and seeds give equal rollouts."""

    @property
    def name(self) -> str: ...

    @property
    def voices(self) -> tuple[str, ...]:
        """Who can be trained."""
        ...

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        """The team with these models in place of whoever sang those voices."""
        ...

    async def rollout(self, team: Team[...], number: int, seed: int, store: Store) -> Rollout:
        """Roll out once.

        Args:
            number: which start; those with the same number are a group.
            seed: of the team's own draws.
        """
        ...


@dataclass(frozen=True)
class Episodes:
    """Episodes of an environment; each seat is a voice and earns its own return.

    Args:
        env: name of the environment.
        options: of the environment.
        others: who plays the seats that are not trained.
        first: seed of the first start.
        starts: how many different starts; after the last the first comes again. 0 never begins again.
        sampling: of the seats that are trained.
        instead: who takes the seat of a voice that is left out, to find what that voice was worth.
    """

    env: str
    options: dict[str, Any] = field(default_factory=dict)
    others: Mapping[str, Model | Agent | str] = field(default_factory=dict)
    first: int = 0
    starts: int = 0
    sampling: Sampling = Sampling()
    instead: Model | str = "random"

    @property
    def name(self) -> str:
        return self.env

    @property
    def voices(self) -> tuple[str, ...]:
        episode = make(self.env, 0, **self.options)
        try:
            return tuple(seat for seat in episode.seats if seat not in self.others)
        finally:
            episode.close()

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        mine = {
            seat: Agent(found, sampling=self.sampling)
            for seat in self.voices
            if (found := models.get(seat, models.get("*")))
        }
        return seat_players(self.env, {**mine, **self.others}, **self.options)

    async def rollout(self, team: Team[...], number: int, seed: int, store: Store) -> Rollout:
        start = self.first + (number % self.starts if self.starts else number)
        playing = Performance(team.configured(seed=start), seed=seed, store=store, item=f"train/{number}")
        run = await playing.run(f"Play {self.env}, episode {number}.")
        rewards: dict[str, float | None] = dict(returns_of(run)) if run.ok else {"*": None}
        notes = {call: {"executable": legal} for call, legal in _legal(run).items()}
        return Rollout(run, rewards, str(number), _start(run), self.env, *_steps_of(run), notes)

    async def replay(self, team: Team[...], run: Run, absent: frozenset[str], store: Store) -> float | None:
        """What the trained seats earn, from the same start, with `instead` in place of these voices.

        Raises:
            BadInput: the trained seats earn different rewards, and the team has none of its own.
        """
        if absent:
            begun, other = run.tape.started, self.instead
            stand_in = as_model(PLAYERS.get(other, other) if isinstance(other, str) else other)
            again = without(team, run.tape, absent, stand_in).configured(seed=begun.knobs["seed"])
            run = await Performance(again, seed=begun.seed, store=store, item=begun.item).run(begun.task)
        if not run.ok:
            return None
        returns = returns_of(run)
        earned = {seat: returns[seat] for seat in self.voices}
        if len(set(earned.values())) != 1:
            raise BadInput(
                f"what a team earns without a voice is one number, and the seats of {self.env} earn "
                f"{earned}: train one of them, with the rest in `others`, or take another credit preset"
            )
        return next(iter(earned.values()))


def _start(run: Run) -> str:
    return run.tape.steps[0].state if run.tape.steps else ""


def _steps_of(run: Run) -> tuple[dict[str, float], dict[str, str]]:
    """What each call earned until its seat's next call, and the hash of what it saw."""
    earned: dict[str, float] = {}
    seen: dict[str, str] = {}
    latest: dict[str, str] = {}
    for step in run.tape.steps:
        latest |= step.calls
        for seat, call in step.calls.items():
            earned[call], seen[call] = 0.0, step.observations.get(seat, "")
        for seat, reward in step.rewards.items():
            if seat in latest:
                earned[latest[seat]] += reward
    return earned, seen


def _legal(run: Run) -> dict[str, bool]:
    """Whether the action of each call could be taken."""
    return {call: seat not in step.invalid for step in run.tape.steps for seat, call in step.calls.items()}


class Mark(Protocol):
    """What a scorer gives."""

    @property
    def value(self) -> float: ...


class Scores(Protocol):
    """Marks an answer to a task; a value that is not finite means that it cannot be marked."""

    @property
    def name(self) -> str: ...

    def __call__(self, task: Task, answer: str) -> Awaitable[Mark]: ...


@runtime_checkable
class Marked(Protocol):
    """Tasks with a scorer; a `motet.Suite` is one."""

    @property
    def name(self) -> str: ...
    @property
    def tasks(self) -> Sequence[Task]: ...
    @property
    def scorer(self) -> Scores: ...


@dataclass(frozen=True)
class Tasks:
    """A team on the tasks of a suite; all voices earn the team's score.

    Args:
        team: voices that are trained need no cast; one that is an `Agent` keeps its instructions.
        shuffled: go through the suite in a new order each time; else in its own order.
    """

    team: Team[...]
    suite: Marked
    shuffled: bool = True

    @property
    def name(self) -> str:
        return f"{self.team.name} on {self.suite.name}"

    @property
    def voices(self) -> tuple[str, ...]:
        return tuple(self.team.voices)

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        chosen: dict[str, Any] = {}
        for voice in self.voices:
            members = self.team.parts.get(voice, ())
            if (model := models.get(voice, models.get("*"))) is None:
                continue
            if any(isinstance(member, Team) for member in members):
                raise BadInput(f"{voice} of {self.team.name} is sung by a team; train a single model there")
            agents = [member for member in members if isinstance(member, Agent)] or [Agent(model)]
            made = [replace(agent, model=model) for agent in agents]
            chosen[voice] = made if self.team.voices[voice] else made[0]
        return self.team.cast(**chosen)

    async def rollout(self, team: Team[...], number: int, seed: int, store: Store) -> Rollout:
        task = self.task(number)
        run = await Performance(team, seed=seed, store=store, item=f"train/{number}").run(task)
        start = digest(task.prompt)
        seen = {call.id: call.prompt for call in run.calls}
        rewards = {"*": await self._mark(run, task, store)}
        return Rollout(run, rewards, task.id or start, start, self.suite.name, seen=seen)

    async def replay(self, team: Team[...], run: Run, absent: frozenset[str], store: Store) -> float | None:
        """The team's score on the same task while these voices are silent; see `motet.train.replay`."""
        begun = run.tape.started
        again = Performance(without(team, run.tape, absent), seed=begun.seed, store=store, item=begun.item)
        return await self._mark(await again.run(begun.task), begun.task, store)

    def task(self, number: int) -> Task:
        """The task of this number; after the last, the suite begins again."""
        tasks = self.suite.tasks
        again, place = divmod(number, len(tasks))
        if self.shuffled:
            place = Random(f"{self.suite.name}/{again}").sample(range(len(tasks)), len(tasks))[place]
        return tasks[place]

    async def _mark(self, run: Run, task: Task, store: Store) -> float | None:
        if not run.ok:
            return 0.0 if run.error and run.error.kind in OWN_FAULT else None
        mark = await self.suite.scorer(task, run.answer)
        if not isfinite(mark.value):
            return None
        scored = Scored(self.suite.scorer.name, mark.value, time.time())
        store.put_event(run.id, len(run.tape.events), scored)
        run.tape.events.append(scored)
        return mark.value


def derived(*parts: object) -> int:
    """A seed that depends on all parts, of 31 bits."""
    return int.from_bytes(blake2b(repr(parts).encode(), digest_size=4).digest()) >> 1


def source_of(what: Source | Team[...] | str, suite: Marked | None, *, shuffled: bool = True) -> Source:
    """The source that is meant by a team and its suite, by the name of an environment, or by itself.

    Raises:
        BadInput: a team without a suite, or a suite without a team.
    """
    what = what.team if isinstance(what, Tasks) and suite is not None else what
    if isinstance(what, Team):
        if suite is None or not suite.tasks:
            raise BadInput(f"the team {what.name} needs a suite with tasks: train({what.name}, suite, …)")
        return Tasks(what, suite, shuffled)
    if suite is not None:
        raise BadInput(f"the suite {suite.name!r} needs a team that works on it, got {what!r}")
    return Episodes(what) if isinstance(what, str) else what


def trained_voices(policies: Mapping[str, str], run: Run) -> dict[str, str]:
    """The policies by the names that voices have on the tape: `debaters` also stands for `debaters_1`."""
    found = dict(policies)
    for voice in {call.voice for call in run.tape.calls}:
        stem, _, number = voice.rpartition("_")
        if voice not in found and number.isdigit() and stem in policies:
            found[voice] = policies[stem]
    return found


def checked_policies(source: Source, policies: Mapping[str, str], known: Sequence[str]) -> dict[str, str]:
    """The policy of each voice that is trained, `*` spelled out.

    Raises:
        UnknownName: no such voice, or no such policy. BadInput: nothing is to be trained.
    """
    if not policies:
        raise BadInput(f"`policies` is empty; say which voice is trained as what: {source.voices[0]}='…'")
    for voice, policy in policies.items():
        if voice not in (*source.voices, "*"):
            raise UnknownName(f"voice of {source.name}", voice, source.voices)
        if policy not in known:
            raise UnknownName("policy of this engine", policy, known)
    found = {voice: policies.get(voice, policies.get("*", "")) for voice in source.voices}
    return {voice: policy for voice, policy in found.items() if policy}
