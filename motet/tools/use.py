"""One use of one tool: find it, have it approved, run it, and turn every outcome into words for the model."""

import inspect
from collections.abc import Awaitable, Callable, Sequence

from motet.errors import ToolError, UnknownName
from motet.tools.tool import Tool, parse_arguments
from motet.types import Failure, FailureKind, ToolCall, ToolResult

Approve = Callable[[ToolCall], bool | Awaitable[bool]]


async def use_tool(
    wanted: ToolCall, tools: Sequence[Tool], approve: Approve | None = None
) -> tuple[ToolResult, Failure | None]:
    """Run the tool that a model asked for.

    Returns:
        What to tell the model, and the failure if there was one: an unknown tool, arguments that are no
        JSON object, a refusal, or an error of the tool. None of them ends the run.
    """
    try:
        if approve is not None:
            verdict = approve(wanted)
            if not (await verdict if inspect.isawaitable(verdict) else verdict):
                raise ToolError("the user did not allow this call")
        tool = next((t for t in tools if t.spec.name == wanted.name), None)
        if tool is None:
            raise UnknownName("tool", wanted.name, [t.spec.name for t in tools])
        text = await tool(parse_arguments(wanted, tool))
    except Exception as error:  # the boundary between a tool and the run: a tool's failure is data
        words = (
            str(error) if isinstance(error, (ToolError, UnknownName)) else f"{type(error).__name__}: {error}"
        )
        return ToolResult(wanted.id, wanted.name, f"Error: {words}", failed=True), Failure(
            FailureKind.TOOL, words
        )
    return ToolResult(wanted.id, wanted.name, text), None
