"""Ask again after a failure that may pass."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from motet.errors import ModelError
from motet.models.protocol import Model
from motet.types import Message, Reply, Sampling, Usage

OnRetry = Callable[[ModelError, int, float], None]


@dataclass(frozen=True)
class Retry:
    """A model that asks again after a retryable failure: exponential back-off with full jitter.

    Tokens that failed attempts were billed for are counted in the first reply's usage. A streamed
    answer that breaks off is streamed again from its start. An error raised after the last attempt
    carries a note of how many there were.

    Args:
        model: whom to ask.
        attempts: tries in all, the first included.
        base_s: the first wait is at most this long, in seconds; each later one at most twice the last.
        cap_s: no wait that we choose is longer, in seconds.
        patience_s: when the server asks for a longer wait than this, in seconds, we give up at once.
        on_retry: told before each wait: the error, the attempt that failed (from 1), the wait in seconds.
        rng: where the jitter comes from.
        sleep: how to wait.
    """

    model: Model
    attempts: int = 5
    base_s: float = 0.5
    cap_s: float = 30.0
    patience_s: float = 120.0
    on_retry: OnRetry | None = None
    rng: random.Random = field(default_factory=random.Random, repr=False)
    sleep: Callable[[float], Awaitable[object]] = field(default=asyncio.sleep, repr=False)

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    @property
    def identity(self) -> str:
        """The model's own: trying again changes no distribution."""
        return self.model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`."""
        attempt, wasted = 1, Usage()
        while True:
            try:
                first, *rest = await self.model.sample(messages, n, sampling)
            except ModelError as error:
                error.usage = wasted = wasted + error.usage
                asked_s = error.retry_after_s or 0.0
                if not error.retryable or asked_s > self.patience_s or attempt >= self.attempts:
                    if attempt > 1:
                        error.add_note(f"gave up after {attempt} attempts")
                    raise
                wait_s = asked_s + self.rng.uniform(0, min(self.cap_s, self.base_s * 2 ** (attempt - 1)))
                if self.on_retry:
                    self.on_retry(error, attempt, wait_s)
            else:
                return [msgspec.structs.replace(first, usage=first.usage + wasted), *rest]
            await self.sleep(wait_s)
            attempt += 1
