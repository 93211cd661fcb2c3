"""Training-Free GRPO: a library of lessons in the prompt instead of a gradient.

Paper: Cai et al. 2025, arXiv:2510.08191 (catalogue 377).
Idea: each task is played by a group; where some succeeded and some failed, a teacher sums up each run, says
what made the difference (the semantic advantage), and edits a library of lessons that goes into every later
prompt. Weights stay as they are.
Calls: per epoch, n * g plays of the team; for each mixed group g + 1; and 1 a batch that had one.
Deviates: the lessons stand in the system message of every voice of the team; prompts are ours. A group whose
marks are all equal teaches nothing. An edit of a lesson that is not there is left out. Both are counted.
Failure: runs that fail count as marked 0; when the teacher fails, its group or batch is left out and counted.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msgspec import Struct

from motet.agent import Agent
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.run import Run
from motet.structured import parse
from motet.tape import Store, Tape
from motet.teams import Team
from motet.train.builders.lessons import (
    Advice,
    Edits,
    compare_group,
    edited,
    merge_lessons,
    numbered,
    with_lessons,
)
from motet.train.builders.reading import mark_of, recorded
from motet.types import Linked, Task


class Course(Struct, frozen=True):
    """How long to learn: `group` plays of each task, a merge every `batch` tasks, `epochs` times over."""

    epochs: int = 3
    group: int = 5
    batch: int = 50

    def __post_init__(self) -> None:
        if self.epochs < 1 or self.group < 2 or self.batch < 1:
            raise BadInput(f"{self}: expected epochs and batch of 1 or more, and a group of 2 or more")


class Library(Struct, frozen=True):
    """What was learnt: the lessons, after each batch in `history`, and what was counted on the way."""

    lessons: tuple[str, ...] = ()
    history: tuple[tuple[str, ...], ...] = ()
    counts: dict[str, int] = {}
    runs: tuple[str, ...] = ()


@dataclass
class _School:
    """The library in the making."""

    band: Team[...]
    teacher: Agent
    group: int
    mark: Callable[[Tape], float | None]
    store: Store | None
    seed: int
    lessons: tuple[str, ...] = ()
    counts: Counter[str] = field(default_factory=Counter)
    runs: list[str] = field(default_factory=list)

    async def play(self, band: Team[...], task: Task, seed: int) -> Run:
        run = await band.arun(task, seed=seed, store=self.store)
        self.runs.append(run.id)
        return run

    async def advice(self, task: Task, seed: int) -> list[str]:
        """Play a group and compare it; nothing when all did equally well."""
        taught = with_lessons(self.band, self.lessons)
        runs = await all_of([self.play(taught, task, seed + i) for i in range(self.group)])
        tapes = [run.tape for run in runs]
        marks = [self.mark(tape) for tape in tapes]
        known = [(m, _attempt(tape)) for m, tape in zip(marks, tapes, strict=True) if m is not None]
        self.counts["groups"] += 1
        self.counts["unmarked runs"] += len(marks) - len(known)
        if len({m for m, _ in known}) < 2:
            self.counts["even groups"] += 1
            return []
        asked = compare_group.cast(self.teacher)(attempts=known, known=numbered(self.lessons))
        run = await self.play(asked, task, seed)
        if not run.ok:
            self.counts["failed lessons"] += 1
            return []
        lessons: list[str] = parse(run.answer, Advice).lessons
        return lessons

    async def merge(self, new: Sequence[str], seed: int) -> None:
        """Bring the library up to date."""
        asked = merge_lessons.cast(self.teacher)(known=numbered(self.lessons))
        run = await self.play(asked, Task("\n".join(f"- {lesson}" for lesson in new)), seed)
        if not run.ok:
            self.counts["failed merges"] += 1
            return
        edits = parse(run.answer, Edits).edits
        self.lessons, lost = edited(self.lessons, edits)
        self.counts["edits"] += len(edits) - lost
        self.counts["lost edits"] += lost


async def training_free(
    band: Team[...],
    tasks: Sequence[Task],
    teacher: Agent,
    plan: Course = Course(),
    *,
    mark: Callable[[Tape], float | None] = mark_of,
    store: Store | None = None,
    seed: int = 0,
) -> Library:
    """Grow a library of lessons; `with_lessons(band, library.lessons)` is the team that has learnt them.

    Args:
        band: the team, cast; nobody's weights change.
        teacher: who compares and edits; it may be the model of the team.
        mark: of a run, in [0, 1]; None leaves the run out of its group.
        store: where the tapes go; the project's when left out.
    """
    school = _School(band, teacher, plan.group, mark, store, seed)
    history: list[tuple[str, ...]] = []
    for epoch in range(plan.epochs):
        for start in range(0, len(tasks), plan.batch):
            first = seed + plan.group * (epoch * len(tasks) + start)
            some = tasks[start : start + plan.batch]
            found = [await school.advice(task, first + plan.group * i) for i, task in enumerate(some)]
            if new := [lesson for lessons in found for lesson in lessons]:
                await school.merge(new, first)
            history.append(school.lessons)
    return Library(school.lessons, tuple(history), dict(school.counts), tuple(school.runs))


def _attempt(tape: Tape) -> Linked:
    """What was said in a run, voice by voice."""
    calls = [call for call in tape.calls if call.node]
    said = [recorded(tape, call) for call in calls]
    return Linked("\n\n".join(f"{reply.voice}: {reply.text}" for reply in said) or "(nothing)", tuple(said))
