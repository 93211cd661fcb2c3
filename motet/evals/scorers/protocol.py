"""What a scorer is: anything that can mark a reply to a task."""

from typing import Protocol, runtime_checkable

from msgspec import Struct

from motet.types import Task


class Score(Struct, frozen=True, omit_defaults=True):
    """A mark.

    Args:
        value: from 0 (wrong) to 1 (right).
        detail: why, in a few words for a person.
        answer: what was read out of the reply; None when it held no answer.
    """

    value: float
    detail: str = ""
    answer: str | None = None


NO_ANSWER = Score(0.0, "no answer in the reply")


@runtime_checkable
class Scorer(Protocol):
    """Anything that can mark an answer: a whole reply, or one that was read out of a reply before."""

    @property
    def name(self) -> str: ...

    async def __call__(self, task: Task, answer: str) -> Score:
        """Mark `answer`. A wrong or unreadable answer is a score of 0, never an exception."""
        ...
