"""Things that belong to one event loop (HTTP clients, semaphores), for objects that outlive it."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PerLoop(Generic[T]):
    """One `T` for each running event loop, closed when that loop shuts down.

    A suspended async generator holds it: `asyncio.run` closes those before it closes the loop, which is
    the only moment at which a connection can be closed without a warning.

    Args:
        make: makes a `T`; called inside the loop.
        close: awaited with it when the loop shuts down.
    """

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[object]] | None = None) -> None:
        self._make, self._close = make, close
        self._live: dict[asyncio.AbstractEventLoop, tuple[AsyncGenerator[T, None], T]] = {}

    async def get(self) -> T:
        """The `T` of the running loop."""
        loop = asyncio.get_running_loop()
        if loop not in self._live:
            keeper = self._keep(loop)
            self._live[loop] = keeper, await anext(keeper)
        return self._live[loop][1]

    async def _keep(self, loop: asyncio.AbstractEventLoop) -> AsyncGenerator[T, None]:
        thing = self._make()
        try:
            yield thing
        finally:
            self._live.pop(loop, None)
            if self._close:
                await self._close(thing)

    def __getstate__(self) -> dict[str, Any]:
        """Travel to another process without what is open here."""
        return {"_make": self._make, "_close": self._close, "_live": {}}
