"""Running things at once without leaving anything behind."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

T = TypeVar("T")


async def all_of(awaitables: Sequence[Awaitable[T]]) -> list[T]:
    """Await all at once, results in order.

    When one fails, or the caller is cancelled, the others are cancelled and awaited before the error
    goes on as it is (a `TaskGroup` would wrap it, and callers branch on its class).
    """
    if len(awaitables) == 1:
        return [await awaitables[0]]
    tasks = [asyncio.ensure_future(a) for a in awaitables]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
