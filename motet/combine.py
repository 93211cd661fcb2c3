"""What most methods are made of: ask several voices at once, count their answers, leave one out."""

from collections.abc import Sequence
from typing import TypeVar, Unpack

from msgspec import Struct

from motet.agent import Conversation, Knobs, Voice
from motet.answers import extract, wording
from motet.concurrency import all_of
from motet.errors import ModelError, NoAnswer
from motet.structured import Shape
from motet.types import Content, Failure, Linked, Reply, Task

T = TypeVar("T")
Prompt = Content | tuple[Content, ...]


async def ask_each(
    voices: Sequence[Conversation],
    prompts: Sequence[Prompt],
    *,
    schema: Shape | None = None,
    **knobs: Unpack[Knobs],
) -> list[Reply | Failure]:
    """Ask each voice, or each conversation with one, its own prompt, all at once.

    Returns:
        In the order of the voices: the reply, or the failure of a voice that failed. It is on the tape
        either way.

    Raises:
        BudgetExceeded: the run may spend no more.
    """

    async def one(voice: Conversation, prompt: Prompt) -> Reply | Failure:
        parts = prompt if isinstance(prompt, tuple) else (prompt,)
        try:
            return await voice.ask(*parts, schema=schema, **knobs)
        except ModelError as error:
            return error.failure

    return await all_of([one(v, p) for v, p in zip(voices, prompts, strict=True)])


async def ask_all(
    voices: Sequence[Voice], *parts: Content, schema: Shape | None = None, **knobs: Unpack[Knobs]
) -> list[Reply]:
    """Ask all voices the same, at once, and return the replies of those that answered.

    Raises:
        NoAnswer: every voice failed; it names the failures.
    """
    return answered(await ask_each(voices, [parts] * len(voices), schema=schema, **knobs))


def answered(outcomes: Sequence[Reply | Failure]) -> list[Reply]:
    """The replies among the outcomes, in order.

    Raises:
        NoAnswer: there are none; it names the failures.
    """
    replies = [o for o in outcomes if isinstance(o, Reply)]
    if not replies:
        raise NoAnswer("no voice answered: " + "; ".join(dict.fromkeys(str(o) for o in outcomes)))
    return replies


class Tally(Struct, frozen=True):
    """The votes for each answer.

    Args:
        votes: replies by canonical answer, most votes first; ties in order of first appearance.
        unread: replies in which no answer was found.
        of: how many were asked, those that failed included: the denominator of every share.
    """

    votes: dict[str, tuple[Reply, ...]]
    unread: tuple[Reply, ...]
    of: int

    @property
    def winner(self) -> str | None:
        """The answer with most votes, or None when no answer was found in any reply."""
        return next(iter(self.votes), None)

    def share(self, answer: str | None = None) -> float:
        """The part of those asked who gave this answer (the winner's, when left out)."""
        answer = self.winner if answer is None else answer
        return len(self.votes.get(answer or "", ())) / self.of if self.of else 0.0


def tally(task: Task, replies: Sequence[Reply], *, of: int | None = None) -> Tally:
    """Count the answers in some replies; equal answers are recognised by the kind of the task.

    Args:
        of: how many were asked, when more than answered.
    """
    votes: dict[str, list[Reply]] = {}
    unread: list[Reply] = []
    for reply in replies:
        answer = extract(task, reply.text)
        (unread if answer is None else votes.setdefault(answer, [])).append(reply)
    ranked = sorted(votes.items(), key=lambda item: -len(item[1]))
    return Tally({a: tuple(r) for a, r in ranked}, tuple(unread), len(replies) if of is None else of)


def majority(task: Task, replies: Sequence[Reply]) -> Linked:
    """The answer that most replies give, in the words of the first of these, linked to them all.

    Raises:
        NoAnswer: no answer could be read in any of them.
    """
    counted = tally(task, replies)
    if counted.winner is None:
        raise NoAnswer(f"no answer to a {task.kind} task could be read in {len(replies)} replies")
    votes = counted.votes[counted.winner]
    return Linked(wording(task, votes[0].text) or counted.winner, votes)


def leave_one_out(items: Sequence[T]) -> list[list[T]]:
    """For each item, the list of the others.

    >>> leave_one_out(["a", "b", "c"])
    [['b', 'c'], ['a', 'c'], ['a', 'b']]
    """
    return [[other for j, other in enumerate(items) if j != i] for i in range(len(items))]
