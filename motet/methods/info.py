"""What is known of a method besides its code: where it comes from and how many calls it makes."""

import re
from dataclasses import dataclass
from typing import Any

from motet.teams import Team
from motet.tools.calculator import calculate

AT_MOST = "≤ "


@dataclass(frozen=True)
class Method:
    """One published method.

    Args:
        team: its function, uncast, with default knobs.
        family: the mechanism: the name of its folder.
        paper: authors, year, arXiv id.
        calls: model calls of one run as arithmetic in the knobs, when no voice fails, uses tools or has its
            format mended; with a leading `≤` when the method may stop sooner. A team that sings a voice
            makes its own number of calls each time.
        system: its number in the catalogue of published systems, if it has one.
    """

    team: Team[...]
    family: str
    paper: str
    calls: str
    system: int | None = None

    @property
    def name(self) -> str:
        """The name by which it is found."""
        return self.team.name

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return (self.team.__doc__ or "").strip().partition("\n")[0]

    @property
    def source(self) -> str:
        """The paper, and the number in the catalogue if it has one."""
        return f"{self.paper} (catalogue {self.system})" if self.system else self.paper

    def most_calls(self, **knobs: Any) -> int:
        """How many calls a run makes (at most, when it may stop sooner), with some knobs set.

        Raises:
            UnknownName: it has no such knob.

        >>> from motet.methods import method
        >>> method("debate").most_calls(n=3, r=1)
        6
        """
        values = self.team.configured(**knobs).knobs
        formula = self.calls.removeprefix(AT_MOST)
        return int(calculate(re.sub(r"\w+", lambda word: str(values.get(word[0], word[0])), formula)))

    def listing(self) -> dict[str, Any]:
        """What `motet methods --json` prints of it."""
        return {
            "name": self.name,
            "family": self.family,
            "paper": self.paper,
            "system": self.system,
            "voices": list(self.team.voices),
            "groups": [voice for voice, group in self.team.voices.items() if group],
            "knobs": self.team.knobs,
            "calls": self.calls,
            "summary": self.summary,
        }
