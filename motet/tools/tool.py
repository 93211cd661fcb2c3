"""What a tool is, and how an ordinary typed function becomes one.

    @tool
    def weather(city: str, days: int = 1) -> str:
        '''Forecast the weather.

        Args:
            city: name of the city.
            days: how many days ahead.
        '''

The signature becomes the JSON schema the model sees and the check its arguments must pass, so the two
cannot disagree.
"""

import asyncio
import copy
import inspect
import re
from collections.abc import Callable, Hashable, Mapping
from typing import Any, Protocol, get_type_hints, overload, runtime_checkable

import msgspec

from motet.errors import ToolError
from motet.types import ToolCall, ToolSpec

SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Examples?|Notes?):\s*$", re.MULTILINE)
ARGUMENT = re.compile(r"^(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


@runtime_checkable
class Tool(Protocol):
    """Anything a model may call by name.

    Calling it takes the decoded arguments and returns the text that the model is told.

    Raises:
        ToolError: the tool could not do what it was asked; the model is told the message.
    """

    @property
    def spec(self) -> ToolSpec: ...

    async def __call__(self, arguments: dict[str, Any]) -> str: ...


class FunctionTool:
    """A tool made from a typed function; make it with `tool`.

    Args:
        function: sync (it then runs in a thread) or async; it may return any value msgspec can encode.
        name: what the model calls it; the function's own name when empty.
        description: what the model reads of it; the docstring up to its first section when empty.
    """

    def __init__(self, function: Callable[..., Any], name: str = "", description: str = "") -> None:
        self.function = function
        name = name or function.__name__
        summary, about = parse_docstring(function)
        self._arguments = _arguments_struct(function, name)
        schema = _schema(self._arguments)
        for argument, text in about.items():
            if argument in schema["properties"]:
                schema["properties"][argument]["description"] = text
        self._spec = ToolSpec(name, description or summary, schema)

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def __call__(self, arguments: dict[str, Any]) -> str:
        """Check the arguments, call the function, and give its result as text (JSON unless a string)."""
        try:
            # Not strict: models often write "3" for 3.
            checked = msgspec.convert(arguments, self._arguments, strict=False)
        except msgspec.ValidationError as error:
            wanted = msgspec.json.encode(self._spec.parameters["properties"]).decode()
            raise ToolError(f"{self._spec.name}: {error}; got {arguments!r}, expected {wanted}") from error
        values = {name: getattr(checked, name) for name in self._arguments.__struct_fields__}
        if inspect.iscoroutinefunction(self.function):
            result = await self.function(**values)
        else:
            result = await asyncio.to_thread(self.function, **values)
        return result if isinstance(result, str) else msgspec.json.encode(result).decode()

    def __repr__(self) -> str:
        return f"<tool {self._spec.name}>"


@overload
def tool(function: Callable[..., Any], /) -> FunctionTool: ...


@overload
def tool(*, name: str = "", description: str = "") -> Callable[[Callable[..., Any]], FunctionTool]: ...


def tool(
    function: Callable[..., Any] | None = None, /, *, name: str = "", description: str = ""
) -> FunctionTool | Callable[[Callable[..., Any]], FunctionTool]:
    """Make a tool from a typed function: `@tool`, `@tool(name="look_up")` or `tool(function)`.

    Name, description and the descriptions of the arguments come from the function and its docstring.

    Raises:
        TypeError: an argument has no type, or is one that cannot be passed by name.
    """
    if function is None:
        return lambda function: FunctionTool(function, name, description)
    return FunctionTool(function, name, description)


def parse_arguments(call: ToolCall, tool: Tool) -> dict[str, Any]:
    """Decode the JSON text that a model wrote as arguments.

    Raises:
        ToolError: the text is not JSON, or not an object. The message shows what arrived.
    """
    expected = f"expected a JSON object with {list(tool.spec.parameters.get('properties', {}))}"
    try:
        # An empty text is how several models call a tool without arguments.
        arguments = msgspec.json.decode(call.arguments.strip() or "{}")
    except msgspec.DecodeError as error:
        raise ToolError(f"{call.name}: got {call.arguments[:500]!r} ({error}); {expected}") from error
    if not isinstance(arguments, dict):
        raise ToolError(f"{call.name}: got {call.arguments[:500]!r}; {expected}")
    return arguments


def parse_docstring(function: Callable[..., Any]) -> tuple[str, dict[str, str]]:
    """Split a Google-style docstring into its text before the first section and its `Args:`."""
    summary, *sections = SECTION.split(inspect.getdoc(function) or "")
    named = dict(zip(sections[::2], sections[1::2], strict=True))
    about: dict[str, str] = {}
    current = ""
    for line in inspect.cleandoc(named.get("Args", "")).splitlines():
        if match := ARGUMENT.match(line):
            current = match[1]
            about[current] = match[2]
        elif current and line.strip():
            about[current] += " " + line.strip()
    return summary.strip(), about


def _arguments_struct(function: Callable[..., Any], name: str) -> type[msgspec.Struct]:
    hints = get_type_hints(function, include_extras=True)
    fields: list[Any] = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"tool {name!r}: {parameter} cannot be passed by name; write it as name: type")
        if parameter.name not in hints:
            raise TypeError(f"tool {name!r}: {parameter.name!r} needs a type, such as {parameter.name}: str")
        field = (parameter.name, hints[parameter.name])
        if parameter.default is parameter.empty:
            fields.append(field)
        elif isinstance(parameter.default, Hashable):
            fields.append((*field, parameter.default))
        else:
            fields.append((*field, msgspec.field(default_factory=_copier(parameter.default))))
    return msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)


def _copier(value: Any) -> Callable[[], Any]:
    return lambda: copy.copy(value)


def _schema(struct: type[msgspec.Struct]) -> dict[str, Any]:
    (root,), components = msgspec.json.schema_components([struct], ref_template="{name}")
    schema: dict[str, Any] = _inline(root, components, ())
    schema.pop("title", None)
    return schema


def _inline(node: Any, components: Mapping[str, Any], seen: tuple[str, ...]) -> Any:
    """Write every reference out in full, since not every server resolves `$ref`."""
    if isinstance(node, list):
        return [_inline(item, components, seen) for item in node]
    if not isinstance(node, dict):
        return node
    name = node.get("$ref")
    if isinstance(name, str):
        if name in seen:
            raise TypeError(f"type {name!r} contains itself, which a tool's schema cannot say; flatten it")
        return _inline(components[name], components, (*seen, name))
    return {key: _inline(value, components, seen) for key, value in node.items()}
