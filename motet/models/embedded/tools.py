"""Tools for models that were taught none: a schema that allows only valid calls, and words about them."""

import json
from typing import Any

from motet.errors import BadRequest
from motet.types import Sampling, ToolSpec

_COMPACT = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
"""Free white space lets a small model wander: it fills its reply with line breaks."""

_CALL = 'You can use tools. To use one, answer with JSON: {"tool": "its name", "arguments": {...}}.'
_ANSWER = 'To answer without a tool, answer with JSON: {"answer": "your answer"}.'


def offered(sampling: Sampling) -> list[ToolSpec]:
    """The tools that may be called.

    Raises:
        BadRequest: `tool_choice` names a tool that is not there.
    """
    if sampling.tool_choice in ("auto", "required"):
        return list(sampling.tools)
    found = [tool for tool in sampling.tools if tool.name == sampling.tool_choice]
    if not found and sampling.tool_choice != "none":
        names = ", ".join(tool.name for tool in sampling.tools)
        raise BadRequest(
            f"tool_choice is {sampling.tool_choice!r}; expected auto, none, required or a tool ({names})"
        )
    return found


def described(sampling: Sampling) -> str:
    """What the model is told about its tools; empty without any."""
    tools = offered(sampling) if sampling.tools else []
    if not tools:
        return ""
    lines = [f"- {tool.name}: {tool.description} Arguments: {json.dumps(tool.parameters)}" for tool in tools]
    ways = [_CALL, _ANSWER] if sampling.tool_choice == "auto" else [_CALL]
    return "\n".join([*ways, "Tools:", *lines])


def call_schema(sampling: Sampling) -> dict[str, Any]:
    """A JSON schema of one call of an offered tool or, when the choice is free, an answer."""
    branches = [
        _object(tool={"const": tool.name}, arguments=_nested(tool.parameters)) for tool in offered(sampling)
    ]
    if sampling.tool_choice == "auto":
        answer = {"type": "string"} if sampling.schema is None else _nested(sampling.schema)
        branches.append(_object(answer=answer))
    definitions: dict[str, Any] = {}
    for schema in [*(tool.parameters for tool in offered(sampling)), sampling.schema or {}]:
        for name, definition in schema.get("$defs", {}).items():
            if definitions.setdefault(name, definition) != definition:
                raise BadRequest(f"two schemas define {name!r} differently under $defs; rename one")
    return strict({"anyOf": branches} | ({"$defs": definitions} if definitions else {}))


def strict(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with nothing left open: no white space to wander in, no properties that were not named."""
    return {**_closed(schema), "x-guidance": _COMPACT}


def _nested(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema inside another: references still start at the root, so its definitions move there."""
    return {key: value for key, value in schema.items() if key != "$defs"}


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def _closed(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {
        key: value if key in ("const", "enum", "default") else _closed(value) for key, value in schema.items()
    }
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed
