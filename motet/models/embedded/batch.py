"""Many asks, few engine requests: what is equal is sampled together, what begins equal is computed once.

Asks that arrive within two milliseconds, or while all slots are busy, form a wave. In a wave

- asks with equal prompt and options become one request with `n`, which computes the prompt once;
- prompts that begin alike have their common beginning computed in one slot and copied to the others
  (a copy of 512 tokens takes 4 ms, computing them 1.5 s on two cores);
- each request goes to the slot that holds most of its prompt from earlier turns.

A sample is known by its seed, and a request with `n` gives consecutive seeds: so what a sample is does not
depend on which others it was drawn with.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import msgspec

from motet.errors import ContextOverflow
from motet.models._loops import PerLoop
from motet.models.embedded.llama import Choice, OnPiece

LINGER_S = 0.002
MIN_SHARED = 32
"""Tokens that a common beginning must have: computing as many takes as long as copying them, with room."""
DEFAULT_MAX_TOKENS = 256
KEPT_PROMPTS = 256

Listener = Callable[[str], None]


class Engine(Protocol):
    """What is asked of an engine; `motet.models.embedded.llama.Llama` is the real one."""

    n_ctx: int
    slots: int
    held: dict[int, tuple[int, ...]]
    """What each idle slot is thought to hold, least recently used first."""

    async def encode(self, chat: str) -> tuple[int, ...]: ...

    async def complete(
        self,
        prompt: Sequence[int],
        n: int,
        slot: int,
        options: dict[str, Any],
        on_piece: OnPiece | None = None,
    ) -> list[Choice]: ...

    async def warm(self, prompt: Sequence[int], slot: int) -> int: ...

    async def copy(self, source: int, targets: Sequence[int]) -> None: ...

    def __hash__(self) -> int: ...


class Ask(NamedTuple):
    """What decides a sample besides its seed.

    Args:
        chat: the messages as the chat template takes them, in JSON.
        options: the engine's options, in JSON.
        max_tokens: how long the reply may be; None means 256, or what still fits.
    """

    chat: str
    options: str
    max_tokens: int | None


class Drawn(NamedTuple):
    """The ids of the prompt, and the samples; each knows how much of the prompt it had for nothing."""

    prompt: tuple[int, ...]
    choices: list[Choice]


class _Request(NamedTuple):
    """An ask as the engine takes it: ids, and options in JSON."""

    prompt: tuple[int, ...]
    options: str


@dataclass(eq=False)
class _Cell:
    """One sample that is wanted, by one asker or several."""

    seed: int
    done: asyncio.Future[Drawn]
    askers: int = 0
    listeners: list[Listener] = field(default_factory=list)
    job: "_Job | None" = None


@dataclass(eq=False)
class _Job:
    """A request on its way: samples with consecutive seeds, and the slots they will lie in."""

    request: _Request
    cells: list[_Cell]
    slots: list[int] = field(default_factory=list)
    computed: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def prompt(self) -> tuple[int, ...]:
        return self.request.prompt


class Batcher:
    """Draws samples from one engine, for one event loop."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked: dict[Ask, dict[int, _Cell]] = {}
        self._queue: dict[_Request, list[_Cell]] = {}
        self._busy: set[int] = set()
        self._prompts: dict[str, tuple[int, ...]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def draw(self, ask: Ask, seeds: Iterable[int], listener: Listener | None = None) -> Drawn:
        """The samples with these seeds; `listener` hears the first of them as it grows.

        Raises:
            ContextOverflow: the prompt, or it and the reply, do not fit a slot. ModelError: the engine's.
        """
        if not self._asked:
            asyncio.get_running_loop().call_later(LINGER_S, self._flush)
        pending = self._asked.setdefault(ask, {})
        cells = [pending.setdefault(seed, _Cell(seed, asyncio.Future())) for seed in seeds]
        if listener:
            cells[0].listeners.append(listener)
        for cell in cells:
            cell.askers += 1
        try:
            await asyncio.wait([cell.done for cell in cells])
        except asyncio.CancelledError:
            self._leave(cells)
            raise
        drawn = [cell.done.result() for cell in cells]
        return Drawn(drawn[0].prompt, [one for each in drawn for one in each.choices])

    def _leave(self, cells: list[_Cell]) -> None:
        """Forget an asker; a request that nobody waits for any more is given up."""
        for cell in cells:
            cell.askers -= 1
        for job in {cell.job for cell in cells if cell.job}:
            if job.task and not any(cell.askers for cell in job.cells):
                job.task.cancel()

    def _flush(self) -> None:
        asked, self._asked = self._asked, {}
        self._spawn(self._enqueue(asked))

    async def _enqueue(self, asked: dict[Ask, dict[int, _Cell]]) -> None:
        """Put asks in the queue; chats that are new are turned into ids first."""
        new = [chat for chat in dict.fromkeys(ask.chat for ask in asked) if chat not in self._prompts]
        encoded = await asyncio.gather(*map(self._engine.encode, new), return_exceptions=True)
        found = dict(zip(new, encoded, strict=True))
        for ask, cells in asked.items():
            with _handing_on(cells.values()):
                prompt = found.get(ask.chat) or self._prompts[ask.chat]
                if isinstance(prompt, BaseException):
                    raise prompt
                options = json.loads(ask.options) | {"n_predict": self._room(len(prompt), ask.max_tokens)}
                request = _Request(prompt, json.dumps(options))
                self._queue.setdefault(request, []).extend(cells.values())
        self._prompts |= {chat: ids for chat, ids in found.items() if not isinstance(ids, BaseException)}
        while len(self._prompts) > KEPT_PROMPTS:
            self._prompts.pop(next(iter(self._prompts)))
        self._admit()

    def _room(self, prompt: int, max_tokens: int | None) -> int:
        """How many tokens the reply may have."""
        wanted, available = max_tokens or 1, self._engine.n_ctx
        if prompt + wanted > available:
            raise ContextOverflow(
                f"the prompt has {prompt} tokens and the reply wants {wanted}: {prompt + wanted} needed, "
                f"{available} available; shorten the prompt, lower max_tokens or raise n_ctx"
            )
        return max_tokens or min(DEFAULT_MAX_TOKENS, available - prompt)

    def _admit(self) -> None:
        """Start what is at the head of the queue and finds free slots, as one wave."""
        idle = [slot for slot in self._engine.held if slot not in self._busy]
        wave = self._take(len(idle))
        if not wave:
            return
        _place(wave, list(idle), self._engine.held)
        ready = self._spawn(self._share(wave, idle))
        for job in wave:
            self._busy.update(job.slots)
            job.task = self._spawn(self._run(job, ready))
            for cell in job.cells:
                cell.job = job

    def _take(self, free: int) -> list[_Job]:
        """Jobs for at most `free` samples, off the queue, in order of arrival."""
        wave: list[_Job] = []
        for request, cells in list(self._queue.items()):
            runs = _runs([cell for cell in cells if cell.askers], self._engine.slots)
            while runs and len(runs[0]) <= free:
                wave.append(_Job(request, runs.pop(0)))
                free -= len(wave[-1].cells)
            if runs:
                self._queue[request] = [cell for run in runs for cell in run]
                break
            del self._queue[request]
        return wave

    async def _share(self, wave: list[_Job], idle: list[int]) -> None:
        """Compute each beginning that several jobs of the wave have in common once."""
        held, own = self._engine.held, {slot for job in wave for slot in job.slots}
        for jobs, prefix in _families(wave):

            def there(slot: int, prefix: tuple[int, ...] = prefix) -> int:
                return common(held[slot], prefix)

            cold = [job for job in jobs if len(prefix) - there(job.slots[0]) >= MIN_SHARED]
            source = max((slot for slot in idle if slot in own or slot not in self._busy), key=there)
            if len(cold) > 1 and len(prefix) - there(source) >= MIN_SHARED:
                first = max(jobs, key=lambda job: there(job.slots[0]))
                source = first.slots[0]
                first.computed = await self._engine.warm(prefix, source)
                held[source] = prefix
            targets = [job.slots[0] for job in cold if there(source) - there(job.slots[0]) >= MIN_SHARED]
            if targets:
                await self._engine.copy(source, targets)
                held.update(dict.fromkeys(targets, held[source]))

    async def _run(self, job: _Job, ready: asyncio.Task[None]) -> None:
        held = self._engine.held
        try:
            with _handing_on(job.cells):
                await asyncio.wait([ready])
                ready.result()
                held.update(dict.fromkeys(job.slots, ()))
                options = json.loads(job.request.options) | {"seed": job.cells[0].seed}
                tell = _teller(job)
                choices = await self._engine.complete(job.prompt, len(job.cells), job.slots[0], options, tell)
                for number, (cell, choice) in enumerate(zip(job.cells, choices, strict=True)):
                    # The prompt was computed for the first sample; the others have it for nothing.
                    cached = len(job.prompt) if number else max(0, choice.cached - job.computed)
                    cell.done.set_result(Drawn(job.prompt, [msgspec.structs.replace(choice, cached=cached)]))
                # llama.cpp does not reuse the slots of further samples. To the end: most recently used.
                held.pop(choices[0].slot, None)
                held[choices[0].slot] = job.prompt + choices[0].ids[:-1]
        finally:
            self._busy.difference_update(job.slots)
            for cell in job.cells:
                cell.done.cancel()  # nothing happens to one that is done
            asyncio.get_running_loop().call_soon(self._admit)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def _teller(job: _Job) -> OnPiece | None:
    """What passes pieces of text on to whoever listens, or None when nobody does."""
    if not any(cell.listeners for cell in job.cells):
        return None

    def tell(number: int, text: str) -> None:
        for listener in job.cells[number].listeners:
            listener(text)

    return tell


@contextmanager
def _handing_on(cells: Iterable[_Cell]) -> Iterator[None]:
    """Whatever goes wrong, a bug too, goes to those who asked: they would wait for ever otherwise."""
    try:
        yield
    except Exception as error:
        for cell in cells:
            if not cell.done.done():
                cell.done.set_exception(error)
                cell.done.exception()  # seen: an asker who has left will not look


def _place(wave: list[_Job], idle: list[int], held: dict[int, tuple[int, ...]]) -> None:
    """Give each job its slots; llama.cpp puts all but the first sample into the lowest idle ones."""
    for job in sorted(wave, key=lambda job: -len(job.cells)):
        # What a slot brings, less what it would lose of somebody else's history.
        first = max(idle, key=lambda slot: 2 * common(held[slot], job.prompt) - len(held[slot]))
        idle.remove(first)
        job.slots = [first, *sorted(idle)[: len(job.cells) - 1]]
        idle[:] = [slot for slot in idle if slot not in job.slots]


def _runs(cells: list[_Cell], most: int) -> list[list[_Cell]]:
    """Cells in groups with consecutive seeds, at most `most` in each."""
    runs: list[list[_Cell]] = []
    for cell in sorted(cells, key=lambda cell: cell.seed):
        if runs and cell.seed == runs[-1][-1].seed + 1 and len(runs[-1]) < most:
            runs[-1].append(cell)
        else:
            runs.append([cell])
    return runs


def _families(wave: list[_Job]) -> list[tuple[list[_Job], tuple[int, ...]]]:
    """Jobs whose prompts begin alike, with that beginning; a job joins where that saves most."""
    families: list[tuple[list[_Job], tuple[int, ...]]] = []
    for job in sorted(wave, key=lambda job: job.prompt):
        if families:
            jobs, prefix = families[-1]
            shared = common(prefix, job.prompt)
            if shared >= MIN_SHARED and len(jobs) * shared >= (len(jobs) - 1) * len(prefix):
                families[-1] = [*jobs, job], prefix[:shared]
                continue
        families.append(([job], job.prompt))
    return families


def common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens two sequences have in common at their beginning."""
    size = min(len(one), len(other))
    return next((i for i in range(size) if one[i] != other[i]), size)


@cache
def _batchers(engine: Engine) -> PerLoop[Batcher]:
    return PerLoop(partial(Batcher, engine))


async def batcher(engine: Engine) -> Batcher:
    """The batcher of this engine in the running event loop: all who use the engine share it."""
    return await _batchers(engine).get()
