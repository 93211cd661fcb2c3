"""Who takes part in a comparison: every team cast and under a name of its own."""

import inspect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from motet.agent import Agent
from motet.errors import BadInput
from motet.performance import bind, cast_names
from motet.teams import Team


@dataclass(frozen=True, slots=True)
class Entry:
    """A team in a comparison, under the name it has in the table."""

    label: str
    team: "Team[...]"
    role: Literal["method", "baseline"]


def same_or_new(team: "Team[...]", label: str, methods: list[Entry]) -> Entry:
    """The method that is this very baseline, or a row of its own for it."""
    for entry in methods:
        if entry.team.identity == team.identity:
            return entry
    return Entry(_unused(label, {entry.label for entry in methods}, team), team, "baseline")


def cast_all(methods: "Iterable[Team[...] | str] | Team[...] | str", model: Any) -> "list[Team[...]]":
    """The teams with everybody cast.

    Raises:
        BadInput: there are none, or a voice has nobody to sing it. UnknownName: no such method.
    """
    from motet.methods import method as named

    given = [methods] if isinstance(methods, (Team, str)) else list(methods)
    if not given:
        raise BadInput("there is nothing to compare; give at least one team or name of a method")
    teams = []
    for method in given:
        team = named(method).team if isinstance(method, str) else method
        if model is not None:
            team = team.cast(model)
        bind(team)
        teams.append(team)
    return list({team.identity: team for team in teams}.values())


def baseline_voice(teams: "Sequence[Team[...]]", model: Any) -> Any:
    """Who sings the baselines: `model`, or whoever is the first to sing in the first team."""
    if model is not None:
        return model
    for team in teams:
        for member in (m for members in team.parts.values() for m in members):
            if isinstance(member, Agent):
                return member.model
    raise BadInput("nobody is there to sing the baselines; give model=…, or baselines=False")


def entries_of(teams: "Sequence[Team[...]]", taken: set[str] | None = None) -> list[Entry]:
    """Each team under a name of its own: with the knobs that were set, and its models if it must be."""
    taken = set(taken or ())
    entries = []
    for team in teams:
        label = _unused(_label(team), taken, team)
        taken.add(label)
        entries.append(Entry(label, team, "method"))
    return entries


def _label(team: "Team[...]") -> str:
    parameters = inspect.signature(team.function).parameters
    usual = {k: p.default for k, p in parameters.items() if k != "n" or isinstance(p.default, float)}
    changed = {k: v for k, v in team.knobs.items() if k not in usual or v != usual[k]}
    words = (f"{k}={v!r}" if len(repr(v)) <= 24 else f"{k}=…" for k, v in changed.items())
    return f"{team.name}({', '.join(words)})" if changed else team.name


def _unused(label: str, taken: set[str], team: "Team[...]") -> str:
    if label in taken:
        label = f"{label} by {', '.join(dict.fromkeys(cast_names(team).values()))}"
    number, plain = 1, label
    while label in taken:
        number += 1
        label = f"{plain} #{number}"
    return label
