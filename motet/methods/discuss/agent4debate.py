"""Agent4Debate: a competitive debate of two sides, each a team of searcher, analyzer, writer and reviewer.

Paper: Zhang et al. 2024, arXiv:2408.04472 (catalogue 202); marks after Debatrix, Liang et al. 2024,
arXiv:2403.08010.
Idea: affirmative and negative exchange a constructive speech, a rebuttal and a summary. Who works on a
speech, and in which order, depends on the stage: for the constructive the searcher (who looks up
`documents`) comes before the analyzer, for the rebuttal after, for the summary nobody searches; then the
writer writes and the reviewer sends the draft back, R times at most. A judge marks every speech in the
light of those before it, for argument, source and language; the side with the better mean wins, and its
last speech is the answer. The documents are the knob's or `task.meta["documents"]`.
Calls: at most 22 + 12 * R, with documents; without them 4 less.
Deviates: both sides speak at once at each stage and read each other after it. The reviewer talks to the
writer alone. Debatrix's fourth dimension, clash, is left out. A draw goes to the negative: the affirmative
has to prove its case. `affirmative` and `negative` name the roles that a side has: "W" is a single-prompt
debater.
Failure: a searcher, analyzer or reviewer that fails is left out; without a writer a side is silent at that
stage. When only one side has spoken it wins, when none has, the run fails. A speech without marks does not
count; when a side has none but such speeches, it is a draw."""

from collections.abc import Sequence
from statistics import fmean
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.methods.common import at_least, brought
from motet.methods.discuss.speech import ORDER, Side
from motet.tape import Tape
from motet.teams import Voices, team
from motet.tools.search import Document, search_tool
from motet.types import Failure, Linked, Reply, Task, fill

SIDES = ("affirmative", "negative")
STANCES = (
    "the affirmative: you hold that the motion is right; to a question, you give and defend an answer.",
    "the negative: you hold that the motion is wrong; to a question, you give and defend a better answer.",
)
MARK = """\
Motion or question:
{task}

The debate before this speech:

{before}

The speech of the {side}:
{speech}

Mark this speech from 1 to 10: `argument` for its reasoning and its answers to the other side, `source` for
evidence that is cited and fits, `language` for clarity."""
Mark = Annotated[int, Meta(ge=1, le=10)]


class Marks(Struct):
    """What the judge gives a speech."""

    argument: Mark
    source: Mark
    language: Mark


@team
async def agent4debate(  # noqa: PLR0913 (four roles and a judge are the method)
    task: Task,
    searchers: Voices,
    analyzers: Voices,
    writers: Voices,
    reviewers: Voices,
    judge: Voice,
    *,
    R: int = 1,
    documents: Sequence[Document] = (),
    affirmative: str = "SAWR",
    negative: str = "SAWR",
) -> Linked:
    """Have two teams debate in three stages; the winner's last speech is the answer.

    The first of each role is of the affirmative side, the second of the negative.
    """
    at_least(0, R=R)
    found = brought(task, "documents", documents, Sequence[Document])
    search = search_tool(found) if found else None
    crew = {"S": searchers.take(2), "A": analyzers.take(2), "W": writers.take(2), "R": reviewers.take(2)}
    sides = [
        Side(STANCES[i], _roles(SIDES[i], given), {role: pair[i] for role, pair in crew.items()}, R, search)
        for i, given in enumerate((affirmative, negative))
    ]
    form, speeches, failures = instruction(task), list[tuple[int, Reply]](), list[Failure]()
    prompts: list[Linked] = []
    for stage in ORDER:
        before = [fill("({side}) {speech}", side=SIDES[i], speech=said) for i, said in speeches]
        spoken = await all_of([side.speak(task, stage, before, form) for side in sides])
        for i, said in enumerate(spoken):
            if isinstance(said, Failure):
                failures.append(said)
                continue
            speeches.append((i, said))
            prompts.append(fill(MARK, task=task, before=before, side=SIDES[i], speech=said))
    answered([*(said for _, said in speeches), *failures])
    marks = await ask_each([judge] * len(prompts), prompts, schema=Marks)
    given = [(i, mark) for (i, _), mark in zip(speeches, marks, strict=True) if isinstance(mark, Reply)]
    last = dict(speeches)
    pro, con = ([mark.data for i, mark in given if i == side] for side in range(2))
    winner = 0 if 1 not in last or (0 in last and pro and con and _mean(pro) > _mean(con)) else 1
    return Linked(last[winner].text, (last[winner], *(mark for _, mark in given)))


def winner(tape: Tape) -> str | None:
    """Who won a debate of `agent4debate`: `affirmative`, `negative`, or None when it failed."""
    voices = {call.id: call.voice.partition("/")[0] for call in tape.calls}
    wrote = [voices[i] for i in (tape.ended.parents if tape.ended else ()) if voices[i].startswith("writers")]
    return SIDES[wrote[0] == "writers_2"] if wrote else None


def _roles(side: str, given: str) -> str:
    if "W" not in given or set(given) - set("SAWR"):
        raise BadInput(f"{side}={given!r}: expected W and some of the letters S, A, R")
    return given


def _mean(marks: Sequence[Marks]) -> float:
    return fmean(m for mark in marks for m in (mark.argument, mark.source, mark.language))
