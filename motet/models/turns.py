"""Messages as plain turns, for models whose chat template knows neither tools nor their results."""

import json
from collections.abc import Sequence

from motet.errors import BadRequest
from motet.models.local_tools import described
from motet.types import Media, Message, Part, Sampling, Text, ToolCall, ToolResult


def plain(messages: Sequence[Message], sampling: Sampling) -> list[Message]:
    """The messages in words alone: tools are described in the system message, results go to the user.

    Raises:
        BadRequest: there is media among them.
    """
    turns = [Message.say("user" if m.role == "tool" else m.role, words(m)) for m in messages]
    if tools := described(sampling):
        if turns and turns[0].role == "system":
            turns[0] = Message.say("system", f"{turns[0].text}\n\n{tools}")
        else:
            turns.insert(0, Message.say("system", tools))
    return turns


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
