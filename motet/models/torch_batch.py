"""Many asks, few passes: asks that arrive together, or while the module is busy, are sampled as one batch."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from weakref import WeakKeyDictionary

from motet.models._loops import PerLoop
from motet.models.torch_sample import Drawn, Request, generate
from motet.models.torch_weights import Base, Policy

LINGER_S = 0.002
ROWS = 64
"""How many samples are computed side by side."""

_THREAD = ThreadPoolExecutor(1, "motet-torch")
"""Every thread that computes gets helpers of its own from torch, which then wait for a core by spinning."""


class Samples(NamedTuple):
    """What was drawn for one request, and the version of the weights that it was drawn from."""

    version: str
    drawn: list[Drawn]


class _Ask(NamedTuple):
    policy: Policy
    request: Request
    done: asyncio.Future["Samples"]


class Waves:
    """Draws samples from the policies on one base, for one event loop."""

    def __init__(self) -> None:
        self._waiting: list[_Ask] = []
        self._work: asyncio.Task[None] | None = None
        self.sizes: list[int] = []
        """Samples in each of the latest waves, for whoever wants to see how well asks are put together."""

    async def draw(self, policy: Policy, request: Request) -> Samples:
        """The samples of one request; what is sampled for nobody is given up within 16 tokens."""
        done: asyncio.Future[Samples] = asyncio.get_running_loop().create_future()
        wanted = Request(request.prompt, request.seeds, request.sampling, request.max_tokens, done.cancelled)
        self._waiting.append(_Ask(policy, wanted, done))
        if self._work is None or self._work.done():
            self._work = asyncio.get_running_loop().create_task(self._serve())
        return await done

    async def _serve(self) -> None:
        await asyncio.sleep(LINGER_S)
        while wave := self._take():
            self.sizes = [*self.sizes[-99:], sum(len(ask.request.seeds) for ask in wave)]
            try:
                groups = await asyncio.get_running_loop().run_in_executor(_THREAD, _run, wave)
            except Exception as error:  # it belongs to those who asked, whatever it is
                for ask in wave:
                    if not ask.done.done():
                        ask.done.set_exception(error)
            else:
                for ask, drawn in zip(wave, groups, strict=True):
                    if not ask.done.done():
                        ask.done.set_result(drawn)

    def _take(self) -> list[_Ask]:
        """The asks of one policy, oldest first, as many as are computed side by side."""
        self._waiting = [ask for ask in self._waiting if not ask.done.done()]
        wave: list[_Ask] = []
        room = ROWS
        for ask in self._waiting:
            if ask.policy is self._waiting[0].policy and (not wave or len(ask.request.seeds) <= room):
                wave.append(ask)
                room -= len(ask.request.seeds)
        self._waiting = [ask for ask in self._waiting if ask not in wave]
        return wave


def _run(wave: Sequence[_Ask]) -> list[Samples]:
    policy = wave[0].policy
    with policy.active() as module:
        requests = [ask.request for ask in wave]
        groups = generate(module, policy.base.vocabulary, requests, rows=ROWS)
        return [Samples(policy.version, drawn) for drawn in groups]


_WAVES: WeakKeyDictionary[Base, PerLoop[Waves]] = WeakKeyDictionary()


async def waves(base: Base) -> Waves:
    """The waves of this base in the running event loop: all policies on it share them."""
    return await _WAVES.setdefault(base, PerLoop(Waves)).get()
