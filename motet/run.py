"""A run: what a team did with one task, read off its tape."""

from dataclasses import dataclass
from typing import Any

from motet.errors import RunFailed
from motet.tape import Called, Tape
from motet.tape.record import run_record
from motet.types import Failure, FailureKind, Usage


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a team, finished or cut short. Everything is a reading of `tape`."""

    tape: Tape

    @property
    def id(self) -> str:
        """Name of the run; `motet show ID` prints it."""
        return self.tape.run

    @property
    def answer(self) -> str:
        """The team's answer.

        Raises:
            RunFailed: there is none; the message and `failure` say why.
        """
        ended = self.tape.ended
        if ended is None or ended.answer is None:
            raise RunFailed(self.error or Failure(FailureKind.CANCELLED, "the run never ended"))
        return ended.answer

    @property
    def ok(self) -> bool:
        """Whether there is an answer."""
        return self.tape.ended is not None and self.tape.ended.answer is not None

    @property
    def error(self) -> Failure | None:
        """Why there is no answer, or None."""
        return self.tape.ended.failure if self.tape.ended else None

    @property
    def calls(self) -> list[Called]:
        """The calls, in order of asking."""
        return self.tape.calls

    @property
    def usage(self) -> Usage:
        """Tokens and calls of the whole run; reused calls count as if they had been made."""
        return self.tape.usage()

    @property
    def cost(self) -> float | None:
        """US dollars; None when a price is unknown."""
        return self.tape.cost()

    @property
    def wall_s(self) -> float:
        """Seconds from start to end."""
        return self.tape.ended.wall_s if self.tape.ended else 0.0

    def record(self) -> dict[str, Any]:
        """The run record, as `motet run --json` prints it."""
        return run_record(self.tape)

    def show(self) -> None:
        """Print the transcript to the terminal."""
        from rich.console import Console

        from motet.viewer.transcript import transcript

        Console().print(transcript(self.tape))
