"""Axis 1: who is compared with whom, and the check that they may be."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Literal

from motet.credit.types import Batch, Name, Trajectory
from motet.errors import BadInput

TrajectoryKey = Literal["all", "voice", "game_voice", "task", "task_voice", "proposal"]
StepKey = Literal["all", "voice", "game_voice", "task", "task_voice", "proposal", "turn", "state"]


def turn(trajectory: Trajectory, i: int) -> int:
    """Which turn a step was: what it says, else its place."""
    given = trajectory.steps[i].turn
    return i if given is None else given


def _state(t: Trajectory, i: int) -> Hashable:
    # A step whose state is not known is alone: unknown is not equal to unknown.
    state = t.steps[i].state
    return (t.group, t.voice, state) if state != "" else object()


KEYS: dict[str, Callable[[Trajectory, int], Hashable]] = {
    "all": lambda t, i: None,
    "voice": lambda t, i: t.voice,
    "game_voice": lambda t, i: (t.game or t.group, t.voice),
    "task": lambda t, i: t.group,
    "task_voice": lambda t, i: (t.group, t.voice),
    "proposal": lambda t, i: (t.group, t.proposal, t.voice),
    "turn": lambda t, i: (t.group, t.voice, turn(t, i)),
    "state": _state,
}
"""The keys by name. The first six look at the trajectory only; `turn` is the (env, turn, agent) of AT-GRPO,
`state` the anchor of GiGPO."""

SAME_START = ("task", "task_voice", "proposal", "turn")
"""Keys under which rollouts are comparable only when they began in the same state."""

ALIKE = "seed their environments alike, or give them groups of their own"
BRANCHED = "branch at every turn, as `motet.train.branching.Branching` does, or give them groups of their own"


def check(batch: Batch, key: str) -> None:
    """Refuse a comparison of rollouts that did not start alike.

    Raises:
        BadInput: two rollouts under one key, of one voice, began in different known states; names both.
    """
    if key in SAME_START:
        _same(
            ((t.group, t.proposal if key == "proposal" else None, t.voice), t.origin)
            for t in batch.trajectories
        )


def check_turns(batch: Batch) -> None:
    """Refuse a comparison of samples of one agent and turn that were not drawn in the same state.

    Raises:
        BadInput: as `check`.
    """
    states = (
        ((t.group, t.voice, f"turn {turn(t, i)}"), step.state)
        for t in batch.trajectories
        for i, step in enumerate(t.steps)
    )
    _same(states, BRANCHED)


def _same(states: Iterable[tuple[tuple[Name | None, ...], Name]], mend: str = ALIKE) -> None:
    seen: dict[Hashable, Name] = {}
    for key, state in states:
        if state != "" and seen.setdefault(key, state) != state:
            where = ", ".join(str(part) for part in key[1:] if part not in (None, ""))
            raise BadInput(
                f"group {key[0]!r}{f' ({where})' if where else ''} holds rollouts that started from "
                f"different states, {_short(seen[key])} and {_short(state)}; only rollouts from one state "
                f"can be compared: {mend}"
            )


def _short(state: Name) -> str:
    return repr(state) if len(str(state)) <= 80 else repr(f"{str(state)[:77]}...")


def members(keys: Iterable[Hashable]) -> dict[Hashable, list[int]]:
    """The places at which each key stands, in order of first appearance."""
    found: defaultdict[Hashable, list[int]] = defaultdict(list)
    for i, key in enumerate(keys):
        found[key].append(i)
    return dict(found)


def episodes(batch: Batch) -> list[list[int]]:
    """Which trajectories were one run of the team: by `episode`, else the n-th of each voice of a group."""
    seen: defaultdict[Hashable, int] = defaultdict(int)
    keys: list[Hashable] = []
    for t in batch.trajectories:
        place = seen[t.group, t.voice]
        seen[t.group, t.voice] += 1
        keys.append((t.group, "n-th", place) if t.episode is None else (t.group, "named", t.episode))
    return list(members(keys).values())
