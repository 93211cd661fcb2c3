"""Messages and knobs in the shape of OpenAI's chat completions."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from motet.errors import BadRequest
from motet.types import Media, Message, Part, Sampling, Text, ToolCall, ToolResult


def request(model: str, messages: Sequence[Message], n: int, sampling: Sampling) -> dict[str, Any]:
    """The body of a request. Knobs at None are left to the server.

    Raises:
        BadRequest: a part of a message has no form on the wire.
    """
    knobs: dict[str, Any] = {
        "n": n if n > 1 else None,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "top_k": sampling.top_k,
        "min_p": sampling.min_p,
        "max_tokens": sampling.max_tokens,
        "seed": sampling.seed,
        "stop": list(sampling.stop) or None,
        "logprobs": sampling.logprobs or None,
    }
    if sampling.schema is not None:
        schema = {"name": "reply", "schema": sampling.schema, "strict": is_strict(sampling.schema)}
        knobs["response_format"] = {"type": "json_schema", "json_schema": schema}
    if sampling.tools:
        tools = msgspec.to_builtins(sampling.tools)
        knobs["tools"] = [{"type": "function", "function": tool} for tool in tools]
        named = sampling.tool_choice not in ("auto", "none", "required")
        choice = {"type": "function", "function": {"name": sampling.tool_choice}}
        knobs["tool_choice"] = choice if named else sampling.tool_choice
    spoken = [turn for message in messages for turn in _turns(message)]
    return {"model": model, "messages": spoken} | {k: v for k, v in knobs.items() if v is not None}


def is_strict(schema: Any) -> bool:
    """Whether OpenAI can promise this schema: every object closed, every property required."""
    if isinstance(schema, Mapping):
        properties = schema.get("properties")
        if schema.get("type") == "object" or isinstance(properties, Mapping):
            closed = schema.get("additionalProperties") is False
            if not closed or set(schema.get("required", ())) != set(properties or ()):
                return False
        return all(is_strict(value) for value in schema.values())
    return all(is_strict(item) for item in schema) if isinstance(schema, list) else True


def _turns(message: Message) -> Iterator[dict[str, Any]]:
    """One message of ours: each tool result is a turn of its own, the rest is one."""
    rest: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolResult):
            yield {"role": "tool", "tool_call_id": part.id, "content": part.text}
        else:
            rest.append(part)
    if not rest and message.parts:
        return
    turn: dict[str, Any] = {"role": message.role, "content": _content(rest)}
    if calls := [part for part in rest if isinstance(part, ToolCall)]:
        turn["content"] = turn["content"] or None
        turn["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in calls
        ]
    yield turn


def _content(parts: list[Part]) -> str | list[dict[str, Any]]:
    """Words alone go as a string, which every server takes; with media they go as a list."""
    if not any(isinstance(part, Media) for part in parts):
        return "\n".join(part.text for part in parts if isinstance(part, Text))
    return [
        _media(part) if isinstance(part, Media) else {"type": "text", "text": part.text}
        for part in parts
        if isinstance(part, (Media, Text))
    ]


def _media(part: Media) -> dict[str, Any]:
    if part.data is None:
        raise BadRequest(
            f"the bytes of {part.kind} {part.digest!r} are not at hand; load it from the store first"
        )
    encoded = base64.b64encode(part.data).decode()
    link = f"data:{part.media_type};base64,{encoded}"
    if part.kind == "audio":
        subtype = part.media_type.partition("/")[2].removeprefix("x-")
        sound = {"data": encoded, "format": "mp3" if subtype == "mpeg" else subtype}
        return {"type": "input_audio", "input_audio": sound}
    if part.kind == "file":
        return {"type": "file", "file": {"filename": part.name or part.digest, "file_data": link}}
    return {"type": f"{part.kind}_url", f"{part.kind}_url": {"url": link}}
