"""The one place where a model is asked: key, reuse, budget, sample, record."""

import asyncio
from collections.abc import Sequence

import msgspec
from msgspec import Struct

from motet.errors import ModelError
from motet.models.protocol import Model
from motet.tape import CALL, Asking, CallContext, Called, Delta, Recorder
from motet.tape.keys import request_key, sample_key
from motet.types import Failure, FailureKind, Message, Reply, Sampling, StopReason, Usage


class Thread(Struct, frozen=True):
    """A conversation so far, and the key of its last message in the tape's tree."""

    messages: tuple[Message, ...] = ()
    head: str = ""

    def then(self, message: Message, recorder: Recorder, node: str = "") -> "Thread":
        """The conversation with one more message; `node` is its key if it is on the tape already."""
        messages = self.messages + (message,)  # noqa: RUF005 - copies once; a star copies twice
        return Thread(messages, node or recorder.add(self.head, message))


async def call(
    model: Model,
    thread: Thread,
    sampling: Sampling,
    n: int,
    voice: str,
    recorder: Recorder,
    sources: Sequence[Reply] = (),
) -> list[Reply]:
    """Draw `n` replies and put them on the tape, with the links to what their prompt was made of.

    Args:
        model: whom to ask.
        thread: the conversation to continue.
        n: how many samples.
        voice: who asks.
        sources: earlier replies whose text went into the prompt.

    Returns:
        `n` replies in the order of their sample index; those found in the store are not asked again.

    Raises:
        BudgetExceeded: before anything is asked.
        ModelError: the model failed; every sample that is missing is recorded as failed.
    """
    request = request_key(model.identity, thread.head, sampling, recorder.seed)
    indices = recorder.draw(request, n)
    if recorder.meter:
        recorder.meter.reserve(n)
    asked = _Request(model, thread.head, sampling, voice, recorder, parents_of(sources, recorder), request)
    if not recorder.reuse:
        return await asked.sample(thread.messages, indices, sources)
    replies = {i: asked.answered(i, reply) for i in indices if (reply := recorder.recall(request, i))}
    if missing := [i for i in indices if i not in replies]:
        fresh = await asked.sample(thread.messages, missing, sources)
        replies.update(zip(missing, fresh, strict=True))
    return [replies[i] for i in indices]


def parents_of(sources: Sequence[Reply], recorder: Recorder) -> tuple[str, ...]:
    """Ids of the calls behind these replies, without repeats; a call of another run is `RUN/ID`."""
    own = recorder.tape.run
    found: dict[str, None] = {}
    for reply in sources:
        prefix = "" if reply.run == own else f"{reply.run}/"
        for call_id in (reply.call, *reply.sources):
            if call_id:
                found[f"{prefix}{call_id}"] = None
    return tuple(found)


class _Request(Struct):
    """One request on its way: what its events have in common."""

    model: Model
    prompt: str
    sampling: Sampling
    voice: str
    recorder: Recorder
    parents: tuple[str, ...]
    key: str

    async def sample(
        self, messages: Sequence[Message], indices: Sequence[int], sources: Sequence[Reply]
    ) -> list[Reply]:
        """Ask the model for the samples with these indices and record each, or its failure."""
        recorder = self.recorder
        ids = [recorder.next_id() for _ in indices]
        at, begun, listener = recorder.clock(), recorder.timer(), recorder.listener
        on_delta = None
        if listener:
            listener(Asking(ids[0], self.voice, self.model.name))
            on_delta = lambda text: listener(Delta(ids[0], self.voice, text))  # noqa: E731
        context = CallContext(self.voice, recorder.task, recorder.seed, indices[0], tuple(sources), on_delta)
        token = CALL.set(context)
        try:
            replies = await self.model.sample(messages, len(indices), self.sampling)
        except ModelError as error:
            self.failed(ids, indices, error.failure, at, recorder.timer() - begun, error.usage)
            raise
        except asyncio.CancelledError:
            lost = Failure(FailureKind.CANCELLED, "the call was cancelled before it was answered")
            self.failed(ids, indices, lost, at, recorder.timer() - begun)
            raise
        finally:
            CALL.reset(token)
        latency = recorder.timer() - begun
        return [
            self.answered(index, reply, call_id, at, latency)
            for call_id, index, reply in zip(ids, indices, replies, strict=True)
        ]

    def answered(
        self,
        index: int,
        reply: Reply,
        call_id: str = "",
        at: float | None = None,
        latency: float | None = None,
    ) -> Reply:
        """Record a reply, fresh or from the store, and return it with its place on the tape."""
        recorder = self.recorder
        call_id = call_id or recorder.next_id()
        ids = reply.tokens.ids if reply.tokens else ()
        node = recorder.add(self.prompt, reply.message, ids)
        if reply.tokens:
            recorder.add_tokens(self.prompt, node, reply.tokens)
        latency = reply.latency_s if latency is None else latency
        usage = reply.usage if reply.usage.calls else reply.usage + Usage(calls=1)
        recorder.record(
            Called(
                call_id,
                sample_key(self.key, index),
                self.voice,
                self.model.name,
                self.prompt,
                recorder.clock() if at is None else at,
                node=node,
                parents=self.parents,
                answered_by=reply.model,
                version=reply.version,
                sampling=self.sampling,
                usage=usage,
                cost=reply.cost,
                latency_s=latency,
                stop=reply.stop,
                cached=reply.cached,
            )
        )
        return msgspec.structs.replace(
            reply,
            call=call_id,
            run=recorder.tape.run,
            node=node,
            voice=self.voice,
            usage=usage,
            latency_s=latency,
        )

    def failed(
        self,
        ids: list[str],
        indices: Sequence[int],
        failure: Failure,
        at: float,
        latency: float,
        spent: Usage = Usage(),
    ) -> None:
        """Record the same failure for every sample that was wanted; what was spent goes to the first."""
        for position, (call_id, index) in enumerate(zip(ids, indices, strict=True)):
            self.recorder.record(
                Called(
                    call_id,
                    sample_key(self.key, index),
                    self.voice,
                    self.model.name,
                    self.prompt,
                    at,
                    parents=self.parents,
                    sampling=self.sampling,
                    usage=msgspec.structs.replace(Usage() if position else spent, calls=1),
                    latency_s=latency,
                    stop=StopReason.ERROR,
                    failure=failure,
                )
            )
