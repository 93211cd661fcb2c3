"""A tool that searches documents by BM25 (Robertson and Zaragoza, 2009), with the package bm25s."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

from motet.errors import BadInput, MissingExtra
from motet.tools.tool import FunctionTool, tool

Document = str | tuple[str, str]
SUFFIXES = (".md", ".rst", ".txt")


def search_tool(
    documents: str | Path | Sequence[Document], k: int = 3, *, characters: int = 600
) -> FunctionTool:
    """Make a tool named `search` over a fixed set of documents; see `searcher`."""
    find = searcher(documents, k, characters=characters)

    async def search(query: str) -> str:  # sooner done than a thread is asked
        """Search the documents for words, and read the best excerpts.

        Args:
            query: the words to look for.
        """
        return find(query)

    return tool(search)


def searcher(
    documents: str | Path | Sequence[Document], k: int = 3, *, characters: int = 600
) -> Callable[[str], str]:
    """A function from a query to the best excerpts of a fixed set of documents, by BM25.

    Args:
        documents: a folder (its .md, .rst and .txt files, at any depth), or texts, or (title, text) pairs.
        k: how many results to give at most.
        characters: length of the excerpt shown of each.

    Raises:
        BadInput: there are no documents.
        MissingExtra: bm25s is not installed.
    """
    try:
        import bm25s  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("bm25s", "tools") from error
    titled = _titled(documents)
    if not any(text.strip() for _, text in titled):
        raise BadInput(
            f"no text to search in {str(documents)[:200]!r}; expected a folder of {SUFFIXES}, or texts"
        )
    index = bm25s.BM25()
    corpus = [f"{title}\n{text}" for title, text in titled]
    index.index(bm25s.tokenize(corpus, show_progress=False), show_progress=False)

    def find(query: str) -> str:
        words = bm25s.tokenize([query], return_ids=False, show_progress=False)
        if not words[0]:
            return f"no documents match {query!r}; use other words"
        found, scores = index.retrieve(words, k=min(k, len(titled)), show_progress=False, n_threads=1)
        results = [
            f"[{rank}] {titled[place][0]} (score {score:.2f})\n{excerpt(titled[place][1], query, characters)}"
            for rank, (place, score) in enumerate(zip(found[0], scores[0], strict=True), 1)
            if score > 0
        ]
        return "\n\n".join(results) or f"no documents match {query!r}; use other words"

    return find


def excerpt(text: str, query: str, characters: int) -> str:
    """The piece of `text` in which most different words of `query` appear."""
    words = {word for word in re.findall(r"\w+", query.lower()) if len(word) > 2}
    places = [match.start() for match in re.finditer(r"\w+", text.lower()) if match[0] in words]
    lower = text.lower()

    def score(start: int) -> int:
        window = lower[start : start + characters]
        return sum(word in window for word in words)

    start = max([0, *(max(0, place - characters // 4) for place in places[:200])], key=score)
    piece = " ".join(text[start : start + characters].split())
    return f"{'… ' if start else ''}{piece}{' …' if start + characters < len(text) else ''}"


def _titled(documents: str | Path | Sequence[Document]) -> list[tuple[str, str]]:
    if not isinstance(documents, (str, Path)):
        return [(f"document {i}", d) if isinstance(d, str) else d for i, d in enumerate(documents, 1)]
    folder = Path(documents)
    if not folder.is_dir():
        raise BadInput(f"{str(documents)[:200]!r} is not a folder; pass a folder, or a list of texts")
    paths = sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES and p.is_file())
    return [(p.relative_to(folder).as_posix(), p.read_text("utf-8", errors="replace")) for p in paths]
