"""Measures one contestant in this process: `python -m benchmarks.overhead.measure NAME`; prints JSON."""

import asyncio
import gc
import json
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Awaitable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.overhead.contestant import CONTESTANTS, Contestant, Speaker


class Sizes(NamedTuple):
    """How much of each is timed.

    Args:
        calls: calls one after another. talks: short conversations.
        short, long: turns of a conversation.
        crowd: calls at once. idle: agents whose memory is weighed.
    """

    calls: int = 200
    talks: int = 20
    short: int = 12
    long: int = 1000
    crowd: int = 1000
    idle: int = 2000


FULL = Sizes()
QUICK = Sizes(calls=20, talks=3, long=200, crowd=200, idle=200)


def measure(name: str, sizes: Sizes) -> dict[str, float]:
    """All numbers of one contestant: microseconds, calls a second, bytes, seconds; lower is better but for
    `crowd_per_s`."""
    entry = CONTESTANTS[name]
    begun = time.perf_counter()
    make = import_module(f"benchmarks.overhead.contestants.{entry.module}").Contestant
    imported = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder:
        speeds = asyncio.run(_speeds(make, Path(folder) if entry.on_disk else None, sizes))
        return {**speeds, "agent_bytes": asyncio.run(_weight(make, sizes.idle)), "import_s": imported}


async def _speeds(make: Any, folder: Path | None, sizes: Sizes) -> dict[str, float]:
    speaker = Speaker()
    contestant: Contestant = make(speaker, folder)
    await contestant.talk(sizes.short)
    agents = contestant.agents(sizes.calls)
    call_us = await _timed_us([contestant.ask([agent]) for agent in agents])
    short_us = await _timed_us([contestant.talk(sizes.short) for _ in range(sizes.talks)])
    long_us = await _timed_us([contestant.talk(sizes.long)])
    tail = speaker.times[-max(2, sizes.long // 10) :]
    agents = contestant.agents(sizes.crowd)
    crowd_us = await _timed_us([contestant.ask(agents)])
    return {
        "call_us": call_us / sizes.calls,
        "short_turn_us": short_us / (sizes.talks * sizes.short),
        "long_turn_us": long_us / sizes.long,
        "last_turn_us": (tail[-1] - tail[0]) / (len(tail) - 1) * 1e6,
        "crowd_per_s": sizes.crowd / crowd_us * 1e6,
    }


async def _timed_us(works: Sequence[Awaitable[None]]) -> float:
    """Microseconds that all of it takes, one after another."""
    gc.collect()
    begun = time.perf_counter()
    for work in works:
        await work
    return (time.perf_counter() - begun) * 1e6


async def _weight(make: Any, n: int) -> float:
    """Bytes of Python's heap that one more agent takes; what extensions allocate themselves is left out."""
    contestant = make(Speaker(), None)
    contestant.agents(1)  # what is made once only is not an agent's weight
    gc.collect()
    tracemalloc.start()
    agents = contestant.agents(n)
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return taken / len(agents)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], QUICK if "--quick" in sys.argv else FULL)))
