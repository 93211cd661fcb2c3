"""Memory: what a voice recalls of what it said before, beyond the conversation it is in."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log
from typing import Protocol

from motet.types import Content, Linked, Reply


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
    """Okapi BM25 over texts that are added one by one.

    Args:
        texts: the first of them.
        k1, b: saturation and length normalisation.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, eq. 3.15.
    """

    def __init__(self, texts: Iterable[str] = (), *, k1: float = 1.5, b: float = 0.75) -> None:
        self.k1, self.b = k1, b
        self._texts: list[Counter[str]] = []
        self._sizes: list[int] = []
        self._holders: Counter[str] = Counter()
        for text in texts:
            self.add(text)

    def add(self, text: str) -> None:
        """Take in one more text."""
        counts = Counter(_words(text))
        self._texts.append(counts)
        self._sizes.append(counts.total())
        self._holders.update(counts.keys())

    def scores(self, query: str) -> list[float]:
        """How well each text fits a query, in the order in which they came; 0 when no word is shared."""
        words = set(_words(query))
        mean = sum(self._sizes) / max(1, len(self._sizes))
        both = zip(self._texts, self._sizes, strict=True)
        return [self._score(words, counts, size / (mean or 1)) for counts, size in both]

    def _score(self, words: set[str], counts: Counter[str], size: float) -> float:
        norm = self.k1 * (1 - self.b + self.b * size)
        score = 0.0
        for word in words & counts.keys():
            holders = self._holders[word]
            rarity = log(1 + (len(self._texts) - holders + 0.5) / (holders + 0.5))
            score += rarity * counts[word] * (self.k1 + 1) / (counts[word] + norm)
        return score


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


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
