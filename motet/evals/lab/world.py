"""What can be planted: how good, how alike, how honest the voices are, and who is good at what."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from motet.errors import BadInput
from motet.models.sim import Sim, Skills
from motet.types import Task

World = Mapping[str, float]
"""Knobs of a simulated solver, and those in `TEAM`."""

Profiles = Sequence[Mapping[str, float]]
"""For each seat, how often it is right in some topics."""

TEAM = ("deceivers", "weak", "profile")
"""Of a team: how many of its seats lie, how many have `WEAK` of the skill, and how far the seats specialise,
from 0 to 1: each is better in a topic of its own and worse in those of the others, with the same mean."""

PLANTED = (*(k for k in Skills.__struct_fields__ if k not in ("skills", "failure", "latency", "seed")), *TEAM)
"""What may vary: numbers that change what is measured."""

WHOLE = ("wrong", "tokens")
WEAK = 0.5
NAMES = ("algebra", "biology", "chemistry", "drama", "economics", "geography", "history", "law", "music")

BASE: World = {
    "skill": 0.6, "rho": 0.0, "judge": 0.6, "deceivers": 0, "weak": 0, "profile": 0,
    "follow": 0.8, "fix": 0.0, "spoil": 0.0,
}  # fmt: skip
"""The middle of the map: of ten times a voice is right six, goes with what it is shown eight, and knows the
right answer among several six; shown its own answer alone, it stays with it."""

AXES: dict[str, tuple[float, ...]] = {
    "skill": (0.3, 0.45, 0.6, 0.75, 0.9),
    "rho": (0.0, 0.3, 0.6, 1.0),
    "judge": (0.0, 0.3, 0.6, 0.9),
    "deceivers": (0, 1, 2),
    "weak": (0, 1, 2),
    "profile": (0, 1),
    "fix": (0.0, 0.2),
    "spoil": (0.0, 0.2),
}
"""What `survey` varies, one at a time."""


def solver(world: World, **changes: Any) -> str:
    """The name of a simulated solver of this world.

    Raises:
        BadInput: a knob has a value that it cannot have.
    """
    knobs = {name: value for name, value in world.items() if name not in TEAM} | changes
    return Sim(Skills(**knobs | {name: _count(world, name) for name in WHOLE if name in world})).name


def liar(world: World) -> str:
    """The name of one who lies."""
    return solver(world, deceive=1.0)


def singers(world: World, seats: int, profiles: Profiles = (), *, team: str = "the team") -> list[str]:
    """Who sits in each seat of a team: first the able and honest, then the weak, then those who lie.

    Raises:
        BadInput: no seat would be left to the able and honest; or a number is none that can be.
    """
    weak, lying = (_count(world, name) for name in ("weak", "deceivers"))
    if weak + lying > max(0, seats - 1):
        raise BadInput(
            f"deceivers={lying!r}, weak={weak!r}: {team} has {seats} seat{'s' * (seats != 1)}, "
            "one of them able and honest"
        )
    able = seats - lying - weak
    shares = [1.0] * able + [WEAK] * weak
    known = [*profiles[: len(shares)], *[{}] * (len(shares) - len(profiles))]
    return [
        solver(world, skill=world["skill"] * share, skills={t: p * share for t, p in skills.items()})
        for share, skills in zip(shares, known, strict=True)
    ] + [liar(world)] * lying


def specialists(world: World, seats: int) -> Profiles:
    """A topic for each seat, in which it is as good as `profile` of the way to the best that its mean allows.

    >>> specialists({**BASE, "profile": 1}, 3)[0]
    {'algebra': 1.0, 'biology': 0.4, 'chemistry': 0.4}
    """
    share, p = world.get("profile", 0), world["skill"]
    if not 0 <= share <= 1:
        raise BadInput(f"profile is {share!r}; expected a number from 0 to 1")
    if not share:
        return ()
    if seats < 2:
        raise BadInput(f"profile={share!r}: there is {seats} seat; topics are shared out among two or more")
    own = p + share * (min(1.0, seats * p) - p)
    other = (seats * p - own) / (seats - 1)
    names = [NAMES[i] if i < len(NAMES) else f"topic {i + 1}" for i in range(seats)]
    return [{t: round(own if t == mine else other, 4) for t in names} for mine in names]


def on(task: Task, topic: str) -> Task:
    """A task that is known, and can be seen, to be on a topic; as it is when there is none."""
    if not topic:
        return task
    meta = {**task.meta, "skill": topic}
    return msgspec.structs.replace(task, prompt=f"{task.prompt}\n(Topic: {topic}.)", meta=meta)


def topics(profiles: Profiles) -> list[str]:
    """All topics that somebody has a skill in."""
    return list(dict.fromkeys(topic for profile in profiles for topic in profile)) or [""]


def _count(world: World, name: str) -> int:
    value = world.get(name, 0)
    if value < 0 or value != int(value):
        raise BadInput(f"{name}={value!r}: expected a whole number, 0 or more")
    return int(value)
