"""Documents of a task, and two ways to rank them for a question: by words (BM25) and by likeness.

The documents are `task.meta["documents"]`, or a method's own knob: a list of texts.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from math import sqrt

from motet.memory import BM25
from motet.methods.common import brought
from motet.types import Linked, Task

Vector = Mapping[str, float]
NOTHING = "(nothing was found)"


def documents_of(task: Task, given: Sequence[str] = (), key: str = "documents") -> list[str]:
    """The documents given as a knob or, when there are none, those that came with the task.

    Raises:
        BadInput: they are not a list of texts.
    """
    return list(brought(task, key, given, Sequence[str]))


class Corpus:
    """Documents that can be ranked for a query.

    Args:
        texts: the documents.
        embed: gives a text's vector, by the names of its dimensions; counts of letter trigrams when left out,
            which find inflected and misspelt words that BM25 misses.
    """

    def __init__(self, texts: Sequence[str], embed: Callable[[str], Vector] | None = None) -> None:
        self.texts = list(texts)
        self._words, self._embed = BM25(texts), embed or trigrams
        self._vectors = [self._embed(text) for text in texts]
        self._squares = [square(vector) for vector in self._vectors]

    def sparse(self, query: str) -> list[float]:
        """The BM25 score of every document."""
        return self._words.scores(query)

    def dense(self, query: str) -> list[float]:
        """The cosine of every document's vector with the query's."""
        vector = self._embed(query)
        own = square(vector)
        both = zip(self._vectors, self._squares, strict=True)
        return [dot(vector, other) / sqrt(own * its) if own and its else 0.0 for other, its in both]

    def hybrid(self, query: str, alpha: float, dense: Sequence[float] | None = None) -> list[float]:
        """`alpha` times the dense score (computed unless given) plus 1 - `alpha` times the sparse one, each
        scaled to 0..1."""
        likeness = self.dense(query) if dense is None else dense
        both = zip(min_max(likeness), min_max(self.sparse(query)), strict=True)
        return [alpha * dense + (1 - alpha) * sparse for dense, sparse in both]


@lru_cache(maxsize=16)
def indexed(texts: tuple[str, ...], embed: Callable[[str], Vector] | None = None) -> Corpus:
    """The corpus of some texts; runs that share them read them once."""
    return Corpus(texts, embed)


def best(scores: Sequence[float], k: int, *, above: float = float("-inf")) -> list[int]:
    """The places of the `k` highest scores above a bound, highest first; equals in their order."""
    places = [i for i, score in enumerate(scores) if score > above]
    return sorted(places, key=lambda i: -scores[i])[:k]


def min_max(values: Sequence[float], flat: float = 0.0) -> list[float]:
    """The values scaled so that the least is 0 and the greatest 1; all are `flat` when they are equal."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(v - low) / (high - low) if high > low else flat for v in values]


@lru_cache(maxsize=1024)
def trigrams(text: str) -> Vector:
    """How often each three letters follow each other in the words of a text."""
    padded = [f" {word} " for word in re.findall(r"\w+", text.lower())]
    return Counter(word[i : i + 3] for word in padded for i in range(len(word) - 2))


def cosine(a: Vector, b: Vector) -> float:
    """The cosine of the angle between two vectors; 0 when one of them is empty."""
    lengths = sqrt(square(a) * square(b))
    return dot(a, b) / lengths if lengths else 0.0


def dot(a: Vector, b: Vector) -> float:
    """The inner product of two vectors."""
    return sum(a[x] * b[x] for x in a.keys() & b.keys())


def square(vector: Vector) -> float:
    """The squared length of a vector."""
    return sum(v * v for v in vector.values())


def numbered(texts: Sequence[Linked], first: int | None = 1) -> Linked:
    """Texts as paragraphs of one, numbered from `first` unless that is None, with all their links."""
    lines = [t.text if first is None else f"[{i}] {t.text}" for i, t in enumerate(texts, first or 0)]
    return Linked("\n\n".join(lines) or NOTHING, tuple(link for t in texts for link in t.links))
