"""Arrays as parts of messages: what a small network sees lies on the tape like any other prompt.

An array is a medium without words: its numbers, flattened, as little-endian 32-bit floats. Its *ids*, which
training rows are made of, are the bits of those floats read as whole numbers, so nothing is lost or rounded.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from motet.errors import BadInput
from motet.types import Media, Message

FLOATS = "application/x-float32"
"""The media type of an array."""


def array_part(array: Any) -> Media:
    """An array, or a tree of arrays (in the order of its names), as a part of a message."""
    return Media.of(_bytes(array), FLOATS)


def _bytes(array: Any) -> bytes:
    import numpy

    if isinstance(array, Mapping):
        return b"".join(_bytes(array[name]) for name in sorted(array))
    return numpy.asarray(array, dtype="<f4").tobytes()


def array_bytes(messages: Sequence[Message]) -> bytes:
    """The arrays in these messages, one after another.

    Raises:
        BadInput: there is none.
    """
    parts = (part for message in messages for part in message.parts)
    found = b"".join(
        part.data for part in parts if isinstance(part, Media) and part.media_type == FLOATS and part.data
    )
    if not found:
        raise BadInput(
            "a small network was asked with words alone; it reads arrays: put `array_part(…)` in the message "
            "or make the environment with `words=False`"
        )
    return found


def ids_of(floats: bytes) -> tuple[int, ...]:
    """The bits of each number as an id.

    >>> ids_of(array_part([0.0, 1.0]).data)
    (0, 1065353216)
    """
    import numpy

    return tuple(numpy.frombuffer(floats, dtype="<u4").tolist())


def floats_of(ids: Iterable[int]) -> list[float]:
    """The numbers whose bits these are.

    >>> floats_of((0, 1065353216))
    [0.0, 1.0]
    """
    import numpy

    found: list[float] = numpy.array([*ids], dtype="<u4").view("<f4").tolist()
    return found
