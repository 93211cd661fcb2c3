"""Which fields a preset reads, found by running it, and what the fields mean, read off their docstrings."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from inspect import getdoc
from itertools import combinations
from typing import Any, Literal, get_args, get_origin, get_type_hints

from msgspec import Struct

from motet.credit.preset import Preset
from motet.credit.types import Batch, Step, Trajectory
from motet.errors import BadInput

Kind = Trajectory | Step


class Reads(Struct, frozen=True):
    """The fields that a preset reads, in the order of their definition."""

    trajectory: tuple[str, ...]
    step: tuple[str, ...]


def reads(preset: Preset) -> Reads:
    """What a preset looks at, with any of its options.

    It is run on a few made-up trajectories that note what they are asked for: with each named value of each
    option, and with one field missing at a time, since some fields stand in for others.
    """
    asked: dict[type[Kind], set[str]] = {Trajectory: set(), Step: set()}
    watched = {kind: _watched(kind, names) for kind, names in asked.items()}
    tried = [(options, "") for options in _settings(preset)]
    tried += [(preset.options, name) for kind in asked for name in kind.__struct_fields__]
    for options, missing in tried:
        with suppress(BadInput):  # the field that is missing: it was asked for all the same
            preset.function(_example(preset, watched, missing), **options)
    found = [tuple(f for f in kind.__struct_fields__ if f in names) for kind, names in asked.items()]
    return Reads(*found)


@cache
def meanings(kind: type[Kind]) -> Mapping[str, str]:
    """Each field with what its docstring says of it."""
    text = (getdoc(kind) or "").partition("Args:\n")[2]
    items = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", text, re.MULTILINE)
    return {name: " ".join(said.split()) for name, said in items}


def _watched(kind: type[Kind], names: set[str]) -> Callable[..., Any]:
    """The type, noting which of its fields are asked for."""

    def asked(self: Any, name: str) -> Any:
        if name in kind.__struct_fields__:
            names.add(name)
        return object.__getattribute__(self, name)

    make: Any = type(kind)
    watched: type[Any] = make(f"Watched{kind.__name__}", (kind,), {"__getattribute__": asked}, frozen=True)
    return watched


def _settings(preset: Preset) -> Iterator[dict[str, Any]]:
    """The default options, and each option in turn set to each value that its type names."""
    yield (default := preset.options)
    for option, hint in get_type_hints(preset.function).items():
        for value in _named(hint) if option in default else ():
            yield default | {option: value}


def _named(hint: Any) -> tuple[Any, ...]:
    """The values that a type names."""
    if get_origin(hint) is Literal:
        return get_args(hint)
    return (True, False) if hint is bool else tuple(value for arm in get_args(hint) for value in _named(arm))


def _example(preset: Preset, watched: Mapping[type[Kind], Callable[..., Any]], missing: str) -> Batch:
    """Two runs of one group, in which all voices that the options name take part."""
    hints = get_type_hints(preset.function)
    named = [value for option, value in preset.options.items() if hints[option] is str]
    voices = sorted({*named, "a", "b"})
    sets = ["+".join(some) for n in range(len(voices) + 1) for some in combinations(voices, n)]
    step = {
        **{"state": "s", "reward": 0.5, "value": 0.1, "tokens": 2, "turn": 0, "node": "n", "q": 0.2},
        **{"progress": 0.1, "executable": True, "answer_logp": -1.0, "contribution": 1.0, "judge": 0.5},
        **{"entropy": 0.3, "reason_tokens": 1},
    }
    facts = {
        **{"group": "g", "start": "s", "game": "t", "proposal": "p", "without": 0.0},
        **{"joint_rewards": (1.0, 0.0), "coalitions": dict.fromkeys(sets, 0.5)},
    }
    step, facts = ({k: v for k, v in all_of.items() if k != missing} for all_of in (step, facts))
    two = (watched[Step](**step), watched[Step](**step))
    return Batch(
        tuple(
            watched[Trajectory](voice=voice, reward=reward, steps=two, episode=str(reward), **facts)
            for reward in (1.0, 0.0)
            for voice in voices
        )
    )
