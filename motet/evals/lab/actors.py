"""Simulated solvers that act in the forms which some methods need, as well as their skill allows."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from motet.models.protocol import Model
from motet.tape.context import CALL, CallContext
from motet.types import Message, Reply, Sampling

Act = Callable[[list[str], Sampling, str], str]
"""What becomes of a solver's reply, given what it was told and how it was to sample."""

EACH = 3  # parts of a plan
WORK = "work.py"


@dataclass(frozen=True)
class Actor:
    """A solver whose replies are put into another form.

    Args:
        fresh: whether it answers without a look at what others, or it, said before.
    """

    model: Model
    act: Act
    fresh: bool = False

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> str:
        return self.model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Ask the solver, and put its replies into form."""
        said = [message.text for message in messages]
        token = CALL.set(_unread(CALL.get())) if self.fresh else None
        try:
            replies = await self.model.sample(messages, n, sampling)
        finally:
            if token:
                CALL.reset(token)
        acted = [self.act(said, sampling, reply.text) for reply in replies]
        return [
            msgspec.structs.replace(reply, message=Message.say("assistant", text))
            for reply, text in zip(replies, acted, strict=True)
        ]


def leader(model: Model) -> Model:
    """One who plans several things, and gives them to everybody in turn."""
    return Actor(model, _dealt)


def reader(model: Model) -> Model:
    """One who sees the topic of a question, and names it when asked for skills."""

    def act(said: list[str], sampling: Sampling, text: str) -> str:
        found = re.search(r"\(Topic: (\w+)", said[-1])
        asked = sampling.schema and "skills" in sampling.schema.get("properties", {})
        return msgspec.json.encode({"skills": [found[1] if found else "sums"]}).decode() if asked else text

    return Actor(model, act)


def stumbler(model: Model) -> Model:
    """One whose wrong queries do not run, every second of them."""
    return Actor(model, lambda _, __, text: re.sub(r"SELECT (?='wrong answer \d*[02468]')", "SELEKT ", text))


def mender(model: Model) -> Model:
    """One who writes the answer it knows into the repository's file, and then finishes."""

    def act(said: list[str], _: Sampling, text: str) -> str:
        if done := re.search(r"So far:.*?# (Answer: \S+)", said[-1], re.DOTALL | re.IGNORECASE):
            return f"FINISH\n{done[1]}"
        answer = re.search(r"Answer: (\S+)", text)
        new = f"    return {answer[1]}  # Answer: {answer[1]}" if answer else ""
        return f"EDIT {WORK}\n<<<<\n    return 0\n====\n{new}\n>>>>" if answer else text

    return Actor(model, act, fresh=True)


def _unread(context: CallContext | None) -> CallContext | None:
    return msgspec.structs.replace(context, sources=()) if context else None


def _dealt(_: list[str], sampling: Sampling, text: str) -> str:
    try:
        return msgspec.json.encode(_deal(msgspec.json.decode(text), sampling.schema or {})).decode()
    except msgspec.DecodeError:
        return text


def _deal(value: Any, schema: Any) -> Any:
    """The value with `EACH` elements, or as many as may be, in each list of things or names: all like the
    first (a simulated solver knows one thing), but numbered, and with the names in turn."""
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        dealt = {k: _deal(v, parts.get(k, {})) for k, v in value.items()}
        return dealt | ({"next": _next(parts["next"])} if "next" in parts else {})
    items = schema.get("items", {})
    if not isinstance(value, list) or not value or not ("enum" in items or "properties" in items):
        return value
    size = min(max(EACH, len(value)), schema.get("maxItems", EACH))
    return [_nth(value[0], items, i) for i in range(size)]


def _next(schema: Any) -> Any:
    """Another name each time that more has been said."""
    names = next(part["enum"] for part in schema.get("anyOf", [schema]) if "enum" in part)
    context = CALL.get()
    return names[len(context.sources if context else ()) % len(names)]


def _nth(value: Any, schema: Any, i: int) -> Any:
    if "enum" in schema:
        return schema["enum"][i % len(schema["enum"])]
    if isinstance(value, dict):
        return {k: _nth(v, schema.get("properties", {}).get(k, {}), i) for k, v in value.items()}
    return f"Part {i + 1}. {value}" if isinstance(value, str) else value
