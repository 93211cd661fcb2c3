"""One run of a team to look at, in step: all that is asked at once is answered at once."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, cast

from motet.agent import Agent
from motet.evals.lab.examples import SINGER
from motet.models.protocol import Model
from motet.performance import Performance, run_blocking
from motet.run import Run
from motet.tape import Store
from motet.teams import Team
from motet.tools.sandbox import SANDBOXES, Limits, Outcome, Sandbox
from motet.types import Message, Reply, Sampling, Task

SINGERS = (SINGER, "sim:skill=0.3,judge=0.5")
"""Voices that mostly agree, and voices that seldom do: some methods go on only then."""

SEEDS = 8
TICKS = 60
"""Turns of the event loop that a call takes: more than a method needs between two calls."""


class Clock:
    """Time in steps: it moves on when a call that began in this step is answered."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class InStep:
    """A model whose calls all take one step of a clock."""

    model: Model
    clock: Clock

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> str:
        return self.model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Ask the model, and take one step."""
        begun = self.clock.now
        for _ in range(TICKS):
            await asyncio.sleep(0)
        self.clock.now = max(self.clock.now, begun + 1)
        return await self.model.sample(messages, n, sampling)


def shown(casts: Sequence[Team[...]], task: Task) -> Run:
    """Play a team in step: of a few runs of some casts the one that shows most.

    That is the one in which most voices speak, and most of them for the answer; then that with most calls.
    """
    with remembered():
        runs = [_played(cast, task, seed) for cast in casts for seed in range(SEEDS)]
    return max(runs, key=_shows)


def _shows(run: Run) -> tuple[bool, int, int, int]:
    made = {call.id: call for call in run.calls}
    ended = run.tape.ended
    heard, new = set[str](), list(ended.parents if ended else ())
    while new:
        if (name := new.pop()) in made and name not in heard:
            heard.add(name)
            new += made[name].parents
    speak, told = ({made[name].voice for name in names} for names in (made, heard))
    return run.ok, len(speak), len(told), len(made)


@contextmanager
def remembered() -> Iterator[None]:
    """Sandboxes that are opened meanwhile say at once how the same program ended before."""
    before = dict(SANDBOXES)
    SANDBOXES.update({name: partial(_again, name, make) for name, make in before.items()})
    try:
        yield
    finally:
        SANDBOXES.update(before)


@cache
def _again(name: str, make: Callable[[], Sandbox]) -> Sandbox:
    return Remembering(make())


@dataclass(frozen=True)
class Remembering:
    """A sandbox that runs the same program only once."""

    box: Sandbox
    ended: dict[Any, Outcome] = field(default_factory=dict)

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, str | bytes] = {},
        stdin: str = "",
        limits: Limits = Limits(),
    ) -> Outcome:
        """Run it, or say how it ended."""
        key = (code, *files.items(), stdin, limits)
        if key not in self.ended:
            self.ended[key] = await self.box.run(code, files=files, stdin=stdin, limits=limits)
        return self.ended[key]


def _played(team: Team[...], task: Task, seed: int) -> Run:
    clock = Clock()
    performance = Performance(
        _in_step(team, clock), seed, store=Store.memory(), run_id=f"example-{seed}", clock=clock, timer=clock
    )
    return run_blocking(performance.run(task))


def _in_step(team: Team[...], clock: Clock) -> Team[...]:
    def wrapped(member: Agent | Team[...]) -> Agent | Team[...]:
        if isinstance(member, Team):
            return _in_step(member, clock)
        return replace(member, model=InStep(cast("Model", member.model), clock))

    parts = {voice: tuple(wrapped(member) for member in members) for voice, members in team.parts.items()}
    return replace(team, parts=parts)
