"""Credit: from trajectories to one advantage for every step, as a product of small axes.

Group key (`keys`) × baseline and normaliser (`compare`, `running`) × time (`returns`) × source of reward
(`rewards`, `counterfactual`, `public_goods`) × projection to tokens (`project`). `PRESETS` names points.

>>> from motet.credit import Step, Trajectory, credit
>>> won, lost = (Trajectory(group="g", reward=r, steps=(Step(), Step())) for r in (1.0, 0.0))
>>> credit([won, lost], "dr_grpo").advantages
((0.5, 0.5), (-0.5, -0.5))
"""

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from msgspec.structs import replace

from motet.credit.preset import Preset
from motet.credit.presets import PRESETS
from motet.credit.project import to_tokens, weights
from motet.credit.types import Batch, Credit, Step, Trajectory
from motet.errors import UnknownName

__all__ = [
    "PRESETS",
    "Batch",
    "Credit",
    "Preset",
    "Step",
    "Trajectory",
    "credit",
    "preset",
    "to_tokens",
    "weights",
]


T = TypeVar("T")


def preset(name: str) -> Preset:
    """The preset of this name.

    Raises:
        UnknownName: there is none.
    """
    if name not in PRESETS:
        raise UnknownName("credit preset", name, PRESETS)
    return PRESETS[name]


def credit(
    trajectories: Sequence[Trajectory],
    name: str = "grpo",
    *,
    state: Mapping[str, float] | None = None,
    **options: Any,
) -> Credit:
    """One advantage for every step.

    Masked steps are taken out first, so that they change nothing, and get None.

    Args:
        trajectories: those whose groups are complete; groups may be credited together or apart.
        name: of a preset.
        state: the running baselines that the last batch left (`Credit.state`).
        options: the preset's.

    Raises:
        UnknownName: there is no such preset or option.
        BadInput: an option is not of its type, rollouts of one group started in different states, or a step
            lacks what the formula needs.
    """
    chosen = preset(name)
    live = tuple(replace(t, steps=tuple(s for s in t.steps if not s.masked)) for t in trajectories)
    found = chosen.function(Batch(live, dict(state or {})), **chosen.read(options, name))
    return Credit(
        tuple(_put_back(t, row) for t, row in zip(trajectories, found.advantages, strict=True)),
        {"trajectories": len(live), **found.counts},
        found.state,
        found.tokens and tuple(_put_back(t, row) for t, row in zip(trajectories, found.tokens, strict=True)),
    )


def _put_back(trajectory: Trajectory, row: Sequence[T | None]) -> tuple[T | None, ...]:
    values = iter(row)
    return tuple(None if step.masked else next(values) for step in trajectory.steps)
