"""JSON Lines, losslessly: each event, message and token row of a run is a line, and can be read back."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from motet.errors import BadInput
from motet.tape.events import Event, Node, NodeTokens, Started
from motet.tape.tape import Tape, long_knob


class Line(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """One line: of a run, either an event, a message of the tree, or the tokens of a message."""

    run: str
    event: Event | None = None
    node: Node | None = None
    tokens: NodeTokens | None = None


def to_jsonl(runs: Sequence[Tape]) -> str:
    """All that is on the tapes; messages come before the events that name them."""
    lines: list[Line] = []
    for tape in runs:
        lines.extend(Line(tape.run, node=node) for node in tape.nodes.values())
        lines.extend(Line(tape.run, tokens=tokens) for tokens in tape.tokens.values())
        lines.extend(Line(tape.run, event=event) for event in tape.events)
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines).decode()


def import_jsonl(source: str | Path | Iterable[str]) -> list[Tape]:
    """Read tapes back.

    Args:
        source: a file, or its lines.

    Returns:
        The tapes as they were, in the order of their first lines.

    Raises:
        BadInput: the file cannot be read, or a line is not what `to_jsonl` writes; it says which and why.
    """
    tapes: dict[str, Tape] = {}
    decode = msgspec.json.Decoder(Line).decode
    for number, text in enumerate(_lines(source), 1):
        if not text.strip():
            continue
        try:
            line = decode(text)
        except msgspec.DecodeError as error:
            raise BadInput(f"line {number} is no line of a tape: {error}") from error
        tape = tapes.setdefault(line.run, Tape(line.run))
        if line.event is not None:
            tape.events.append(line.event)
        elif line.node is not None:
            tape.nodes[line.node.key] = line.node
        elif line.tokens is not None:
            tape.tokens[line.tokens.node, line.tokens.tokenizer] = line.tokens
        else:
            raise BadInput(f"line {number} of run {line.run} holds nothing; expected event, node or tokens")
    for tape in tapes.values():
        _check(tape)
    return list(tapes.values())


def _lines(source: str | Path | Iterable[str]) -> Iterable[str]:
    if not isinstance(source, str | Path):
        return source
    try:
        return Path(source).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{source} cannot be read: {error}") from error


def _check(tape: Tape) -> None:
    """A tape begins with Started, and everything it names is there."""
    if not tape.events or not isinstance(tape.events[0], Started):
        raise BadInput(f"run {tape.run} does not begin with a started event; is a part of the file missing?")
    named = {call.prompt for call in tape.calls} | {call.node for call in tape.calls}
    named |= set(map(long_knob, tape.started.knobs.values()))
    named |= {node.parent for node in tape.nodes.values()} | {node for node, _ in tape.tokens}
    if missing := {key for key in named if key and key not in tape.nodes}:
        raise BadInput(
            f"run {tape.run} names messages that are not in the file: {', '.join(sorted(missing))}"
        )
