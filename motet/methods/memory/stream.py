"""A memory stream: what was lived through, recalled by recency, importance and relevance.

Paper: Park et al. 2023, arXiv:2304.03442 (catalogue 54), section 4.1.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from motet.memory import BM25
from motet.methods.retrieve.corpus import Vector, best, cosine, min_max
from motet.types import Linked, Reply

FLAT = 0.5  # what a score counts that is the same for all memories, as in the authors' code
EXCHANGE_IMPORTANCE = 5.0


@dataclass
class Memo:
    """One memory.

    Args:
        importance: from 1 (mundane) to 10 (poignant).
        at, used: the hours at which it was made and last recalled.
        because: the memories that a thought follows from; None for what was lived.
    """

    text: Linked
    importance: float
    at: float
    used: float
    because: tuple["Memo", ...] | None = None


class Stream:
    """Memories in order of time; an `Agent`'s `memory`, or what `generative_agents` lives by.

    A memory's score is the weighted sum of three, each scaled to 0..1 over all memories: recency,
    `decay` ** (hours since it was last recalled); importance; and relevance to the question.

    Args:
        k: how many to recall.
        decay: recency's factor per hour.
        alpha: weights of recency, importance and relevance.
        threshold: reflection is due when the importance of what came since the last one reaches this.
        embed: gives a text's vector, whose cosine with the question's is the relevance; BM25 when left out.
        importance: rates an exchange that `note` keeps, as no voice can be asked there.
        clock: the time in hours.
    """

    def __init__(
        self,
        k: int = 5,
        *,
        decay: float = 0.995,
        alpha: tuple[float, float, float] = (1.0, 1.0, 1.0),
        threshold: float = 150.0,
        embed: Callable[[str], Vector] | None = None,
        importance: Callable[[str], float] = lambda _: EXCHANGE_IMPORTANCE,
        clock: Callable[[], float] = lambda: time.time() / 3600,
    ) -> None:
        self.k, self.decay, self.alpha, self.threshold = k, decay, alpha, threshold
        self.embed, self.importance, self.clock = embed, importance, clock
        self.memos: list[Memo] = []
        self.pending = 0.0
        self._index = BM25()
        self._vectors: list[Vector] = []

    def fresh(self) -> "Stream":
        """An empty stream with the same settings."""
        return Stream(
            self.k,
            decay=self.decay,
            alpha=self.alpha,
            threshold=self.threshold,
            embed=self.embed,
            importance=self.importance,
            clock=self.clock,
        )

    def add(self, text: str | Linked, importance: float, because: tuple[Memo, ...] | None = None) -> None:
        """Keep a memory; a thought, which follows from others, does not count towards the next reflection."""
        now = self.clock()
        text = Linked(text) if isinstance(text, str) else text
        self.memos.append(Memo(text, importance, now, now, because))
        self._index.add(text.text)
        if self.embed:
            self._vectors.append(self.embed(text.text))
        self.pending += importance if because is None else 0.0

    @property
    def due(self) -> bool:
        """Whether it is time to reflect."""
        return self.pending >= self.threshold

    def scores(self, question: str) -> list[float]:
        """The score of every memory for a question, at this hour."""
        now = self.clock()
        three = (
            [self.decay ** (now - memo.used) for memo in self.memos],
            [memo.importance for memo in self.memos],
            self._relevance(question),
        )
        scaled = [min_max(values, FLAT) for values in three]
        weighted = zip(*scaled, strict=True)
        return [sum(a * s for a, s in zip(self.alpha, row, strict=True)) for row in weighted]

    def find(self, question: str) -> list[Memo]:
        """The `k` memories of the highest score, highest first; being recalled makes them recent again."""
        found = [self.memos[i] for i in best(self.scores(question), self.k)]
        for memo in found:
            memo.used = self.clock()
        return found

    def recall(self, question: str) -> Sequence[Linked]:
        """The words of what `find` gives."""
        return [memo.text for memo in self.find(question)]

    def note(self, question: str, reply: Reply) -> None:
        """Keep an exchange."""
        text = Linked(f"Q: {question}\nA: {reply.text}", (reply,))
        self.add(text, self.importance(text.text))

    def _relevance(self, question: str) -> list[float]:
        if self.embed is None:
            return self._index.scores(question)
        vector = self.embed(question)
        return [cosine(vector, other) for other in self._vectors]
