"""Gymnasium's spaces as words: listing, reading and drawing actions, and showing observations."""

import os
from collections.abc import Mapping
from random import Random
from typing import Any

import msgspec

from motet.envs.actions import free, pick
from motet.envs.protocol import Observation
from motet.models.arrays import array_part

LISTED = 128


def hush() -> None:
    """Keep pygame, which many of these packages import, from greeting on stdout."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")


def legal_of(space: Any, mask: Any = None) -> tuple[int, ...] | None:
    """The actions of a discrete space (those that the mask allows); None when they cannot be listed."""
    if type(space).__name__ != "Discrete" or space.n > LISTED:
        return None
    first = int(space.start)
    return tuple(first + i for i in range(int(space.n)) if mask is None or mask[i])


def read(space: Any, legal: tuple[int, ...] | None, text: str) -> Any:
    """The action that a text names: a listed number, a text of a text space, or JSON of the space's shape."""
    if legal is not None:
        named = pick(text, map(str, legal))
        return None if named is None else int(named)
    said = free(text) or ""
    if type(space).__name__ == "Text":
        return said if said in space else None
    try:
        values = msgspec.json.decode(said)
        action = _shaped(space, values)
    except (msgspec.DecodeError, ValueError, TypeError, OverflowError):
        return None
    return action if action in space else None


def _shaped(space: Any, values: Any) -> Any:
    import numpy

    return (
        numpy.asarray(values, dtype=space.dtype).reshape(space.shape) if space.shape is not None else values
    )


def sample(space: Any, legal: tuple[int, ...] | None, rng: Random) -> Any:
    """A random action, drawn with our generator."""
    if legal is not None:
        return rng.choice(legal)
    space.seed(rng.getrandbits(31))
    return space.sample()


def allows(space: Any, legal: tuple[int, ...] | None, action: Any) -> bool:
    """Whether the action can be taken."""
    if legal is None:
        return bool(action in space)
    return isinstance(action, int) and action in legal


def observation(
    seen: Any, legal: tuple[int, ...] | None, picture: str = "", *, words: bool = True
) -> Observation:
    """What a package shows, in words and, unless it is words alone, as arrays.

    Args:
        picture: the words, where the package has its own.
        words: without them the arrays are a part of the question.
    """
    if isinstance(seen, str):
        return Observation(seen, legal)
    if not words:
        arrays = _arrays(seen)
        return Observation("", legal, arrays, (array_part(arrays),))
    told = picture or show(seen)
    if legal is not None:
        told = f"{told}\nLegal: {', '.join(map(str, legal))}"
    return Observation(told, legal, _arrays(seen))


def show(seen: Any) -> str:
    """Arrays in words: whole numbers as they are, others with four digits."""
    import numpy

    if isinstance(seen, Mapping):
        return "\n".join(f"{name}: {show(value)}" for name, value in seen.items())
    if isinstance(seen, (tuple, list)):
        return "(" + ", ".join(map(show, seen)) + ")"
    if isinstance(seen, numpy.ndarray):
        return numpy.array2string(seen, precision=4, suppress_small=True, threshold=512)
    return str(seen)


def _arrays(seen: Any) -> Any:
    import numpy

    if isinstance(seen, Mapping):
        return {str(name): _arrays(value) for name, value in seen.items()}
    if isinstance(seen, (tuple, list)):
        return {str(i): _arrays(value) for i, value in enumerate(seen)}
    return numpy.asarray(seen)
