"""Memory: what a voice recalls of what it said before, beyond the conversation it is in."""

import re
from collections import Counter
from collections.abc import Sequence
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


class RetrievalMemory:
    """Recalls the exchanges that share the rarest words with the question (BM25 over all that was kept).

    Args:
        k: how many to recall.
        k1, b: Okapi BM25's saturation and length normalisation.

    Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009, eq. 3.15.
    """

    def __init__(self, k: int = 3, *, k1: float = 1.5, b: float = 0.75) -> None:
        self.k, self.k1, self.b = k, k1, b
        self._kept: list[tuple[Linked, Counter[str]]] = []
        self._holders: Counter[str] = Counter()

    def fresh(self) -> "RetrievalMemory":
        """An empty memory with the same settings."""
        return RetrievalMemory(self.k, k1=self.k1, b=self.b)

    def recall(self, question: str) -> Sequence[Content]:
        """The best-matching exchanges, best first; none when no word is shared."""
        words = set(_words(question))
        scored = [(self._score(words, counts), i, text) for i, (text, counts) in enumerate(self._kept)]
        scored.sort(key=lambda row: (-row[0], -row[1]))
        return tuple(text for score, _, text in scored[: self.k] if score > 0)

    def note(self, question: str, reply: Reply) -> None:
        """Keep an exchange."""
        exchange = _exchange(question, reply)
        counts = Counter(_words(exchange.text))
        self._kept.append((exchange, counts))
        self._holders.update(counts.keys())

    def _score(self, words: set[str], counts: Counter[str]) -> float:
        total = len(self._kept)
        mean = sum(c.total() for _, c in self._kept) / total
        norm = self.k1 * (1 - self.b + self.b * counts.total() / mean)
        score = 0.0
        for word in words & counts.keys():
            rarity = log(1 + (total - self._holders[word] + 0.5) / (self._holders[word] + 0.5))
            score += rarity * counts[word] * (self.k1 + 1) / (counts[word] + norm)
        return score


def _exchange(question: str, reply: Reply) -> Linked:
    return Linked(f"Q: {question}\nA: {reply.text}", (reply,))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
