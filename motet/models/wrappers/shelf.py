"""Room for one model at a time: whoever asks another waits until all who ask this one are served."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from motet.models.protocol import Model
from motet.types import Message, Reply, Sampling

Hook = Callable[[str], Awaitable[None]]


class Shelf:
    """Groups calls by model, so that a model that is slow to load is loaded once for many runs.

    The model in place serves as long as anybody asks it. Then comes the one that was asked for first.

    Args:
        load: awaited with a model's name before it is asked; what it raises goes to those who wait for it.
        unload: awaited with a model's name before the next one is loaded.
        linger_s: seconds that the model in place waits for those it has just answered to ask again.
    """

    def __init__(self, load: Hook | None = None, unload: Hook | None = None, linger_s: float = 0.01) -> None:
        self._load, self._unload, self._linger_s = load, unload, linger_s
        self._waiting: dict[Model, list[asyncio.Future[None]]] = {}
        self._held: dict[str, Model] = {}
        self._now: Model | None = None
        self._in_flight = 0
        self._changing: asyncio.Task[None] | None = None
        self.loads: Counter[str] = Counter()
        """How often each model was loaded, by name."""

    def hold(self, model: Model) -> "Held":
        """The model, to be asked only when it is in place. Models of one identity are one."""
        return Held(self, self._held.setdefault(model.identity, model))

    async def enter(self, model: Model) -> None:
        """Wait until a model is in place."""
        if model is not self._now:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(model, []).append(turn)
            self._change()
            await turn
        self._in_flight += 1

    def leave(self) -> None:
        """Say that a call is over."""
        self._in_flight -= 1
        self._change()

    def _change(self) -> None:
        if not self._in_flight and self._waiting and (self._changing is None or self._changing.done()):
            self._changing = asyncio.create_task(self._next())

    async def _next(self) -> None:
        await asyncio.sleep(self._linger_s if self._now else 0)
        if not self._in_flight:
            model = next(iter(self._waiting))
            (failed,) = await asyncio.gather(self._replace(model), return_exceptions=True)
            for turn in self._waiting.pop(model):
                if failed and not turn.done():
                    turn.set_exception(failed)
                elif not turn.done():
                    turn.set_result(None)
            await asyncio.sleep(0)  # those who waited go on
        self._changing = None
        self._change()

    async def _replace(self, model: Model) -> None:
        before, self._now = self._now, None
        if before and self._unload:
            await self._unload(before.name)
        if self._load:
            await self._load(model.name)
        self._now = model
        self.loads[model.name] += 1


class Held:
    """A model on a shelf."""

    def __init__(self, shelf: Shelf, model: Model) -> None:
        self._shelf, self._model = shelf, model

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def identity(self) -> str:
        """The model's own: waiting changes no distribution."""
        return self._model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`."""
        await self._shelf.enter(self._model)
        try:
            return await self._model.sample(messages, n, sampling)
        finally:
            self._shelf.leave()
