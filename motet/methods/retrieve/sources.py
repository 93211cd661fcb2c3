"""Three kinds of source behind one interface: passages of text, a graph of facts, pages to search.

A source is anything with `find(query, k)`, which gives the passages that bear on a query, best first.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

from motet.methods.retrieve.corpus import best, indexed
from motet.tools.search import excerpt

Fact = tuple[str, str, str]
"""Subject, relation, object."""
Page = str | tuple[str, str]
"""Title and text; of a text alone the first line is the title."""

_LINK = r"in|of|at|on|by|to|from|with|for|as many \w+ as|as|the \w+ of"
_PLAIN = rf"^(.+?) ((?:is|are|was|were|has|have|had)(?: (?:{_LINK}))*) (.+?)[.!?]?$"
_OTHER = rf"^(.+?) ((?:[a-z]+s|[a-z]+ed)(?: (?:{_LINK}))*) (.+?)[.!?]?$"
_STATEMENTS = tuple(map(re.compile, (_PLAIN, _OTHER)))
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_ARTICLE = re.compile(r"^(?:the|a|an)\s+", re.IGNORECASE)


class Source(Protocol):
    """Where passages come from."""

    def find(self, query: str, k: int) -> list[str]:
        """At most `k` passages that bear on the query, best first; none when nothing does."""
        ...


class Passages:
    """Texts found by a fusion of likeness and shared words."""

    def __init__(self, texts: Sequence[str], alpha: float = 0.5) -> None:
        self._corpus, self._alpha = indexed(tuple(texts)), alpha

    def find(self, query: str, k: int) -> list[str]:
        """The texts of the highest fused score."""
        likeness = self._corpus.dense(query)
        order = best(self._corpus.hybrid(query, self._alpha, likeness), len(likeness))
        return [self._corpus.texts[i] for i in order if likeness[i] > 0][:k]


class Triple(NamedTuple):
    """One fact of a graph: an edge from subject to object."""

    subject: str
    relation: str
    object: str

    def __str__(self) -> str:
        return f"{self.subject} – {self.relation} – {self.object}"


class Graph:
    """Facts found by walking from the entities that a query names, nearest first.

    Args:
        triples: the facts.
        hops: how many edges to walk.
    """

    def __init__(self, triples: Iterable[Triple], hops: int = 2) -> None:
        self.triples, self.hops = list(dict.fromkeys(triples)), hops
        self._at: dict[str, list[Triple]] = defaultdict(list)
        for triple in self.triples:
            for entity in {_entity(triple.subject), _entity(triple.object)}:
                self._at[entity].append(triple)

    @classmethod
    def of(cls, texts: Sequence[str], hops: int = 2) -> "Graph":
        """The graph of the plain statements in some texts, such as 'Oslo is the capital of Norway.'"""
        return cls(_stated(tuple(texts)), hops)

    def find(self, query: str, k: int) -> list[str]:
        """The facts around the entities of the query."""
        words = _entity(query)
        front = [entity for entity in self._at if f" {entity} " in f" {words} "]
        found: dict[Triple, None] = {}
        for _ in range(self.hops):
            near = [triple for entity in front for triple in self._at[entity] if triple not in found]
            found.update(dict.fromkeys(near))
            front = [_entity(end) for triple in near for end in (triple.subject, triple.object)]
        return [str(triple) for triple in found][:k]


class Pages:
    """A small web: titled pages, and a search that gives titles with excerpts, as a search engine does.

    Args:
        pages: (title, text) pairs, or texts whose first line is the title.
        characters: length of an excerpt.
    """

    def __init__(self, pages: Sequence[Page], characters: int = 300) -> None:
        pairs = [page.partition("\n")[::2] if isinstance(page, str) else page for page in pages]
        self.characters = characters
        self._titles, self._texts = [t for t, _ in pairs], [text for _, text in pairs]
        self._corpus = indexed(tuple(f"{title}\n{text}" for title, text in pairs))

    def find(self, query: str, k: int) -> list[str]:
        """Titles with the excerpt that fits best."""
        places = best(self._corpus.sparse(query), k, above=0)
        return [f"{self._titles[i]}: {excerpt(self._texts[i], query, self.characters)}" for i in places]


@lru_cache(maxsize=16)
def _stated(texts: tuple[str, ...]) -> tuple[Triple, ...]:
    sentences = [" ".join(s.split()) for text in texts for s in _SENTENCE.split(text)]
    found = [next(filter(None, (form.match(s) for form in _STATEMENTS)), None) for s in sentences]
    return tuple(Triple(*match.groups()) for match in found if match)


@lru_cache(maxsize=4096)
def _entity(name: str) -> str:
    return " ".join(re.findall(r"\w+", _ARTICLE.sub("", name).lower()))
