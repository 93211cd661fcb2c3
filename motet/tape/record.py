"""The run record: a tape as one JSON document, the contract that other programs read."""

from typing import Any

import msgspec

from motet.tape.events import Called
from motet.tape.keys import without_bytes
from motet.tape.tape import Tape
from motet.types import Message


def run_record(tape: Tape) -> dict[str, Any]:
    """What `motet run --json` and `motet show --json` print.

    `answer` and `wall_s` are null while the run goes on; `error` and `score` are there only when there
    is one; a cost is null when a price is unknown.
    """
    started, ended = tape.started, tape.ended
    record: dict[str, Any] = {
        "run": tape.run,
        "method": started.team,
        "team_id": started.team_id,
        "task": msgspec.to_builtins(started.task),
        "voices": started.voices,
        "knobs": tape.knobs,
        "answer": ended.answer if ended else None,
        "answer_from": list(ended.parents) if ended else [],
        "calls": [_call(tape, call) for call in tape.calls],
        "tools": [_plain(tool) for tool in tape.tools],
        "usage": _usage(tape.usage()),
        "usage_by_voice": {voice: _usage(usage) for voice, usage in tape.usage_by_voice().items()},
        "cost": tape.cost(),
        "budget": started.budget,
        "wall_s": ended.wall_s if ended else None,
        "seed": started.seed,
    }
    if tape.score is not None:
        record["score"] = tape.score
    if tape.steps:
        record["steps"] = [_plain(step) for step in tape.steps]
    if tape.scores:
        record["scores"] = [_plain(score) for score in tape.scores]
    if ended and ended.failure:
        record["error"] = msgspec.to_builtins(ended.failure)
    return record


def _call(tape: Tape, call: Called) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": call.id,
        "agent": call.voice,
        "model": call.model,
        "answered_by": call.answered_by,
        "parents": list(call.parents),
        "messages": [_message(m) for m in tape.path(call.prompt)],
        "reply": _message(Message(node.role, node.parts)) if (node := tape.nodes.get(call.node)) else None,
        "usage": _usage(call.usage),
        "cost": call.cost,
        "at": call.at,
        "latency_s": call.latency_s,
        "stop": str(call.stop),
        "cached": call.cached,
        "key": call.key,
        "sampling": msgspec.to_builtins(call.sampling),
    }
    if call.version:
        made["version"] = call.version
    if call.failure:
        made["error"] = msgspec.to_builtins(call.failure)
    return made


def _message(message: Message) -> dict[str, Any]:
    said: dict[str, Any] = {"role": message.role, "content": message.text}
    others = [
        msgspec.to_builtins(p) for p in without_bytes(message.parts) if p.__struct_config__.tag != "text"
    ]
    if others:
        said["parts"] = others
    return said


def _usage(usage: Any) -> dict[str, int]:
    return {name: getattr(usage, name) for name in usage.__struct_fields__}


def _plain(event: Any) -> dict[str, Any]:
    plain: dict[str, Any] = msgspec.to_builtins(event)
    plain.pop("type")
    return plain
