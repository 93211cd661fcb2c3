"""A model whose replies are written down: in order, or by rules on who asks and what is asked."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from motet import errors
from motet.errors import BadInput, BadRequest, ModelError
from motet.tape.context import CALL
from motet.tape.keys import digest
from motet.types import Message, Part, Reply, Sampling, StopReason, Text, Tokens, ToolCall, Usage


class Line(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line of a script.

    A line with `agent` or `match` is a rule: it serves every call it fits, `times` times at most. The
    other lines are said once each, in order, when no rule fits.

    Args:
        reply: what is said.
        agent: fits calls of this voice only.
        match: fits when this regular expression is found in the last message.
        times: how often a rule may serve.
        error: fail instead, with this kind (`timeout`, `rate_limit`, `server`, …).
        tool_calls: `[{"name": …, "arguments": {…}}, …]`.
        latency_s: seconds to wait first.
        usage: tokens spent; a fourth of the characters when left out.
        ids, logprobs: sampled tokens, to test what reads them.
    """

    reply: str = ""
    agent: str | None = None
    match: str | None = None
    times: int | None = None
    error: str | None = None
    tool_calls: list[dict[str, Any]] = []
    latency_s: float = 0.0
    usage: Usage | None = None
    ids: tuple[int, ...] = ()
    logprobs: tuple[float, ...] = ()

    def fits(self, voice: str, said: str) -> bool:
        """Whether this rule serves a call."""
        return (self.agent is None or self.agent == voice) and (
            self.match is None or re.search(self.match, said) is not None
        )


FAILURES: dict[str, type[ModelError]] = {
    str(kind.kind): kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, ModelError) and kind is not ModelError
}


class Scripted:
    """Says what is written.

    Args:
        script: strings (said in order) and `Line`s.
        name: shown on the tape.
        cost: US dollars per call.

    Raises:
        BadInput: a line names an unknown kind of error.
    """

    def __init__(self, script: Iterable[str | Line], *, name: str = "scripted", cost: float = 0.0) -> None:
        lines = [Line(line) if isinstance(line, str) else line for line in script]
        for line in lines:
            if line.error is not None and line.error not in FAILURES:
                raise errors.UnknownName("kind of error", line.error, FAILURES)
        self.name = name
        self.identity = f"{name}@{digest(lines)[:12]}"
        self._cost = cost
        self._rules = [line for line in lines if line.agent is not None or line.match is not None]
        self._served = [0] * len(self._rules)
        self._in_order = [line for line in lines if line.agent is None and line.match is None]
        self._next = 0

    @classmethod
    def read(cls, path: str | Path) -> "Scripted":
        """Read a script from a JSONL file; each line is a `Line` as a JSON object, or a string."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise BadInput(f"scripted:{path} cannot be read: {error.strerror}") from error
        lines = []
        for number, line in enumerate(text.splitlines(), 1):
            if line.strip():
                try:
                    lines.append(msgspec.json.decode(line, type=Line | str))
                except msgspec.DecodeError as error:
                    raise BadInput(
                        f"{path}, line {number}: {error}; a line is a string or an object with reply, …"
                    ) from error
        return cls(lines, name=f"scripted:{path}")

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Say the next `n` fitting lines.

        Raises:
            BadRequest: the script has nothing (more) to say to this. ModelError: the line says so.
        """
        context = CALL.get()
        voice = context.voice if context else ""
        return [await self._say(messages, self._pick(voice, messages[-1].text)) for _ in range(n)]

    def _pick(self, voice: str, said: str) -> Line:
        for i, rule in enumerate(self._rules):
            if (rule.times is None or self._served[i] < rule.times) and rule.fits(voice, said):
                self._served[i] += 1
                return rule
        if self._next < len(self._in_order):
            self._next += 1
            return self._in_order[self._next - 1]
        raise BadRequest(
            f"{self.name} has nothing (more) to say to {voice or 'anybody'}, who asked {said[:200]!r}"
        )

    async def _say(self, messages: Sequence[Message], line: Line) -> Reply:
        if line.latency_s:
            await asyncio.sleep(line.latency_s)
        if line.error is not None:
            raise FAILURES[line.error](line.reply or f"the script says {line.error}")
        parts: list[Part] = [Text(line.reply)] if line.reply or not line.tool_calls else []
        for i, wanted in enumerate(line.tool_calls):
            arguments = wanted.get("arguments", {})
            written = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
            parts.append(ToolCall(wanted.get("id", f"call_{i}"), wanted["name"], written))
        spent = Usage(sum(len(m.text) for m in messages) // 4, len(line.reply) // 4)
        context = CALL.get()
        if context and context.on_delta and line.reply:
            context.on_delta(line.reply)
        return Reply(
            message=Message("assistant", tuple(parts)),
            usage=spent if line.usage is None else line.usage,
            stop=StopReason.TOOL_CALLS if line.tool_calls else StopReason.END,
            model=self.name,
            cost=self._cost,
            tokens=Tokens("scripted", (), line.ids, line.logprobs) if line.ids else None,
        )
