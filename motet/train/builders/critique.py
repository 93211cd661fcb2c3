"""MultiCritique: several critics, merged unit by unit into critiques to learn from.

Paper: Lan et al. 2024, *Training Language Models to Critique With Multi-agent Feedback*, arXiv:2410.15287
(catalogue 23).
Idea: several critics write a critique of a response, helped by crucial information (here the reference
answer). A critique is a list of units. An aggregator says which units are right and useful and merges those
into one critique, which is what the student is tuned on. Critiques that hold more of the good units and fewer
others are preferred.
Calls: c + 1 a response, with c critics.
Deviates: units have no categories or severities; one aggregator instead of several that classify each unit; a
critique is worth the F1 of its units against all good ones. The student's prompt has no reference.
Failure: critics that fail are left out; the run fails when all do, or when the aggregator does.
"""

from collections.abc import Sequence
from itertools import permutations
from typing import TypeVar

from msgspec import Struct

from motet.agent import Voice
from motet.concurrency import all_of
from motet.errors import NoAnswer
from motet.tape import Tape
from motet.teams import Voices, team
from motet.train.builders.data import Built, Example, Pair
from motet.train.builders.reading import Maker, data_of, of_team, of_voice, or_none
from motet.types import Linked, Message, Task, fill

T = TypeVar("T")
STUDENT = """Task:
{task}

Response:
{response}

Criticise this response: list each fault and how to mend it."""
CRITIC = (
    "{student}\n\nFor your eyes only, a good answer:\n{reference}\n\nGive each fault as a unit of its own."
)
AGGREGATE = """{student}

A good answer:
{reference}

What critics say, numbered:
{units}

Give as `good` the numbers of the units that are right and useful, and as `critique` one critique made of
these, without repeats."""


class Critique(Struct):
    """What a critic says: one fault a unit."""

    units: list[str]


class Aggregate(Struct):
    """What the aggregator says: which units are good (numbers from 1), and the merged critique."""

    good: list[int]
    critique: list[str]


@team
async def multi_critique(task: Task, critics: Voices, aggregator: Voice) -> Linked:
    """Criticise `task.meta["response"]`; the task's target, if any, is the reference."""
    student = student_prompt(task)
    reference = task.target or "none is known"
    asked = fill(CRITIC, student=student, reference=reference)
    found = await all_of([or_none(critic.ask(asked, schema=Critique)) for critic in critics])
    critiques = [critique for critique in found if critique]
    if not critiques:
        raise NoAnswer("no critic answered")
    units = tuple(unit for critique in critiques for unit in critique.data.units)
    listed = Linked("\n".join(f"[{i}] {unit}" for i, unit in enumerate(units, 1)), tuple(critiques))
    prompt = fill(AGGREGATE, student=student, reference=reference, units=listed)
    merged = await aggregator.ask(prompt, schema=Aggregate)
    return Linked(written(merged.data.critique), (merged,))


def student_prompt(task: Task) -> str:
    """What a critic in the making is asked."""
    return STUDENT.format(task=task.prompt, response=task.meta.get("response", ""))


def written(units: Sequence[str]) -> str:
    """A critique in words."""
    return "\n".join(f"- {unit}" for unit in units) or "There is nothing to mend."


def critique(tapes: Sequence[Tape], *, gap: float = 0.1) -> Built:
    """SFT on the merged critiques, and preferences between critics that are `gap` apart.

    Args:
        tapes: runs of `multi_critique`.

    Raises:
        BadInput: a run is of another team.
    """
    made = Maker()
    for tape in of_team(tapes, multi_critique.name):
        merged = _last(tape, "aggregator", Aggregate)
        if merged is None or tape.ended is None or tape.ended.answer is None:
            made.reject("there is no merged critique", tape)
            continue
        prompt = (Message.say("user", student_prompt(tape.started.task)),)
        answer = Message.say("assistant", written(merged.critique))
        made.sft.append(Example((*prompt, answer), (False, True), voice="critic", runs=(tape.run,)))
        worth = [(value, written(units)) for value, units in _worth(tape, set(merged.good))]
        made.counts["critiques"] += len(worth)
        for (high, good), (low, bad) in permutations(worth, 2):
            if high - low >= gap:
                pair = Message.say("assistant", good), Message.say("assistant", bad)
                made.dpo.append(Pair(prompt, *pair, "critic", (tape.run,), high - low))
    return made.built()


def _worth(tape: Tape, good: set[int]) -> list[tuple[float, list[str]]]:
    """Each critic's units, with their F1 against all good ones."""
    found: list[tuple[float, list[str]]] = []
    number = 0
    for voice in dict.fromkeys(call.voice for call in of_voice(tape, "critics")):
        said = _last(tape, voice, Critique)
        if said is None:
            continue
        own = range(number + 1, number + 1 + len(said.units))
        number += len(said.units)
        hits = sum(i in good for i in own)
        both = len(own) + len(good)
        found.append((2 * hits / both if both else 1.0, said.units))
    return found


def _last(tape: Tape, voice: str, shape: type[T]) -> T | None:
    """What a voice said last that fits, as data: what did not fit was sent back to it."""
    found = [data_of(tape, call, shape) for call in tape.calls if call.voice == voice]
    return next((data for data in reversed(found) if data is not None), None)
