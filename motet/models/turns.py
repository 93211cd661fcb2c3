"""Messages as plain turns: chat templates of small models know neither tools nor their results."""

import json
from collections.abc import Sequence
from itertools import groupby

from motet.errors import BadRequest
from motet.models.embedded.tools import described
from motet.types import Media, Message, Part, Sampling, Text, ToolCall, ToolResult


def turns(messages: Sequence[Message], sampling: Sampling) -> list[dict[str, str]]:
    """The messages as a chat template takes them, `role` and `content`.

    Tools are described in the system message, their results are said by the user.

    Raises:
        BadRequest: there is media among them.
    """
    said = [("user" if m.role == "tool" else m.role, words(m)) for m in messages]
    if tools := described(sampling):
        if said and said[0][0] == "system":
            said[0] = "system", f"{said[0][1]}\n\n{tools}"
        else:
            said.insert(0, ("system", tools))
    # Many templates insist that the roles take turns.
    return [
        {"role": role, "content": "\n\n".join(text for _, text in same)}
        for role, same in groupby(said, key=lambda turn: turn[0])
    ]


def words(message: Message) -> str:
    """A message's parts as text."""
    return "\n".join(_written(part) for part in message.parts)


def _written(part: Part) -> str:
    match part:
        case Text(text):
            return text
        case ToolCall(_, name, arguments):
            return f'{{"tool": {json.dumps(name)}, "arguments": {arguments}}}'
        case ToolResult(_, name, text, failed):
            return f"{name} {'failed' if failed else 'answered'}: {text}"
        case Media(kind, media_type):
            raise BadRequest(f"this model reads text only; got {kind} ({media_type!r}): use another model")
