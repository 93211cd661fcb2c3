"""A run played again without some of its voices: everybody else says what they said.

A voice that is left out is silent; in a world, where a seat cannot stay empty, somebody else takes it. Only
where the silence reaches, that is where a voice is asked what it was not asked on the tape, is a model
asked anew, with the run's seed. A team that counts votes needs no model at all for its replays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import msgspec

from motet.agent import Agent
from motet.errors import ModelError, NoAnswer
from motet.models.protocol import Model
from motet.tape import CALL, Called, Tape
from motet.tape.context import CallContext
from motet.tape.keys import digest, without_bytes
from motet.teams import Team
from motet.types import Failure, Message, Reply, Sampling, Usage

Said = dict[tuple[str, str, int], Reply | Failure]
"""What was said on a tape, by voice, hash of what it was asked, and sample index."""


def without(team: Team[...], tape: Tape, absent: frozenset[str], instead: Model | None = None) -> Team[...]:
    """The team that plays the tape again while some of its voices are silent.

    Args:
        absent: their names on the tape (`debaters_2`, `critic/writer`).
        instead: who takes their places; None leaves them silent.
    """
    said = _said(tape)

    def heard(member: Agent | Team[...]) -> Agent | Team[...]:
        if isinstance(member, Team):
            return again(member)
        return replace(member, model=_Heard(cast("Model", member.model), said, absent, instead))

    def again(band: Team[...]) -> Team[...]:
        return replace(band, parts={v: tuple(map(heard, members)) for v, members in band.parts.items()})

    return again(team)


class _Again(ModelError):
    """The failure that is on the tape."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self._failure = failure

    @property
    def failure(self) -> Failure:
        return self._failure


class _Heard:
    """A model in a replay."""

    def __init__(
        self,
        model: Model,
        said: Mapping[Any, Reply | Failure],
        absent: frozenset[str],
        instead: Model | None,
    ) -> None:
        self._model, self._said, self._absent, self._instead = model, said, absent, instead
        self.name, self.identity = model.name, model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        context = CALL.get() or CallContext()
        if context.voice in self._absent:
            if self._instead:
                return await self._instead.sample(messages, n, sampling)
            raise NoAnswer(f"{context.voice} was left out")
        asked = _asked(messages)
        return [
            await self._one(messages, sampling, context, self._said.get((context.voice, asked, index)), index)
            for index in range(context.index, context.index + n)
        ]

    async def _one(
        self,
        messages: Sequence[Message],
        sampling: Sampling,
        context: CallContext,
        known: Reply | Failure | None,
        index: int,
    ) -> Reply:
        if isinstance(known, Failure):
            raise _Again(known)
        if known:
            return known
        token = CALL.set(msgspec.structs.replace(context, index=index))
        try:
            (reply,) = await self._model.sample(messages, 1, sampling)
        finally:
            CALL.reset(token)
        return reply


def _said(tape: Tape) -> Said:
    return {_place(tape, call): _reply(tape, call) for call in tape.calls}


def _place(tape: Tape, call: Called) -> tuple[str, str, int]:
    return call.voice, _asked(tape.path(call.prompt)), int(call.key.rpartition("/")[2])


def _reply(tape: Tape, call: Called) -> Reply | Failure:
    if call.failure:
        return call.failure
    node = tape.nodes[call.node]
    return Reply(
        message=Message(node.role, node.parts),
        stop=call.stop,
        usage=Usage(calls=1),
        model=call.model,
        version=call.version,
        cost=0.0,
        cached=True,
    )


def _asked(messages: Sequence[Message]) -> str:
    return digest(*[(m.role, without_bytes(m.parts)) for m in messages])
