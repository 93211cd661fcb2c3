"""What the methods themselves cost, beside the calls they make: `python -m benchmarks.methods [NAME …]`.

Each method is run on its example with a model that has all its replies ready. Two things are measured.

Work: with no latency everything happens in one thread, so a run cannot take less than the floor: the cost of
a run, and of a recorded call as often as the method calls. The floor is measured in the same process, right
before, with a team that does nothing but ask.

Waiting: with 20 ms a call a run cannot take less than 20 ms times its chain, the longest chain of calls in
which each read the one before, as the tape has it. Steps are what happened one after another: where they
exceed the chain, the method waited for something that it looked at and did not show to the next voice
(whether to go on, whom to ask). A ratio over the chain says how much longer a run took for that, a ratio over
the steps what it took besides.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import motet
from motet import Store
from motet.evals.lab.subject import Subject, subject
from motet.methods import METHODS
from motet.models.names import model
from motet.models.protocol import Model
from motet.tape import CALL, Called
from motet.types import Message, Reply, Sampling
from motet.viewer.diagram import diagram

SINGER = "sim:skill=0.6,judge=0.7"
LATENCY_S = 0.02
REPEAT = 9
ASKS = 200
LIMIT = 2.0
RESULTS = Path(__file__).parent / "results" / "methods.json"


@dataclass
class Ready:
    """A model that says at once, or after a while, what it said to the same before."""

    inner: Model
    latency_s: float = 0.0
    said: dict[Any, list[Reply]] = field(default_factory=dict)

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
        if self.latency_s:
            await asyncio.sleep(self.latency_s)
        return self.said[key]


@motet.team
async def line(task, voice, *, asks: int = 1):
    """Ask, and ask again: what a recorded call costs."""
    for i in range(asks):
        reply = await voice.ask(task, str(i))
    return reply


async def timed(team: motet.Team, task: motet.Task, repeat: int = REPEAT) -> tuple[float, motet.Run]:
    """Median seconds of a run, after one that warms up."""
    run, spans = await team.arun(task, store=Store.memory()), []
    for _ in range(repeat):
        store, begun = Store.memory(), time.perf_counter()
        run = await team.arun(task, store=store)
        spans.append(time.perf_counter() - begun)
    return median(spans), run


async def floors() -> tuple[float, float]:
    """Seconds of a run with no call, and of a recorded call."""
    there, ready = subject("direct"), Ready(model(SINGER))
    one, _ = await timed(line.cast(ready), there.task)
    many, _ = await timed(line.configured(asks=ASKS).cast(ready), there.task)
    call = (many - one) / (ASKS - 1)
    return max(0.0, one - call), call


def longest_chain(calls: Sequence[Called]) -> int:
    """Calls in the longest chain in which each read the one before."""
    length: dict[str, int] = {}
    for call in calls:
        length[call.id] = 1 + max((length.get(parent, 0) for parent in call.parents), default=0)
    return max(length.values(), default=0)


async def measure(there: Subject) -> dict[str, float]:
    """The numbers of one method, with the floor measured right before it."""
    run_s, call_s = await floors()
    ready = Ready(model(SINGER))
    team = there.cast(SINGER)
    parts = {
        voice: tuple(motet.Agent(ready) if member.model.name == SINGER_NAME else member for member in members)
        for voice, members in team.parts.items()
    }
    team = motet.Team(team.function, team.name, parts, team.knobs)
    wall, run = await timed(team, there.task)
    ready.latency_s = LATENCY_S
    waited, slow = await timed(team, there.task, 1)
    calls, chain, steps = len(run.calls), longest_chain(run.calls), diagram(slow.tape).steps
    return {
        "calls": calls,
        "chain": chain,
        "steps": steps,
        "wall_ms": 1e3 * wall,
        "over_floor": wall / (run_s + calls * call_s),
        "waited_ms": 1e3 * waited,
        "over_chain": waited / (chain * (LATENCY_S + call_s)),
        "over_steps": waited / (steps * (LATENCY_S + call_s)),
        "call_us": 1e6 * call_s,
    }


SINGER_NAME = model(SINGER).name
HEADS = ("method", "calls", "chain", "steps", "no latency", "× floor", "20 ms a call", "× chain", "× steps")


def cells(name: str, found: dict[str, float]) -> tuple[str, ...]:
    return (
        name,
        *(f"{found[key]:.0f}" for key in ("calls", "chain", "steps")),
        f"{found['wall_ms']:.2f} ms",
        f"{found['over_floor']:.2f}",
        f"{found['waited_ms']:.0f} ms",
        f"{found['over_chain']:.2f}",
        f"{found['over_steps']:.2f}",
    )


def main() -> None:
    """Measure, print a table and the worst, and keep the numbers."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.methods")
    parser.add_argument("names", nargs="*", metavar="NAME", choices=[*METHODS, []], help="all by default")
    names = parser.parse_args().names or list(METHODS)
    found = {name: asyncio.run(measure(subject(name))) for name in names}
    table = [HEADS, ("---", *["--:"] * (len(HEADS) - 1)), *(cells(name, found[name]) for name in found)]
    print("\n".join(f"| {' | '.join(row)} |" for row in table))
    call = median(numbers["call_us"] for numbers in found.values())
    print(f"\nA recorded call costs {call:.0f} µs here (median of {len(found)} measurements).")
    for key, words in (("over_floor", "work over the floor"), ("over_chain", "waiting over the chain")):
        worst = max(found, key=lambda name: found[name][key])
        over = [name for name in found if found[name][key] > LIMIT]
        print(
            f"Worst {words}: {worst}, {found[worst][key]:.2f}; over {LIMIT:g}: {', '.join(over) or 'none'}."
        )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
