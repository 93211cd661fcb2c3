"""What every tool must keep to, as a test that plug-in authors can call."""

import re
from typing import Any

import msgspec

from motet.errors import ToolError
from motet.tools.tool import Tool
from motet.types import ToolSpec


async def check_tool(tool: Tool, arguments: dict[str, Any] | None = None) -> None:
    """Check that a tool can be offered to a model.

    Args:
        tool: the tool to check.
        arguments: a harmless call that should succeed; without it the tool is never run.

    Raises:
        AssertionError: says which rule was broken, and by what.
    """
    spec = tool.spec
    assert isinstance(spec, ToolSpec), f"spec must be a ToolSpec, got {spec!r}"
    assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", spec.name), f"{spec.name!r}: letters, digits, _ and - only"
    assert spec.description.strip(), f"{spec.name}: a model needs a description"
    schema = spec.parameters
    assert schema.get("type") == "object", f"{spec.name}: parameters must be an object, got {schema!r}"
    properties = schema.get("properties")
    assert isinstance(properties, dict), f"{spec.name}: parameters need properties, got {schema!r}"
    unknown = set(schema.get("required", [])) - set(properties)
    assert not unknown, f"{spec.name}: required but not described: {sorted(unknown)}"
    text = msgspec.json.encode(schema).decode()
    assert '"$ref"' not in text, f"{spec.name}: write references out in full, not every server resolves them"

    try:
        answer = await tool({"no_such_argument_": 0})
    except ToolError as error:
        assert str(error), f"{spec.name}: the message of a ToolError is what the model reads; it is empty"
    else:
        raise AssertionError(f"{spec.name}: unknown arguments must raise ToolError, got {answer!r}")

    if arguments is not None:
        given = dict(arguments)
        answer = await tool(arguments)
        assert isinstance(answer, str), f"{spec.name}: must answer with text, got {answer!r}"
        assert arguments == given, f"{spec.name}: must not change its arguments"
