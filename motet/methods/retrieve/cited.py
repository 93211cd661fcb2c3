"""Answers of sentences that name the documents they are taken from."""

from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Annotated

from msgspec import Meta, Struct, defstruct

from motet.answers import final
from motet.methods.retrieve.corpus import Vector, best, indexed, numbered
from motet.types import Linked, Reply, Task

MOST = 16  # sentences of an answer: a model that runs away is stopped


class Desk:
    """The documents in hand: each is put there once and has a number of its own, in the order of coming in.

    Args:
        texts: all that can be found.
        k: how many to find at a time. alpha: weight of likeness against shared words; see `Corpus.hybrid`.
    """

    def __init__(
        self, texts: list[str], k: int, alpha: float, embed: Callable[[str], Vector] | None = None
    ) -> None:
        self.corpus, self.k, self.alpha = indexed(tuple(texts), embed), k, alpha
        self.pool: list[Linked] = []

    def find(self, query: str) -> list[str]:
        """The best `k` documents that are not on the desk, each once."""
        order = best(self.corpus.hybrid(query, self.alpha), len(self.corpus.texts))
        here = {document.text for document in self.pool}
        found = dict.fromkeys(text for i in order if (text := self.corpus.texts[i]) not in here)
        return list(found)[: self.k]

    def take(self, documents: list[Linked]) -> Linked:
        """Put documents on the desk; they come back as one text with their numbers."""
        first = len(self.pool) + 1
        self.pool += documents
        return numbered(documents, first)


@lru_cache
def cited(last: int, first: int = 1) -> type[Struct]:
    """The schema of an answer of sentences that cite documents `first` to `last`."""
    number = Annotated[int, Meta(ge=first, le=last)]
    numbers = Annotated[list[number], Meta(max_length=last)]
    sentence = defstruct("Sentence", [("text", str), ("documents", numbers)])
    sentences = Annotated[list[sentence], Meta(max_length=MOST)]  # type: ignore[valid-type]
    return defstruct("Cited", [("sentences", sentences), ("answer", str)])


def claims(reply: Reply) -> list[str]:
    """The sentences of an answer that cite a document, with the numbers in brackets."""
    said = [(s.text.strip(), sorted(set(s.documents))) for s in reply.data.sentences]
    return [f"{text} {documents}" for text, documents in said if text and documents]


def attributed(task: Task, reply: Reply, without: Collection[int] = (), *links: Reply) -> Linked:
    """The cited sentences, less those with these numbers, and the answer on a line of its own."""
    kept = [claim for i, claim in enumerate(claims(reply), 1) if i not in without]
    answer = reply.data.answer
    marked = answer if final(answer) or task.kind in ("math", "code", "sql") else f"Answer: {answer}"
    return Linked("\n".join([*kept, marked]), (reply, *links))
