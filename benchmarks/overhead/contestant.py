"""What a contestant is, the model all of them ask, and where each lives."""

import asyncio
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

TASK = "Is a hot dog a sandwich? Answer the last speaker in one sentence."


class Speaker:
    """The model behind every contestant: gives way once, then says a sentence that nobody said before."""

    def __init__(self) -> None:
        self.times: list[float] = []

    async def say(self) -> str:
        """The next reply; `times` holds when each was asked for."""
        self.times.append(time.perf_counter())
        await asyncio.sleep(0)
        return f"I see it otherwise, because bread alone does not decide the matter ({len(self.times)})."


class Contestant(Protocol):
    """One framework, ready to be timed. Made as `Contestant(speaker, folder)`."""

    def agents(self, n: int) -> Sequence[Any]:
        """Make `n` agents that share the model."""
        ...

    async def ask(self, agents: Sequence[Any]) -> None:
        """Ask all of them at once, one recorded call each."""
        ...

    async def talk(self, turns: int) -> None:
        """Let two agents answer each other, every turn with all turns before it."""
        ...


class Entry(NamedTuple):
    """Where a contestant lives: its module in `contestants`, and whether it gets a folder to write to."""

    module: str
    on_disk: bool = False

    @property
    def requirements(self) -> Path:
        """What its virtual environment needs."""
        return Path(__file__).with_name(f"requirements-{self.module}.txt")


CONTESTANTS = {
    "motet": Entry("motet", on_disk=True),
    "motet-memory": Entry("motet"),
    "loop": Entry("loop", on_disk=True),
    "loop-memory": Entry("loop"),
    "langgraph": Entry("langgraph"),
    "autogen": Entry("autogen"),
    "agent-framework": Entry("agent_framework"),
    "pydantic-ai": Entry("pydantic_ai"),
}
