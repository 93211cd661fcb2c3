"""What the formats of trainers have in common: messages as chat templates want them, and calls with marks."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from motet.errors import BadInput
from motet.tape.events import Called
from motet.tape.export.arguments import read_arguments
from motet.tape.tape import Tape
from motet.types import Media, Message, Part, Text, ToolCall, ToolResult


def chat(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Messages as Hugging Face chat templates take them. Media are named, not carried."""
    return [_message(message) for message in messages]


def _message(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": "\n".join(_words(message.parts))}
    if calls := message.tool_calls:
        said["tool_calls"] = [_tool_call(call) for call in calls]
    for part in message.parts:
        if isinstance(part, ToolResult):
            said |= {"name": part.name, "tool_call_id": part.id}
    return said


def _words(parts: Sequence[Part]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, Text | ToolResult):
            yield part.text
        elif isinstance(part, Media):
            yield f"[{part.kind} {part.media_type} {part.digest}]"


def _tool_call(call: ToolCall) -> dict[str, Any]:
    function = {"name": call.name, "arguments": read_arguments(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def json_lines(rows: Sequence[Mapping[str, Any]]) -> str:
    """One JSON object a line."""
    return b"".join(msgspec.json.encode(row) + b"\n" for row in rows).decode()


class Marked(Struct, frozen=True):
    """A call that was answered, and its mark in [0, 1]."""

    tape: Tape
    call: Called
    mark: float

    @property
    def prompt(self) -> list[dict[str, Any]]:
        """What was asked, from the system message on."""
        return chat(self.tape.path(self.call.prompt))

    @property
    def completion(self) -> list[dict[str, Any]]:
        """What was said: one message."""
        return chat(self.tape.path(self.call.node)[-1:])

    @property
    def source(self) -> str:
        """`RUN/ID` of the call."""
        return f"{self.tape.run}/{self.call.id}"


def marked(runs: Sequence[Tape]) -> list[Marked]:
    """The calls that were answered, each with its own mark; without one, with that of its run, if the answer
    came of it. Whether a reply that lost a vote was right is not known.

    Raises:
        BadInput: nothing is marked.
    """
    found = []
    for tape in runs:
        own = {score.call: score.value for score in tape.scores if score.call}
        told = _behind(tape)
        for call in tape.calls:
            mark = own.get(call.id, tape.score if call.id in told else None)
            if call.node and mark is not None:
                found.append(Marked(tape, call, mark))
    if not found:
        names = ", ".join(tape.run for tape in runs[:5])
        raise BadInput(
            f"no call of the runs {names or '(none given)'} has a mark, and nothing can be learnt from runs "
            "without one; run them with `motet compare` or `motet run --target`, or append `Scored` events"
        )
    return found


def _behind(tape: Tape) -> set[str]:
    """The calls that the answer came of, by edges; all of them, where the team kept no edge to its answer."""
    calls = {call.id: call for call in tape.calls}
    found: set[str] = set()
    ahead = list(tape.ended.parents if tape.ended else ()) or list(calls)
    while ahead:
        if (one := ahead.pop()) in calls and one not in found:
            found.add(one)
            ahead += calls[one].parents
    return found


def answering(calls: Sequence[Marked]) -> list[Marked]:
    """Those from which the answer of their run was taken: the ones that a gold answer speaks of."""
    return [c for c in calls if (ended := c.tape.ended) and c.call.id in ended.parents]
