"""A text as a short vector, and scores as chances: the fixed encoder under the routers that learn."""

import math
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32


@lru_cache(maxsize=4096)
def features(text: str, d: int) -> tuple[float, ...]:
    """The letter trigrams of a text, hashed with signs into `d` numbers of length 1 together.

    >>> len(features("Sort the sheet.", 8)), features("A  b", 8) == features("a b", 8)
    (8, True)
    """
    padded = f"  {' '.join(text.lower().split())} "
    counts = [0.0] * d
    for i in range(len(padded) - 2):
        code = crc32(padded[i : i + 3].encode())
        counts[(code & 0x7FFFFFFF) % d] += 1.0 if code >> 31 else -1.0
    length = math.hypot(*counts) or 1.0
    return tuple(count / length for count in counts)


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    """The inner product of two vectors of one length; of two `features` of one `d`, their cosine."""
    return sum(x * y for x, y in zip(a, b, strict=True))


def softmax(scores: Sequence[float]) -> list[float]:
    """Chances in proportion to the exponentials of some scores."""
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    return [power / sum(powers) for power in powers]
