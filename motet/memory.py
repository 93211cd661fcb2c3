"""Memory: what a voice recalls of what it said before, beyond the conversation it is in."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log
from typing import Protocol

from motet.types import Content, Linked, Reply

_WORD = re.compile(r"\w+")


class Memory(Protocol):
    """Anything that can note an exchange and recall what bears on a new question."""

    def fresh(self) -> "Memory":
        """An empty memory of the same kind, for a new run. Return `self` to remember across runs."""
        ...

    def recall(self, question: str) -> Sequence[Content]:
        """What to put before the question. Replies and linked texts keep their links."""
        ...

    def note(self, question: str, reply: Reply) -> None:
        """Keep an exchange."""
        ...


class BufferMemory:
    """Recalls the last exchanges, oldest first.

    Args:
        last: how many.
    """

    def __init__(self, last: int = 8) -> None:
        self.last = last
        self._kept: list[Linked] = []

    def fresh(self) -> "BufferMemory":
        """An empty buffer of the same length."""
        return BufferMemory(self.last)

    def recall(self, question: str) -> Sequence[Content]:
        """The last exchanges, whatever the question."""
        return tuple(self._kept)

    def note(self, question: str, reply: Reply) -> None:
        """Keep an exchange and let the oldest go."""
        self._kept = [*self._kept, _exchange(question, reply)][-self.last :]


class BM25:
    """Okapi BM25 over texts that are added one by one; a query looks only at texts that share its words.

    Args:
        texts: the first of them.
        k1, b: saturation and length normalisation.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, eq. 3.15.
    """

    def __init__(self, texts: Iterable[str] = (), *, k1: float = 1.5, b: float = 0.75) -> None:
        self.k1, self.b = k1, b
        self._sizes: list[int] = []
        self._total = 0
        self._holders: dict[str, list[tuple[int, int]]] = {}
        """Of each word, the texts that hold it and how often."""
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Take in one more text."""
        place, counts, size = len(self._sizes), *_counted(text)
        for word, count in counts:
            self._holders.setdefault(word, []).append((place, count))
        self._sizes.append(size)
        self._total += size

    def scores(self, query: str) -> list[float]:
        """How well each text fits a query, in the order in which they came; 0 when no word is shared."""
        n, k1, sizes = len(self._sizes), self.k1, self._sizes
        scores = [0.0] * n
        short, per_word = k1 * (1 - self.b), k1 * self.b * n / (self._total or 1)
        for word, _ in _counted(query)[0]:
            if holders := self._holders.get(word):
                rarity = log(1 + (n - len(holders) + 0.5) / (len(holders) + 0.5)) * (k1 + 1)
                for place, count in holders:
                    scores[place] += rarity * count / (count + short + per_word * sizes[place])
        return scores


@lru_cache(maxsize=1024)
def _counted(text: str) -> tuple[tuple[tuple[str, int], ...], int]:
    """How often each word comes in a text, and how many words it has."""
    words = _WORD.findall(text.lower())
    return tuple(Counter(words).items()), len(words)


class RetrievalMemory:
    """Recalls the exchanges that share the rarest words with the question (`BM25` over all that was kept).

    Args:
        k: how many to recall.
        k1, b: saturation and length normalisation of `BM25`.
    """

    def __init__(self, k: int = 3, *, k1: float = 1.5, b: float = 0.75) -> None:
        self.k, self._index = k, BM25(k1=k1, b=b)
        self._kept: list[Linked] = []

    def fresh(self) -> "RetrievalMemory":
        """An empty memory with the same settings."""
        return RetrievalMemory(self.k, k1=self._index.k1, b=self._index.b)

    def recall(self, question: str) -> Sequence[Content]:
        """The best-matching exchanges, best first; none when no word is shared."""
        ranked = sorted(enumerate(self._index.scores(question)), key=lambda item: (-item[1], -item[0]))
        return tuple(self._kept[i] for i, score in ranked[: self.k] if score > 0)

    def note(self, question: str, reply: Reply) -> None:
        """Keep an exchange."""
        exchange = _exchange(question, reply)
        self._kept.append(exchange)
        self._index.add(exchange.text)


def _exchange(question: str, reply: Reply) -> Linked:
    return Linked(f"Q: {question}\nA: {reply.text}", (reply,))
