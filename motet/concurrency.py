"""Running things at once without leaving anything behind."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

T = TypeVar("T")


async def all_of(coroutines: Sequence[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once, results in order.

    When one fails, or the caller is cancelled, the others are cancelled and awaited before the error
    goes on as it is (a `TaskGroup` would wrap it, and callers branch on its class).
    """
    if len(coroutines) == 1:
        return [await coroutines[0]]
    start = asyncio.get_running_loop().create_task
    tasks = [start(coroutine) for coroutine in coroutines]
    try:
        return list(await asyncio.gather(*tasks))
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
