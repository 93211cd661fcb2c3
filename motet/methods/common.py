"""What several methods need: knobs that make sense, seats for a group, and the best `k` of some replies."""

from collections.abc import Callable, Sequence
from math import inf
from random import Random
from typing import Any

from motet.agent import Voice
from motet.answers import canonical, extract
from motet.errors import BadInput, ModelError
from motet.knobs import complaint, fits
from motet.methods.shapes import some_of, texts
from motet.tape import RECORDER
from motet.tape.keys import digest
from motet.teams import Voices
from motet.types import Content, Linked, Reply, Task

CODE = Task("", kind="code")  # by whose rules a program is read from a reply, whatever the task is
EXPERT = "You are a careful expert."
KEPT = 2_000  # characters of what a run of a program says: a traceback, not a flood
Mark = Callable[[Task, str], bool]
"""Whether a reply to a task is right."""


def gives_target(task: Task, text: str) -> bool:
    """Whether the answer in a reply is the target of the task."""
    return task.target is not None and extract(task, text) == canonical(task, task.target)


def at_least(least: int, **knobs: int) -> None:
    """Check some knobs before anything is spent.

    Raises:
        BadInput: one of them is no whole number, or is less than `least`.
    """
    for name, value in knobs.items():
        if not isinstance(value, int) or value < least:
            raise BadInput(f"{name}={value!r}: expected a whole number, {least} or more")


def share(**knobs: float | None) -> None:
    """Check knobs that are a part of a whole; None is left alone.

    Raises:
        BadInput: one of them is not from 0 to 1.
    """
    for name, value in knobs.items():
        if value is not None and not 0 <= value <= 1:
            raise BadInput(f"{name}={value!r}: expected a share from 0 to 1")


def weights(**knobs: float) -> None:
    """Check knobs that weigh one thing against another.

    Raises:
        BadInput: one of them is less than 0, or endless.
    """
    for name, value in knobs.items():
        if not (fits(value, float) and 0 <= value < inf):
            raise BadInput(f"{name}={value!r}: expected a weight, 0 or more")


def brought(task: Task, key: str, given: Any, kind: Any) -> Any:
    """What a method was given as a knob or, when that is empty, what came with the task as `meta[key]`.

    Args:
        kind: its type: a list of texts, for example; empty when neither has it.

    Raises:
        BadInput: it is not of that type; the first element that is not is named.
    """
    if given:
        name, value = key, given
    else:
        name, value = f"task.meta[{key!r}]", task.meta.get(key, ())
    if wrong := complaint(name, value, kind):
        raise BadInput(wrong)
    return value


def seats(voices: Voices, n: int) -> list[Voice]:
    """`n` voices of a group; a cast of fewer goes round.

    Raises:
        BadInput: there is no seat, or more were cast than there are seats.
    """
    at_least(1, n=n)
    return voices.take(n)


def dice(*words: str) -> Random:
    """Chance that the same run has again: seeded by the run's seed and these words."""
    recorder = RECORDER.get()
    return Random(digest(recorder.seed if recorder else 0, *words))


async def recruit(recruiter: Voice, prompt: Linked, n: int) -> Sequence[Content]:
    """Who `n` experts are, as a recruiter puts it in one sentence each; plain ones when it fails.

    Args:
        prompt: asks for them as `roles`.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    try:
        said = await recruiter.ask(prompt, schema=texts(n, "Group", "roles"))
    except ModelError:
        return [EXPERT] * n
    return [Linked(role.strip() or EXPERT, (said,)) for role in said.data.roles]


async def keep_best(judge: Voice, prompt: Linked, replies: Sequence[Reply], k: int) -> list[Reply]:
    """The `k` replies that a judge names, best first.

    Nobody is asked when there are `k` or fewer. Replies named twice count once and the places left over go
    to the first of the others; when the judge fails, so do all places.

    Args:
        prompt: shows the replies, numbered from 1 in their order.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    if len(replies) <= k:
        return list(replies)
    try:
        verdict = await judge.ask(prompt, schema=some_of(len(replies), k))
    except ModelError:
        return list(replies[:k])
    order = dict.fromkeys([*(number - 1 for number in verdict.data.best), *range(len(replies))])
    return [replies[i] for i in list(order)[:k]]
