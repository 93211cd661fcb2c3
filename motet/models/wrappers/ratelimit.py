"""Stay below the rate that a server allows."""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from motet.errors import BadInput
from motet.models._loops import PerLoop
from motet.models.protocol import Model
from motet.types import Message, Reply, Sampling, Usage

WINDOW_S = 60.0


@dataclass(slots=True)
class Pass:
    """Leave to make one request; its holder says afterwards what it came to."""

    at: float
    tokens: int

    def spent(self, usage: Usage) -> None:
        """Replace the expected number of tokens by what was really used."""
        self.tokens = usage.tokens


class Gate:
    """Lets requests through as a server's limits allow. Several models of one account may share a gate.

    No sliding minute holds more than the allowed requests and tokens. What a request will cost is known
    only afterwards; until then it is reckoned at the dearest of the last minute.

    Args:
        concurrency: requests in flight at once (in one event loop); None is no limit.
        requests_per_minute: None is no limit.
        tokens_per_minute: input and output together; None is no limit.
        clock: seconds, from any start.
        sleep: how to wait.
    """

    def __init__(
        self,
        concurrency: int | None = None,
        requests_per_minute: int | None = None,
        tokens_per_minute: int | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        limits = {
            "concurrency": concurrency,
            "requests_per_minute": requests_per_minute,
            "tokens_per_minute": tokens_per_minute,
        }
        for name, limit in limits.items():
            if limit is not None and limit < 1:
                raise BadInput(f"{name} is {limit!r}; expected 1 or more, or None for no limit")
        self._slots = PerLoop(partial(asyncio.Semaphore, concurrency)) if concurrency else None
        self._requests, self._tokens = requests_per_minute, tokens_per_minute
        self._clock, self._sleep = clock, sleep
        self._recent: deque[Pass] = deque()

    @asynccontextmanager
    async def enter(self) -> AsyncIterator[Pass]:
        """Wait for leave, and hold a place among those in flight for as long as the block lasts."""
        if self._slots is None:
            yield await self._admit()
            return
        async with await self._slots.get():
            yield await self._admit()

    async def _admit(self) -> Pass:
        if self._requests is None and self._tokens is None:
            return Pass(0.0, 0)
        while (wait_s := self._wait_s()) > 0:
            await self._sleep(wait_s)
        leave = Pass(self._clock(), self._dearest())
        self._recent.append(leave)
        return leave

    def _wait_s(self) -> float:
        """Seconds until there may be room again; 0 when there is."""
        now = self._clock()
        while self._recent and self._recent[0].at <= now - WINDOW_S:
            self._recent.popleft()
        full = self._requests is not None and len(self._recent) >= self._requests
        if self._tokens is not None and self._recent:
            expected = sum(leave.tokens for leave in self._recent) + self._dearest()
            full = full or expected > self._tokens
        return self._recent[0].at + WINDOW_S - now if full else 0.0

    def _dearest(self) -> int:
        return max((leave.tokens for leave in self._recent), default=0) if self._tokens is not None else 0


@dataclass(frozen=True)
class RateLimit:
    """A model behind a gate: it waits its turn instead of being told off by the server.

    Args:
        model: whom to ask.
        gate: the limits, e.g. `Gate(concurrency=8, requests_per_minute=60)`.
    """

    model: Model
    gate: Gate

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's own: waiting changes no distribution."""
        return self.model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`; `n` replies are one request."""
        async with self.gate.enter() as leave:
            replies = await self.model.sample(messages, n, sampling)
            leave.spent(sum((reply.usage for reply in replies), Usage()))
            return replies
