"""Collecting many episodes at once, but never more than a few."""

from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from motet.concurrency import all_of

T = TypeVar("T")


async def collect(
    episode: Callable[[int], Awaitable[T]], seeds: Iterable[int], *, at_once: int = 16
) -> list[T]:
    """Await `episode(seed)` for every seed, at most `at_once` of them at a time.

    An episode is begun when its turn comes, so no more than `at_once` environments live at a time.

    Returns:
        The results in the order of the seeds. The first failure cancels the others.
    """
    if at_once < 1:
        raise ValueError(f"at_once is {at_once!r}; expected 1 or more")
    waiting = enumerate(seeds)
    results: dict[int, T] = {}

    async def work() -> None:
        for place, seed in waiting:
            results[place] = await episode(seed)

    await all_of([work() for _ in range(at_once)])
    return [results[place] for place in sorted(results)]
