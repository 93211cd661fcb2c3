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
        feed = asyncio.ensure_future(self._feed(code, printed, limits))
        over = asyncio.ensure_future(printed.over.wait())
        try:
            await asyncio.wait([feed, over], timeout=limits.wall_s, return_when=asyncio.FIRST_COMPLETED)
        finally:
            feed.cancel()
            over.cancel()
            await asyncio.wait([feed])  # closing the pool ends its process
        reason, failure = self._judge(feed)
        if printed.over.is_set():
            reason = "output"
        return Outcome(
            ok=reason == "done",
            exit_code=0 if reason == "done" else 1,
            stdout=printed.kept["stdout"],
            stderr=printed.kept["stderr"] + failure,
            reason=reason,
            wall_s=time.monotonic() - started,
            truncated=reason == "output",
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

    def _judge(self, feed: "asyncio.Future[None]") -> tuple[Reason, str]:
        try:
            feed.result()
        except asyncio.CancelledError:
            return "timeout", ""
        except (self._monty.MontyRuntimeError, self._monty.MontySyntaxError) as error:
            return REASONS.get(type(error.exception()), "error"), error.display()
        except self._monty.MontyError as error:
            return "error", str(error)
        return "done", ""


class _Printed:
    """Keeps what a program prints, up to `most` characters, and tells `over` when there is more."""

    def __init__(self, most: int) -> None:
        self.kept = {"stdout": "", "stderr": ""}
        self.over = asyncio.Event()
        self._room = most
        self._loop = asyncio.get_running_loop()

    def __call__(self, stream: Literal["stdout", "stderr"], text: str) -> None:
        self.kept[stream] += text[: self._room]
        if len(text) > self._room:
            self._loop.call_soon_threadsafe(self.over.set)
        self._room = max(0, self._room - len(text))
