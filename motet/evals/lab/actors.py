"""Simulated solvers that act in the forms which some methods need, as well as their skill allows."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from motet.models.protocol import Model
from motet.types import Message, Reply, Sampling

Act = Callable[[list[str], Sampling, str], str]
"""What becomes of a solver's reply, given what it was told and how it was to sample."""

EACH = 3
WORK = "work.py"


@dataclass(frozen=True)
class Actor:
    """A solver whose replies are put into another form.

    Args:
        wider: how many elements a list of things or names has at least, where it may.
    """

    model: Model
    act: Act
    wider: int = 0

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> str:
        return self.model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Ask the solver, and put its replies into form."""
        asked = sampling.but(schema=_widened(sampling.schema, self.wider)) if self.wider else sampling
        said = [message.text for message in messages]
        replies = await self.model.sample(messages, n, asked)
        acted = [self.act(said, sampling, reply.text) for reply in replies]
        return [
            msgspec.structs.replace(reply, message=Message.say("assistant", text))
            for reply, text in zip(replies, acted, strict=True)
        ]


def leader(model: Model) -> Model:
    """One who gives work to everybody: the i-th place in a list goes to the i-th name."""
    return Actor(model, _dealt, EACH)


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
        answer = re.search(r"Answer: (\S+)", text)
        if "What you did so far" in said[-1] or not answer:
            return f"FINISH\n{text}"
        new = f"    return {answer[1]}  # Answer: {answer[1]}"
        return f"EDIT {WORK}\n<<<<\n    return 0\n====\n{new}\n>>>>"

    return Actor(model, act)


def _widened(schema: Any, n: int) -> Any:
    """The schema, with lists of things or names of at least `n` elements, or as many as may be."""
    if isinstance(schema, list):
        return [_widened(part, n) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _widened(part, n) for key, part in schema.items()}
    items = schema.get("items", {})
    if "enum" in items or "properties" in items:
        most = schema.get("maxItems", n)
        made["minItems"] = max(schema.get("minItems", 0), min(n, most))
    return made


def _dealt(_: list[str], sampling: Sampling, text: str) -> str:
    try:
        return msgspec.json.encode(_deal(msgspec.json.decode(text), sampling.schema or {}, 0)).decode()
    except msgspec.DecodeError:
        return text


def _deal(value: Any, schema: Any, place: int, listed: bool = False) -> Any:
    """The value, with names in lists dealt out in turn."""
    if listed and "enum" in schema:
        return schema["enum"][place % len(schema["enum"])]
    if isinstance(value, list):
        return [_deal(v, schema.get("items", {}), i, True) for i, v in enumerate(value)]
    if isinstance(value, dict):
        parts = schema.get("properties", {})
        return {k: _deal(v, parts.get(k, {}), place, listed) for k, v in value.items()}
    return value
