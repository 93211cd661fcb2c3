"""Texts cut and packed to fit a window, which is counted in words.

A run of more than 24 characters without a space, as in languages that write none, counts as several words.
"""

import re
from collections.abc import Iterator, Sequence

from motet.types import Linked, Reply

_WORD = re.compile(r"(?m)(?:^[ \t]+)?\S{1,24}")  # with the indent before it


def chunks(texts: Sequence[str], size: int) -> list[str]:
    """Texts packed in order into chunks of `size` words at most, with a blank line between two texts.

    A text is cut only when it is longer than a chunk. Lines stand as they stood.
    """
    packed: list[str] = []
    left = 0
    for piece in (piece for text in texts for piece in _pieces(text, size)):
        words = _length(piece)
        if words <= left:
            packed[-1] += f"\n\n{piece}"
            left -= words
        else:
            packed.append(piece)
            left = size - words
    return packed


def fitting(texts: Sequence[Linked | Reply], size: int) -> list[Linked]:
    """As many whole texts, in order, as fit into `size` words; the first is cut to fit."""
    kept: list[Linked] = []
    for text in texts:
        words = _length(text.text)
        if kept and words > size:
            break
        shown = text.text if words <= size else next(_pieces(text.text, size))
        kept.append(Linked(shown, text.links))
        size -= words
    return kept


def _length(text: str) -> int:
    """How many words a text has."""
    return sum(1 for _ in _WORD.finditer(text))


def _pieces(text: str, size: int) -> Iterator[str]:
    """A text cut after every `size` words."""
    spans = [word.span() for word in _WORD.finditer(text)]
    for i in range(0, len(spans), size):
        yield text[spans[i][0] : spans[i : i + size][-1][1]]
