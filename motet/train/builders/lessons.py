"""Lessons in words: how a teacher finds them, how they are edited, and how a team is told (catalogue 377)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from msgspec import Struct

from motet.agent import Agent, Voice
from motet.concurrency import all_of
from motet.teams import Team, team
from motet.types import Linked, Reply, Task, fill

LESSONS = "What experience has taught you:\n{lessons}"
SUM_UP = """Question:
{task}

An attempt, marked {mark:.2f} of 1:
{attempt}

Sum up what it did, step by step."""
COMPARE = """Question:
{task}

Attempts at it, each with its mark:

{attempts}

Lessons known so far:
{lessons}

Compare the good attempts with the bad ones. What made the difference? Give a general lesson or two as
`lessons`, without the answer to this question."""
MERGE = """Lessons known so far, numbered:
{lessons}

New ones:
{new}

Give the edits that bring the known ones up to date: `add` a new text, `update` the text of a number, `delete`
a number. Keep the lessons few and general."""


class Advice(Struct):
    """What a group teaches."""

    lessons: list[str]


class Edit(Struct):
    """A change of the library; `number` counts from 1 and is not read for `add`."""

    do: Literal["add", "update", "delete"]
    number: int = 0
    text: str = ""


class Edits(Struct):
    """Changes, all numbered by the library as it was before them."""

    edits: list[Edit]


@team
async def compare_group(
    task: Task, teacher: Voice, *, attempts: Sequence[tuple[float, Linked]] = (), known: str = ""
) -> Reply:
    """Sum up each attempt, then say what made the difference; the answer is JSON (`Advice`)."""
    asked = [teacher.ask(fill(SUM_UP, task=task, mark=mark, attempt=said)) for mark, said in attempts]
    notes = await all_of(asked)
    marked = [fill("mark {m:.2f}: {note}", m=m, note=n) for (m, _), n in zip(attempts, notes, strict=True)]
    return await teacher.ask(fill(COMPARE, task=task, attempts=marked, lessons=known), schema=Advice)


@team
async def merge_lessons(task: Task, teacher: Voice, *, known: str = "") -> Reply:
    """Edits that bring the library up to date with the lessons in the task; the answer is JSON (`Edits`)."""
    return await teacher.ask(fill(MERGE, lessons=known, new=task), schema=Edits)


def with_lessons(band: Team[...], lessons: Sequence[str]) -> Team[...]:
    """A team all of whose voices, also of nested teams, have these lessons in their system message."""
    if not lessons:
        return band
    words = LESSONS.format(lessons=numbered(lessons))

    def taught(member: "Agent | Team[...]") -> "Agent | Team[...]":
        if isinstance(member, Agent):
            return replace(member, instructions=f"{member.instructions}\n\n{words}".lstrip())
        return with_lessons(member, lessons)

    return replace(band, parts={v: tuple(map(taught, members)) for v, members in band.parts.items()})


def edited(lessons: Sequence[str], edits: Sequence[Edit]) -> tuple[tuple[str, ...], int]:
    """The library after the edits, and how many of those were of lessons that are not there (or empty)."""
    kept: dict[int, str] = dict(enumerate(lessons, 1))
    added: list[str] = []
    lost = 0
    for edit in edits:
        if edit.do == "add" and edit.text.strip():
            added.append(edit.text.strip())
        elif edit.do == "delete" and edit.number in kept:
            del kept[edit.number]
        elif edit.do == "update" and edit.number in kept and edit.text.strip():
            kept[edit.number] = edit.text.strip()
        else:
            lost += 1
    return tuple(dict.fromkeys((*kept.values(), *added))), lost


def numbered(lessons: Sequence[str]) -> str:
    """The library as prompts show it."""
    return "\n".join(f"[{i}] {lesson}" for i, lesson in enumerate(lessons, 1)) or "none yet"
