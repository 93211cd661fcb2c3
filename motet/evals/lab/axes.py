"""A method along any axes: what its voices are like, and its own knobs."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from motet.errors import BadInput
from motet.evals.lab.subject import subject
from motet.evals.lab.sweep import Cell, Progress, Sweep, Trial
from motet.evals.lab.world import BASE, PLANTED, Profiles
from motet.teams import Team

OWN = ("items", "seed", "knobs", "skills", "on_progress")
"""What `sweep` has for itself."""


def sweep(
    tried: "str | Team[...]",
    *,
    items: int = 200,
    seed: int = 0,
    knobs: Mapping[str, Any] | None = None,
    skills: Profiles = (),
    on_progress: Progress | None = None,
    **axes: float | Sequence[float],
) -> Sweep:
    """Try a method in every combination of worlds and of its own knobs: what `motet lab --vary` shows.

    Each combination is held against self-consistency with as many calls as the method makes with those knobs.
    Intervals of the gain hold in all of them together.

    Args:
        tried: the name of a method, or a team; voices of it that are cast stay as they are.
        items: runs in each combination.
        seed: another one has other items.
        knobs: of the method, other than those of its example; the same in all combinations.
        skills: for each seat, from the first, how often it is right in some topics: the items are on all of
            these in turn. A seat for which nothing is said has the `skill` of the world in all of them.
        on_progress: told how many combinations are done, and of how many.
        **axes: a number, or several to vary: knobs of a simulated solver (see `motet.models.sim`),
            `deceivers`, `weak` and `profile` (see `motet.evals.lab.world`), and knobs of the method that are
            numbers. A name that is both is the solver's. What is not named is as in `BASE`.

    Raises:
        UnknownName: no such method or knob. BadInput: no such axis, no values, no numbers, or none that the
            knob may have; too many deceivers, weak members or `skills` for the seats; or a knob that is set
            is varied too.

    >>> found = sweep("self_consistency", items=20, n=(1, 5), skill=0.9)
    >>> [(cell.world["n"], cell.calls) for cell in found.cells]
    [(1, 1.0), (5, 5.0)]
    """
    team = subject(tried, **(knobs or {})).team
    if both := [name for name in axes if name not in PLANTED and name in (knobs or {})]:
        raise BadInput(f"{both[0]} of {team.name} is set and varied; do one of the two")
    values = {name: _values(team, name, given) for name, given in axes.items()}
    if skills and any(values.get("profile", ())):
        raise BadInput("skills and profile both say who is good at what; give one of the two")
    points = list(product(*values.values()))
    trial = Trial(items, seed, len(points), skills)
    subjects, cells = {}, list[Cell]()
    first = {**BASE, **{name: some[0] for name, some in values.items()}}
    for done, point in enumerate(points, 1):
        place = dict(zip(values, point, strict=True))
        mine = {name: value for name, value in place.items() if name not in PLANTED}
        key = tuple(mine.values())
        if key not in subjects:
            subjects[key] = subject(tried, **{**(knobs or {}), **mine})
        if len(skills) > (seats := len(subjects[key].seats)):
            raise BadInput(f"{len(skills)} skills: {team.name} has {seats} seats")
        world = {name: value for name, value in {**first, **place}.items() if name in PLANTED}
        cell = trial.cell(subjects[key], world)
        cells.append(Cell({**cell.world, **mine}, *(getattr(cell, f) for f in Cell.__struct_fields__[1:])))
        if on_progress:
            on_progress(done, len(points))
    return Sweep(team.name, items, seed, first, tuple(cells))


def known(team: Team[...], name: str) -> None:
    """Check that there is an axis of this name.

    Raises:
        BadInput: there is none.
    """
    if name not in PLANTED and (name not in team.knobs or name in OWN):
        raise BadInput(
            f"there is no {name!r} to vary; voices have {', '.join(PLANTED)}; "
            f"{team.name} has {', '.join(k for k in team.knobs if k not in OWN) or 'no knobs'}"
        )


def _values(team: Team[...], name: str, given: float | Sequence[float]) -> tuple[float, ...]:
    """The values along an axis.

    Raises:
        BadInput: no such axis, no values, or something else than numbers.
    """
    known(team, name)
    values = tuple(given) if isinstance(given, Sequence) else (given,)
    if not values or not all(isinstance(value, int | float) for value in values):
        raise BadInput(f"{name}={given!r}: expected numbers; what is no number can be set, not varied")
    return values
