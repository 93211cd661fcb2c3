"""What is put into the laboratory: a method as its example has it, or any team, with its seats counted."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from motet.errors import BadInput
from motet.evals.lab.examples import SUM, example
from motet.evals.lab.shown import SINGERS, shown
from motet.methods import method
from motet.models.names import model
from motet.models.protocol import Model
from motet.run import Run
from motet.teams import Team
from motet.types import Task

if TYPE_CHECKING:
    from motet.evals.lab.prepared import Training


LEARNT = {"members", "weights", "active", "tokens", "profiles", "controller"}
"""Knobs that a training sets; where one is set by hand, there is none."""


@dataclass(frozen=True)
class Subject:
    """A team, the task that it is tried on, and the voices that are no simulated ones.

    Args:
        team: uncast, with its knobs.
        given: who sings a voice in its example; what is simulated there is cast anew.
        acts: the form that some voices need a simulated solver in.
        training: how a method that learns is made ready in each world.
    """

    team: Team[...]
    task: Task = SUM
    given: Mapping[str, Any] = field(default_factory=dict)
    acts: Mapping[str, Callable[[Model], Model]] = field(default_factory=dict)
    training: "Training | None" = None

    def cast(self, honest: Any, liar: Any = "", deceivers: int = 0) -> Team[...]:
        """The team with simulated voices, the last of which may be deceivers.

        Those are the last members of its group; in a team without a group, its last voices.

        Raises:
            BadInput: nobody honest would be left.
        """
        if deceivers and deceivers > self.most_deceivers:
            raise BadInput(
                f"deceivers={deceivers!r}: {self.team.name} has {len(self.seats)} seats, one of them honest"
            )
        return self.seated(honest, [honest] * (len(self.seats) - deceivers) + [liar] * deceivers)

    def seated(self, other: Any, singers: Sequence[Any]) -> Team[...]:
        """The team with a singer for each of its seats, in their order, and another in all other places."""
        places = [(voice, i) for voice, size in self._sizes.items() for i in range(size)]
        seats = [place for place in places if not self.group or place[0] == self.group]
        taken = dict(zip(seats, singers, strict=True))
        cast = {voice: self.given.get(voice, other) for voice in self.team.voices}
        for voice, size in self._sizes.items():
            members = [self._acting(voice, taken.get((voice, i), other)) for i in range(size)]
            cast[voice] = members if self.team.voices[voice] else members[0]
        return self.team.cast(**cast)

    def _acting(self, voice: str, singer: Any) -> Any:
        """A simulated solver in the form that the voice needs; anything else as it is."""
        plays = voice in self.acts and isinstance(singer, str) and singer.startswith("sim:")
        return self.acts[voice](model(singer)) if plays else singer

    def show(self) -> Run:
        """A run in step, to look at."""
        casts = []
        for singer in SINGERS:
            voices = {voice: self.given.get(voice, singer) for voice in self.team.voices}
            casts.append(self.team.cast(**{v: self._acting(v, given) for v, given in voices.items()}))
        return shown(casts, self.task)

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
        team = method(tried).team.configured(**{**there.knobs, **knobs})
        training = None if LEARNT & knobs.keys() else there.training
        return Subject(team, there.task, there.voices, there.acts, training)
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
