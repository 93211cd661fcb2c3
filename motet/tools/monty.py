"""A sandbox without a system: Monty, a small Python interpreter written for code by models.

It knows a useful subset of the language and few modules, and starts in well under a millisecond once
warm. It has no files, no network and no stdin, so a task that needs those needs another sandbox.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Literal

from motet.errors import BadInput, MissingExtra
from motet.tools.sandbox import Limits, Outcome, Reason

REASONS: dict[type[BaseException], Reason] = {TimeoutError: "timeout", MemoryError: "memory"}


class Monty:
    """The interpreter of the package pydantic-monty, in a process of its own for each program.

    Of the limits, `wall_s`, `cpu_s`, `memory_mb` and `output_kb` (both streams together) mean something here.

    Raises:
        MissingExtra: the package is not installed.
    """

    def __init__(self) -> None:
        try:
            import pydantic_monty
        except ImportError as error:
            raise MissingExtra("pydantic-monty", "sandbox") from error
        self._monty = pydantic_monty

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, str | bytes] = {},
        stdin: str = "",
        limits: Limits = Limits(),  # noqa: B008 (frozen)
    ) -> Outcome:
        """See `Sandbox.run`; `files` and `stdin` must be empty."""
        if files or stdin:
            raise BadInput(f"monty has no files and no stdin, got {sorted(files)} and {stdin[:50]!r}")
        started = time.monotonic()
        printed = _Printed(limits.output_kb << 10)
        reason: Reason = "done"
        failure = ""
        try:
            async with asyncio.timeout(limits.wall_s):
                await self._feed(code, printed, limits)
        except TimeoutError:
            reason, failure = "timeout", f"stopped after {limits.wall_s:g} s"
        except (self._monty.MontyRuntimeError, self._monty.MontySyntaxError) as error:
            reason, failure = REASONS.get(type(error.exception()), "error"), error.display()
        except self._monty.MontyError as error:
            reason, failure = "error", str(error)
        if printed.over:
            reason = "output"
        return Outcome(
            ok=reason == "done",
            exit_code=0 if reason == "done" else 1,
            stdout="".join(printed.kept["stdout"]),
            stderr="".join(printed.kept["stderr"]) + failure,
            reason=reason,
            wall_s=time.monotonic() - started,
            truncated=printed.over,
        )

    async def _feed(self, code: str, printed: "_Printed", limits: Limits) -> None:
        # A pool for each program: nothing one leaves behind can reach the next.
        async with self._monty.AsyncMonty(max_processes=1) as pool:
            session = pool.checkout(
                limits={
                    "max_feed_duration_secs": min(limits.wall_s, limits.cpu_s),
                    "max_memory": limits.memory_mb << 20,
                    "max_total_sleep_secs": limits.wall_s,
                }
            )
            async with session:
                await session.feed_run(code, print_callback=printed)


class _Printed:
    """Keeps what a program prints, up to `most` characters; more ends the program."""

    def __init__(self, most: int) -> None:
        self.room = most
        self.over = False
        self.kept: dict[str, list[str]] = {"stdout": [], "stderr": []}

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        self.kept[stream].append(text[: self.room])
        self.over = len(text) > self.room
        self.room -= min(len(text), self.room)
        if self.over:
            raise RuntimeError("the program printed too much")
