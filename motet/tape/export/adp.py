"""Agent Data Protocol: trajectories of actions and observations, for fine-tuning agents.

Song et al. 2025, *Agent Data Protocol*, arXiv:2510.24702; schema version 1.5.0. The protocol knows one
agent per trajectory, so each conversation of each voice (a path through the tree that no later call
continues) is a trajectory of its own: what the voice said are actions, all else are observations.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from motet.tape.events import Called, Node
from motet.tape.export.arguments import read_arguments
from motet.tape.tape import Tape
from motet.types import Media, Part, Text, ToolCall, ToolResult

SCHEMA_VERSION = "1.5.0"


def to_adp(runs: Sequence[Tape]) -> str:
    """JSON Lines, one trajectory a line. Calls that failed said nothing and are left out."""
    lines = (msgspec.json.encode(trajectory) + b"\n" for tape in runs for trajectory in trajectories(tape))
    return b"".join(lines).decode()


def trajectories(tape: Tape) -> Iterator[dict[str, Any]]:
    """The conversations of one run, in the order of their last calls."""
    continued = {node.key for call in tape.calls for node in _path(tape, call.prompt)}
    for call in tape.calls:
        if call.node and call.node not in continued:
            yield {
                "schema_version": SCHEMA_VERSION,
                "id": f"{tape.run}-{call.id}",
                "content": _content(_path(tape, call.node)),
                "details": _details(tape, call),
            }


def _path(tape: Tape, key: str) -> list[Node]:
    path: list[Node] = []
    while node := tape.nodes.get(key):
        path.append(node)
        key = node.parent
    return path[::-1]


def _content(path: list[Node]) -> list[dict[str, Any]]:
    """The steps of a conversation. A tool's result shares an id with its action; models repeat theirs."""
    steps: list[dict[str, Any]] = []
    waiting: dict[str, dict[str, Any]] = {}
    linked = 0
    for node in path:
        for step, part in _steps(node):
            steps.append(step)
            if isinstance(part, ToolCall):
                waiting[part.id] = step
            elif isinstance(part, ToolResult) and (action := waiting.pop(part.id, None)):
                linked += 1
                action["tool_call_id"] = step["tool_call_id"] = f"call_{linked:06d}"
    return steps


def _steps(node: Node) -> Iterator[tuple[dict[str, Any], Part]]:
    """Each step with the part of the message it was made from."""
    if node.role != "assistant":
        for part in node.parts:
            yield _observation(node.role, part), part
        return
    said = "\n".join(part.text for part in node.parts if isinstance(part, Text))
    wanted = [part for part in node.parts if isinstance(part, ToolCall)]
    if said and not wanted:
        yield {"class_": "message_action", "content": said}, Text(said)
    for i, call in enumerate(wanted):
        kwargs = read_arguments(call.arguments)
        action = {"class_": "api_action", "function": call.name, "kwargs": kwargs}
        yield action | ({"description": said} if said and i == 0 else {}), call


def _observation(role: str, part: Part) -> dict[str, Any]:
    source = "user" if role == "user" else "environment"
    seen: dict[str, Any] = {"class_": "text_observation", "source": source}
    match part:
        case ToolResult():
            return seen | {"content": part.text, "name": part.name}
        case Media():
            return seen | {"content": f"[{part.kind} {part.media_type} {part.digest}]"}
        case ToolCall():
            return seen | {"content": f"{part.name}({part.arguments})"}
        case Text():
            return seen | {"content": part.text} | ({"name": "system"} if role == "system" else {})


def _details(tape: Tape, call: Called) -> dict[str, Any]:
    started, ended = tape.started, tape.ended
    details: dict[str, Any] = {
        "run": tape.run,
        "method": started.team,
        "voice": call.voice,
        "model": call.answered_by or call.model,
        "task": started.task.id,
        "seed": started.seed,
        "used_by_answer": bool(ended and call.id in ended.parents),
    }
    if tape.score is not None:
        details["score"] = tape.score
    return details
