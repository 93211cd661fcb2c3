"""Suites from JSONL and CSV files.

A row has `prompt`, `target` and, if wanted, `id`, `choices`, `tests`, `meta`, `kind`.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args

import msgspec

from motet.answers import canonical, extract
from motet.errors import BadInput
from motet.types import Task, TaskKind

KINDS: tuple[TaskKind, ...] = get_args(TaskKind)
FIELDS = ("prompt", "target", "id", "choices", "tests", "meta", "kind")
Row = tuple[str, dict[str, Any]]
"""Where a row stands ('line 3'), and its cells."""

_PLAIN_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:/\d+)?")


def read_file(path: Path) -> tuple[Task, ...]:
    """Read the tasks of a .jsonl or .csv file. Columns without a meaning of their own go to `Task.meta`.

    Raises:
        BadInput: says which line and field is wrong, what arrived and what was expected.
    """
    readers = {".jsonl": _jsonl, ".csv": _csv}
    if path.suffix.lower() not in readers:
        raise BadInput(f"suite file {str(path)!r}: expected a name that ends in .jsonl or .csv")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"suite file {str(path)!r} cannot be read as UTF-8 text: {error}") from error
    return read_rows(str(path), readers[path.suffix.lower()](text))


def read_rows(source: str, rows: Iterable[Row]) -> tuple[Task, ...]:
    """Make tasks of rows; where no kind is given it follows from the fields, and numbers from all targets."""
    tasks: list[Task] = []
    seen: dict[str, str] = {}
    unsaid: list[int] = []
    for where, row in rows:
        try:
            task = _task(row, default_id=str(len(tasks) + 1))
        except BadInput as error:
            raise BadInput(f"{source}, {where}, {error}") from error
        if task.id in seen:
            raise BadInput(
                f"{source}, {where}, field 'id': {task.id!r} stands on {seen[task.id]} too; ids are unique"
            )
        seen[task.id] = where
        if task.kind == "text" and not row.get("kind"):
            unsaid.append(len(tasks))
        tasks.append(task)
    if not tasks:
        raise BadInput(f"{source} holds no items; expected one a line, with {FIELDS[0]!r} and {FIELDS[1]!r}")
    if all(_PLAIN_NUMBER.fullmatch(tasks[i].target or "") for i in unsaid):
        for i in unsaid:
            tasks[i] = msgspec.structs.replace(tasks[i], kind="number")
    return tuple(tasks)


def _jsonl(text: str) -> Iterator[Row]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"line {number}"
        try:
            row = msgspec.json.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            yield where, {"": f"{line[:80]!r} is not JSON ({error})"}
            return
        yield where, row if isinstance(row, dict) else {"": f"got {line[:80]!r}, expected a JSON object"}


def _csv(text: str) -> Iterator[Row]:
    reader = csv.DictReader(io.StringIO(text, newline=""), restkey="", strict=True)
    try:
        for row in reader:
            where = f"line {reader.line_num}"
            if "" in row:
                yield where, {"": f"{len(row['']) or 1} cells too many: quote the cells that hold commas"}
            else:
                yield where, {key: _cell(key, value) for key, value in row.items() if value}
    except csv.Error as error:
        yield f"line {reader.line_num}", {"": f"not CSV: {error}"}


def _cell(key: str, value: str) -> Any:
    if key == "meta" or (key == "choices" and value.lstrip().startswith("[")):
        try:
            return msgspec.json.decode(value)
        except (msgspec.DecodeError, RecursionError):
            return value  # refused below, with the name of the field
    return [choice.strip() for choice in value.split("|")] if key == "choices" else value


def _task(row: dict[str, Any], default_id: str) -> Task:
    if "" in row:
        raise BadInput(str(row[""]))
    given = {key: value for key, value in row.items() if value is not None}
    prompt = _text(given, "prompt")
    tests = _text(given, "tests", "")
    choices = _choices(given)
    kind = given.get("kind") or ("code" if tests else "choice" if choices else "text")
    if kind not in KINDS:
        raise BadInput(f"field 'kind': got {kind!r}, expected one of {', '.join(KINDS)}")
    if kind == "choice" and not choices:
        raise BadInput("field 'choices': missing; an item of kind 'choice' needs its options")
    meta = given.get("meta", {})
    if not isinstance(meta, dict):
        raise BadInput(f"field 'meta': got {meta!r}, expected a JSON object")
    others = {key: value for key, value in given.items() if key not in FIELDS}
    task_id = given.get("id", default_id)
    if isinstance(task_id, bool) or not isinstance(task_id, (str, int)):
        raise BadInput(f"field 'id': got {task_id!r}, expected a string")
    task = Task(
        prompt, id=str(task_id), kind=kind, choices=tuple(choices), tests=tests, meta={**others, **meta}
    )
    return msgspec.structs.replace(task, target=_target(given, task))


def _text(row: dict[str, Any], field: str, default: str | None = None) -> str:
    value = row.get(field, default)
    if value is None:
        raise BadInput(f"field {field!r}: missing; this row has {', '.join(map(repr, row)) or 'no fields'}")
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise BadInput(f"field {field!r}: got {value!r}, expected a string that is not empty")
    return value


def _choices(row: dict[str, Any]) -> list[str]:
    value = row.get("choices", [])
    options = [str(x) for x in value] if isinstance(value, list) else []
    if "choices" in row and (not 2 <= len(set(options)) == len(options) <= 26):
        raise BadInput(f"field 'choices': got {value!r}, expected a list of 2 to 26 different options")
    return options


def _target(row: dict[str, Any], task: Task) -> str | None:
    if "target" not in row and task.tests:
        return None
    value = row.get("target")
    if isinstance(value, bool) or not isinstance(value, (str, int, float)) or not str(value).strip():
        _text(row, "target") if value is None else None
        raise BadInput(f"field 'target': got {value!r}, expected a string or a number")
    if task.kind == "number":
        found = extract(task, str(value))
        if found is None:
            raise BadInput(f"field 'target': got {value!r}, expected a number")
        return found
    if task.kind != "choice":
        return str(value)
    if isinstance(value, int) and str(value) not in task.choices and 0 <= value < len(task.choices):
        return chr(65 + value)
    letter = canonical(task, str(value))
    if len(letter) != 1 or not 0 <= ord(letter) - 65 < len(task.choices):
        raise BadInput(
            f"field 'target': got {value!r}, expected a letter, one of the options {list(task.choices)}, "
            "or its place counted from 0"
        )
    return letter
