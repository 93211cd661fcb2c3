"""What is put into the laboratory: a method as its example has it, or any team, with its seats counted."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from motet.errors import BadInput
from motet.evals.lab.examples import SUM, example
from motet.evals.lab.shown import shown
from motet.methods import method
from motet.run import Run
from motet.teams import Team
from motet.types import Task


@dataclass(frozen=True)
class Subject:
    """A team, the task that it is tried on, and the voices that are no simulated ones.

    Args:
        team: uncast, with its knobs.
        given: who sings a voice in its example; what is simulated there is cast anew.
    """

    team: Team[...]
    task: Task = SUM
    given: Mapping[str, Any] = field(default_factory=dict)

    def cast(self, honest: str, liar: str = "", deceivers: int = 0) -> Team[...]:
        """The team with simulated voices, the last of which may be deceivers.

        Those are the last members of its group; in a team without a group, its last voices.

        Raises:
            BadInput: nobody honest would be left.
        """
        if deceivers and deceivers > self.most_deceivers:
            raise BadInput(
                f"deceivers={deceivers!r}: {self.team.name} has {len(self.seats)} seats, one of them honest"
            )
        cast = {voice: self.given.get(voice, honest) for voice in self.team.voices} | {
            voice: [honest] * size if self.team.voices[voice] else honest
            for voice, size in self._sizes.items()
        }
        seats = list(self.seats)
        for voice in seats[len(seats) - deceivers :]:
            if not self.team.voices[voice]:
                cast[voice] = liar
        if self.group and deceivers:
            cast[self.group] = [honest] * (self._sizes[self.group] - deceivers) + [liar] * deceivers
        return self.team.cast(**cast)

    def show(self) -> Run:
        """A run in step, to look at."""
        return shown(self.team, self.task, self.given)

    @property
    def group(self) -> str | None:
        """The voice of several members that has most seats."""
        groups = [voice for voice in self._sizes if self.team.voices[voice]]
        return max(groups, key=lambda voice: self._sizes[voice], default=None)

    @property
    def seats(self) -> tuple[str, ...]:
        """The simulated seats among which there may be deceivers, by voice."""
        return (self.group,) * self._sizes[self.group] if self.group else tuple(self._sizes)

    @property
    def most_deceivers(self) -> int:
        """How many can lie while one is honest."""
        return max(0, len(self.seats) - 1)

    @cached_property
    def _sizes(self) -> dict[str, int]:
        """The simulated voices and how many seats each has, as seen in a run of the example."""
        mine = [voice for voice in self.team.voices if _simulated(self.given.get(voice))]
        if not any(self.team.voices[voice] for voice in mine):
            return dict.fromkeys(mine, 1)
        called = {call.voice for call in self.show().calls}
        return {voice: max(_size(self.given.get(voice)), _members(voice, called)) for voice in mine}


def subject(tried: "str | Team[...]", **knobs: Any) -> Subject:
    """A method by name, as in its example, or a team; with some knobs set.

    Raises:
        UnknownName: no such method or knob.
    """
    if isinstance(tried, str):
        there = example(tried)
        return Subject(method(tried).team.configured(**{**there.knobs, **knobs}), there.task, there.voices)
    given = {voice: list(cast) if tried.voices[voice] else cast[0] for voice, cast in tried.parts.items()}
    return Subject(tried.configured(**knobs), given=given)


def _simulated(given: Any) -> bool:
    members = given if isinstance(given, (list, tuple)) else [given]
    return all(
        member is None or (isinstance(member, str) and member.startswith("sim:")) for member in members
    )


def _size(given: Any) -> int:
    return len(given) if isinstance(given, (list, tuple)) else 1


def _members(voice: str, called: set[str]) -> int:
    numbers = [
        int(found[1]) for name in called if (found := re.fullmatch(rf"{re.escape(voice)}_(\d+)", name))
    ]
    return max(numbers, default=1)
