"""What the methods themselves cost, beside the calls they make: `python -m benchmarks.methods [NAME …]`.

Each method is run on its example with models and tools that have all their replies ready: a model, a sandbox,
a database or a search index is asked for real the first time, and gives the same whenever it is asked the
same again. A model gives it in the next pass of the event loop, as nothing outside this thread can answer
sooner; a tool at once and without a thread. So what is timed is Motet and the method, not what they use.

Work: with no latency a run waits for nothing. What it costs is compared with two floors, measured in the same
process, turn by turn with the method. Both are teams that ask as often as the method, one wave after another,
together what the method had in flight together, and do nothing else: they make no prompt, link nothing, read
no reply and use no tool.

- the bare floor, `× floor`: each prompt has two short lines, and there is no schema. This is the ratio of the
  requirement: the waves are the critical path, and a recorded call cannot cost less.
- the floor of the same calls, `× same`: what is sent is what the method sent (the same messages, sampling,
  schema). Where only this ratio is low, the prompts are long: hashing and storing them is what takes time.

Time is the processor's, and of all runs the least counts: what other programs do adds to neither side. The
same run is played over and over, so what a method remembers of an earlier run (schemas, answers read, indices
of documents) is remembered here, as it is in a comparison or in training.

Waiting: with 20 ms a call a run cannot take less than 20 ms times its chain, the longest chain of calls in
which each read the one before, as the tape has it. Steps are what happened one after another: where they
exceed the chain, the method waited for something that it looked at and did not show to the next voice
(whether to go on, whom to ask). A ratio over the chain says how much longer a run took for that, a ratio over
the steps what it took besides. The quickest of three runs counts.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby
from math import inf
from pathlib import Path
from typing import Any
from unittest.mock import patch

import motet
from motet import Store
from motet.call import Thread
from motet.call import call as ask
from motet.concurrency import all_of
from motet.evals.lab.subject import Subject, subject
from motet.methods import METHODS
from motet.models.names import model
from motet.models.protocol import Model
from motet.tape import CALL, RECORDER, Called
from motet.tape.keys import node_key
from motet.tools import database
from motet.tools.database import Database
from motet.tools.sandbox import SANDBOXES, Limits, Outcome, Sandbox
from motet.tools.search import searcher
from motet.tools.tool import FunctionTool, tool
from motet.types import Message, Reply, Sampling
from motet.viewer.diagram import diagram

SINGER = "sim:skill=0.6,judge=0.7"
LATENCY_S = 0.02
REPEAT = 40
WAITS = 3
LIMIT = 2.0
RESULTS = Path(__file__).parent / "results" / "methods.json"


@dataclass
class Ready:
    """A model that says again what it said to the same before.

    Args:
        latency_s: how long that takes; with 0 a pass of the event loop, with None not even that.
        heard: gets what it is asked and says.
    """

    inner: Model
    latency_s: float | None = 0.0
    said: dict[Any, list[Reply]] = field(default_factory=dict)
    heard: "list[Request] | None" = None

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def identity(self) -> str:
        return self.inner.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        context = CALL.get()
        key = (tuple(messages), n, sampling.schema is None, context.index if context else 0)
        if key not in self.said:
            self.said[key] = await self.inner.sample(messages, n, sampling)
        request = Request(self, tuple(messages), n, sampling, self.said[key])
        if self.heard is not None:
            if self.heard:
                wave = self.heard[-1].wave
                request.wave = wave + any(other.answered for other in self.heard if other.wave == wave)
            self.heard.append(request)
        if self.latency_s is not None:
            await asyncio.sleep(self.latency_s)
        request.answered = True
        return request.replies


@dataclass
class Request:
    """What a model was asked in a run, and what it said; those of one wave were in flight together."""

    model: Model
    messages: tuple[Message, ...]
    n: int
    sampling: Sampling
    replies: list[Reply]
    answered: bool = False
    wave: int = 0


@dataclass
class ReadySandbox:
    """A sandbox that says at once how the same program ended before."""

    inner: Sandbox
    ended: dict[Any, Outcome] = field(default_factory=dict)

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, str | bytes] = {},
        stdin: str = "",
        limits: Limits = Limits(),
    ) -> Outcome:
        key = (code, *files.items(), stdin, limits)
        if key not in self.ended:
            self.ended[key] = await self.inner.run(code, files=files, stdin=stdin, limits=limits)
        return self.ended[key]


@contextmanager
def ready_tools() -> Iterator[None]:
    """Sandboxes, databases and search tools that are opened meanwhile have their replies ready."""
    opened = database._opened

    def sandbox(make: Callable[[], Sandbox]) -> Callable[[], Sandbox]:
        return cache(lambda: ReadySandbox(make()))

    @cache
    def open_ready(source: str) -> Database:
        there = opened(source)
        return Database(cache(there.query), there.tables, there.dialect)

    finders: dict[str, FunctionTool] = {}

    def find_ready(documents: Any) -> FunctionTool:
        if repr(documents) not in finders:
            finders[repr(documents)] = tool(name="search", description="Search.")(cache(searcher(documents)))
        return finders[repr(documents)]

    async def at_once(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return work(*given, **named)

    boxes = {name: sandbox(make) for name, make in SANDBOXES.items()}
    with (
        patch.dict(SANDBOXES, boxes),
        patch.object(database, "_opened", open_ready),
        patch.object(sys.modules["motet.methods.discuss.agent4debate"], "search_tool", find_ready),
        patch.object(asyncio, "to_thread", at_once),
    ):
        yield


@motet.team
async def bare_calls(task, voice, *, waves: Sequence[Sequence[int]] = ()):
    """Ask so many times, for so many samples, wave by wave."""
    for step, wave in enumerate(waves):
        asked = [(f"{step} {i}", n) for i, n in enumerate(wave)]
        one = [voice.ask(task, words) if n == 1 else voice.ask_many(task, words, n=n) for words, n in asked]
        replies = await all_of(one)
    return replies[-1] if wave[-1] == 1 else replies[-1][-1]


def same_calls(requests: Sequence[Request]) -> motet.Team:
    """A team that sends these requests wave by wave, each adding to the tape what is new in it."""
    known: set[str] = set()

    def parted(request: Request) -> tuple[Request, Thread, Sequence[Message]]:
        heads = [""]
        for message in request.messages:
            heads.append(node_key(heads[-1], message))
        old = max(i for i, head in enumerate(heads) if not head or head in known)
        known.update(heads, (node_key(heads[-1], reply.message) for reply in request.replies))
        return request, Thread(request.messages[:old], heads[old]), request.messages[old:]

    waves = [[parted(request) for request in wave] for wave in in_waves(requests)]

    @motet.team
    async def again(task):
        recorder = RECORDER.get()

        async def send(request: Request, thread: Thread, added: Sequence[Message]) -> list[Reply]:
            for message in added:
                thread = thread.then(message, recorder)
            return await ask(request.model, thread, request.sampling, request.n, "voice", recorder)

        for wave in waves:
            replies = await all_of([send(*sent) for sent in wave])
        return replies[-1][-1]

    return again


def in_waves(requests: Sequence[Request]) -> list[list[Request]]:
    """The requests in order, those of one wave together."""
    return [list(wave) for _, wave in groupby(requests, key=lambda request: request.wave)]


async def fastest(plays: Sequence[tuple[motet.Team, motet.Task]], repeat: int = REPEAT) -> list[float]:
    """Seconds of each team's fastest run on its task, after one that warms up; they take turns."""
    least = [inf] * len(plays)
    for turn in range(1 + repeat):
        for place, (team, task) in enumerate(plays):
            store, begun = Store.memory(), time.process_time()
            await team.arun(task, store=store)
            if turn:
                least[place] = min(least[place], time.process_time() - begun)
    return least


def longest_chain(calls: Sequence[Called]) -> int:
    """Calls in the longest chain in which each read the one before."""
    length: dict[str, int] = {}
    for one in calls:
        length[one.id] = 1 + max((length.get(parent, 0) for parent in one.parents), default=0)
    return max(length.values(), default=0)


def with_ready_models(team: motet.Team, models: list[Ready]) -> motet.Team:
    """The team with its models made ready; they are added to `models`."""

    def ready(member: Any) -> Any:
        if isinstance(member, motet.Team):
            return with_ready_models(member, models)
        models.append(Ready(member.model))
        return replace(member, model=models[-1])

    parts = {voice: tuple(map(ready, members)) for voice, members in team.parts.items()}
    return motet.Team(team.function, team.name, parts, team.knobs)


async def requests_of(team: motet.Team, task: motet.Task, models: Sequence[Ready]) -> list[Request]:
    """What a run of the team asks its models, in order of asking."""
    heard: list[Request] = []
    for listening in (heard, None):
        for one in models:
            one.heard = listening
        if listening is not None:
            await team.arun(task, store=Store.memory())
    return heard


async def measure(there: Subject) -> dict[str, float]:
    """The numbers of one method, with both floors measured beside it."""
    models: list[Ready] = []
    team = with_ready_models(there.cast(SINGER), models)
    with ready_tools():
        requests = await requests_of(team, there.task, models)
        waves = [[request.n for request in wave] for wave in in_waves(requests)]
        bare, base = bare_calls.configured(waves=waves).cast(Ready(model(SINGER))), subject("direct").task
        plays = [(team, there.task), (same_calls(requests), there.task), (bare, base)]
        work, same, floor = await fastest(plays)
        for ready in models:
            ready.latency_s = LATENCY_S
        waited = inf
        for _ in range(WAITS):
            begun = time.perf_counter()
            run = await team.arun(there.task, store=Store.memory())
            waited = min(waited, time.perf_counter() - begun)
    chain, steps = longest_chain(run.calls), diagram(run.tape).steps
    return {
        "calls": len(run.calls),
        "chain": chain,
        "steps": steps,
        "floor_ms": 1e3 * floor,
        "work_ms": 1e3 * work,
        "over_floor": work / floor,
        "over_same": work / same,
        "waited_ms": 1e3 * waited,
        "over_chain": waited / (chain * LATENCY_S + floor),
        "over_steps": waited / (steps * LATENCY_S + floor),
    }


HEADS = (
    "method",
    "calls",
    "chain",
    "steps",
    "floor",
    "work",
    "× floor",
    "× same",
    "20 ms",
    "× chain",
    "× steps",
)


def cells(name: str, found: dict[str, float]) -> tuple[str, ...]:
    return (
        name,
        *(f"{found[key]:.0f}" for key in ("calls", "chain", "steps")),
        f"{found['floor_ms']:.2f} ms",
        f"{found['work_ms']:.2f} ms",
        f"{found['over_floor']:.2f}",
        f"{found['over_same']:.2f}",
        f"{found['waited_ms']:.0f} ms",
        f"{found['over_chain']:.2f}",
        f"{found['over_steps']:.2f}",
    )


RATIOS = {
    "over_floor": "work over the bare floor",
    "over_same": "work over the floor of the same calls",
    "over_chain": "waiting over the chain",
}


def main() -> None:
    """Measure, print a table and the worst, and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*METHODS, []], help="all by default")
    names = parser.parse_args().names or list(METHODS)
    found = {name: asyncio.run(measure(subject(name))) for name in names}
    table = [HEADS, ("---", *["--:"] * (len(HEADS) - 1)), *(cells(name, found[name]) for name in found)]
    print("\n".join(f"| {' | '.join(row)} |" for row in table))
    print()
    for key, words in RATIOS.items():
        worst = max(found, key=lambda name: found[name][key])
        over = [name for name in found if found[name][key] > LIMIT]
        print(
            f"Worst {words}: {worst}, {found[worst][key]:.2f}; over {LIMIT:g}: {', '.join(over) or 'none'}."
        )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
