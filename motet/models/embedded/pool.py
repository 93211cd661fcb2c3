"""Which engine serves an ask: one for each file and context length, with slots for the load."""

import asyncio
import atexit
import os
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from motet.models.embedded.llama import Llama

SIZES = (4, 8)
"""Slots of an engine that is sized by its load: on two cores more than eight at once gain nothing, and fewer
than four let the voices of a team forget each other's histories."""


class _Place:
    """The engine of one file and context length, and who uses it."""

    def __init__(self, path: Path, n_ctx: int, adapter: Path | None) -> None:
        self._path, self._n_ctx, self._adapter = path, n_ctx, adapter
        self._lock = threading.Lock()
        self._users: Counter[Llama] = Counter()
        self.engine: Llama | None = None
        self.wanted = 0
        atexit.register(self.close, os.getpid())

    def enter(self, slots: int) -> Llama:
        """An engine with at least so many slots; a smaller one closes when its last user leaves."""
        with self._lock:
            if self.engine is None or self.engine.slots < slots:
                before, self.engine = self.engine, Llama(self._path, self._n_ctx, slots, self._adapter)
                self._close_if_left(before)
            self._users[self.engine] += 1
            return self.engine

    def leave(self, engine: Llama) -> None:
        with self._lock:
            self._users[engine] -= 1
            self._close_if_left(engine)

    def _close_if_left(self, engine: Llama | None) -> None:
        if engine and engine is not self.engine and not self._users[engine]:
            del self._users[engine]
            engine.close()

    def close(self, process: int) -> None:
        """At exit; a forked child has no engine of its own to close."""
        if self.engine and process == os.getpid():
            self.engine.close()


_PLACES: dict[tuple[int, Path, int, int | None, Path | None], _Place] = {}


@asynccontextmanager
async def leased(
    path: Path, n_ctx: int, slots: int | None, samples: int, adapter: Path | None = None
) -> AsyncIterator[Llama]:
    """The engine to draw some samples from. Opening one takes about half a second.

    Args:
        path: a GGUF file.
        n_ctx: tokens that each slot holds.
        slots: how many there must be; None sizes the engine by how many samples are wanted at once.
        adapter: a LoRA adapter as a GGUF file.

    Raises:
        MissingExtra: xllamacpp is not installed. BadRequest: the file is no model.
    """
    # A forked child has the table but not the engine's threads, hence the process id.
    key = (os.getpid(), path, n_ctx, slots, adapter)
    place = _PLACES.get(key) or _PLACES.setdefault(key, _Place(path, n_ctx, adapter))
    place.wanted += samples
    try:
        await asyncio.sleep(0)  # so that all who ask in this tick are counted
        size = slots or next((s for s in SIZES if s >= place.wanted), SIZES[-1])
        if place.engine and place.engine.slots >= size:
            engine = place.enter(size)
        else:
            engine = await asyncio.to_thread(place.enter, size)
        try:
            yield engine
        finally:
            place.leave(engine)
    finally:
        place.wanted -= samples
