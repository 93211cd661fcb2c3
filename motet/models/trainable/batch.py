"""Many asks, few passes: asks that arrive together, or while the module is busy, are sampled as one batch."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import msgspec

from motet.errors import BadRequest
from motet.models._loops import PerLoop
from motet.models.trainable.sample import Drawing, Drawn, Request, generate
from motet.models.trainable.weights import Base, Policy

T = TypeVar("T")
LINGER_S = 0.002
ROWS = 64
"""How many samples are computed side by side."""
_SPLIT = "thoughts and kept texts need all weights in one process; launch without FSDP"

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
        wanted = msgspec.structs.replace(request, gone=done.cancelled)
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
    version, groups = drawn(wave[0].policy, [ask.request for ask in wave])
    return [Samples(version, group) for group in groups]


def drawn(policy: Policy, requests: Sequence[Request]) -> Drawing:
    """Draw samples of one policy, in all processes where there are several.

    Raises:
        BadRequest: something comes before the prompt, and the weights are split among processes.
    """
    base = policy.base
    apart = any(request.start for request in requests)
    if base.draw and not apart:
        return base.draw(policy, requests)
    if base.sharded:
        raise BadRequest(_SPLIT)
    with policy.active() as module:
        return policy.version, generate(module, base.vocabulary, requests, rows=ROWS)


_WAVES: WeakKeyDictionary[Base, PerLoop[Waves]] = WeakKeyDictionary()


async def waves(base: Base) -> Waves:
    """The waves of this base in the running event loop: all policies on it share them."""
    return await _WAVES.setdefault(base, PerLoop(Waves)).get()


async def compute(policy: Policy, work: Callable[[Any], T]) -> T:
    """Have the thread that computes do some work with the policy's module.

    Raises:
        BadRequest: the weights are split among processes, and only this one would do it.
    """
    if policy.base.sharded:
        raise BadRequest(_SPLIT)

    def done() -> T:
        with policy.active() as module:
            return work(module)

    return await asyncio.get_running_loop().run_in_executor(_THREAD, done)
