"""What is known of a preset, and how its options are read."""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec

from motet.credit.project import Reduction
from motet.credit.types import Credit, Step, Trajectory
from motet.errors import BadInput, UnknownName

Coalitions = Callable[[Sequence[str], dict[str, Any]], Iterable[frozenset[str]]]
"""From the names of the voices, and options, to the sets of voices whose reward is asked for."""


@dataclass(frozen=True)
class Preset:
    """A named way to give credit.

    Args:
        function: from a batch to credit; its keyword-only parameters are the options.
        paper: authors, year, arXiv id.
        formula: the advantage, in one line.
        system: its number in the catalogue of published systems, if it has one.
        reduction: how the loss that goes with it weighs tokens (`motet.credit.weights`).
        needs: fields of `Step` or `Trajectory` without which there is no credit; `a|b` is either.
        coalitions: which replays without some voices it reads; None where it reads none.
    """

    function: Callable[..., Credit]
    paper: str
    formula: str
    system: int | None = None
    reduction: Reduction = "sequence"
    needs: tuple[str, ...] = ()
    coalitions: Coalitions | None = None

    def lacks(self, trajectories: Sequence[Trajectory]) -> list[str]:
        """What the preset needs and no trajectory has."""
        return [
            need
            for need in self.needs
            if trajectories and not any(_has(t, field) for t in trajectories for field in need.split("|"))
        ]

    def check(self, trajectories: Sequence[Trajectory], name: str) -> None:
        """See that what the preset called `name` needs is there.

        Raises:
            BadInput: no trajectory has it.
        """
        if lacking := self.lacks(trajectories):
            wanted = " and ".join(" or ".join(map(_place, need.split("|"))) for need in lacking)
            raise BadInput(
                f"the credit preset {name!r} reads {wanted}, and none of the {len(trajectories)} "
                f"trajectories has any; `motet credit --help` says what each preset reads"
            )

    @property
    def options(self) -> dict[str, Any]:
        """Each option with its default."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def read(self, given: dict[str, Any], name: str = "this preset") -> dict[str, Any]:
        """All options, those given converted to their types (from words too).

        Raises:
            UnknownName: there is no such option. BadInput: a value is not of its type.
        """
        options = self.options
        hints = get_type_hints(self.function, include_extras=True)
        for option, value in given.items():
            if option not in options:
                raise UnknownName(f"option of {name}", option, options)
            try:
                options[option] = _read(value, hints[option])
            except ValueError as error:
                wanted = _expected(error, hints[option])
                raise BadInput(
                    f"{option} of {name} is {value!r}, its default is {options[option]!r}: {wanted}"
                ) from error
        return options


def _place(field: str) -> str:
    return f"`{field}` of {'steps' if field in Step.__struct_fields__ else 'trajectories'}"


def _has(trajectory: Trajectory, field: str) -> bool:
    where = trajectory.steps if field in Step.__struct_fields__ else (trajectory,)
    return any(getattr(one, field) not in (None, (), {}) for one in where)


def _read(value: Any, wanted: Any) -> Any:
    try:
        found = msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError:
        if not isinstance(value, str) or not re.fullmatch(r"[+-]?\.\d+", value):
            raise
        found = msgspec.convert(float(value), wanted)  # `.95`, which is no number in JSON
    if isinstance(found, float) and not isfinite(found):
        raise ValueError("expected a finite number")
    return found


def _expected(error: ValueError, hint: Any) -> str:
    """What is wrong, and the words that are allowed where there are only some."""
    return f"expected one of {', '.join(get_args(hint))}" if get_origin(hint) is Literal else str(error)
