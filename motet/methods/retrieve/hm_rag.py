"""HM-RAG: a question taken apart, looked up in three kinds of source, and decided by how far these agree.

Paper: Liu et al. 2025, arXiv:2504.12330 (catalogue 3).
Idea: no one kind of source holds everything. A decomposition agent rewrites the question as sub-questions;
three retrieval agents look them up at once, in passages of text, in a graph of facts and on a small web, and
each answers from what it finds. The decision agent takes a vote: when more than `threshold` of the three
agree, their answer stands. Only when they do not, an expert refines the three answers into one, with what
each of them had found in view.
Calls: at most 5.
Deviates: text alone; images would be turned into captions before (as in the paper). Answers agree when they
are equal by the kind of the task, where the paper thresholds ROUGE-L and BLEU between texts. The graph is
made of the documents' plain statements by a rule, unless `triples` are given; the web is another local corpus
(`pages`). Retrieval agents may say that they do not know, which counts for no answer, unless it is an option
of a choice.
Failure: without sub-questions the question itself is looked up. A retrieval agent that fails is missing from
the vote. When the expert fails, the most frequent answer stands, the first of equals.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import canonical, extract, instruction
from motet.combine import answered, ask_each, majority, tally
from motet.errors import ModelError
from motet.methods.common import at_least, brought, share
from motet.methods.retrieve.corpus import NOTHING, documents_of
from motet.methods.retrieve.sources import Fact, Graph, Page, Pages, Passages, Source, Triple
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

DECOMPOSE = """\
Question:
{task}

What has to be looked up to answer it? Write it as 1 to 3 short questions of their own, as `questions`."""
RETRIEVE = """\
Found in {source}:

{passages}

Question:
{task}

Answer from what was found. {form}
If it does not say, end with 'Answer: unknown'."""
REFINE = """\
Question:
{task}

Three sources were searched, and the answers differ.

{answers}

Weigh what was found against each answer and give the right one. {form}"""
ANSWER = "Found in {source}:\n{passages}\n\nAnswer from it:\n{answer}"
UNKNOWN = "unknown"
NAMES = ("passages of text", "a graph of facts", "the web")


class Parts(Struct):
    """A question taken apart."""

    questions: Annotated[list[str], Meta(min_length=1, max_length=3)]


@team
async def hm_rag(  # noqa: PLR0913 (five voices are the method)
    task: Task,
    decomposer: Voice,
    vector: Voice,
    graph: Voice,
    web: Voice,
    expert: Voice,
    *,
    k: int = 3,
    threshold: float = 0.5,
    hops: int = 2,
    documents: Sequence[str] = (),
    triples: Sequence[Fact] = (),
    pages: Sequence[Page] = (),
) -> Linked | Reply:
    """Look a question up in text, graph and web, `k` passages a part, and settle what they disagree on.

    Left empty, `documents`, `triples` and `pages` are those of the task's `meta`.
    """
    at_least(1, k=k, hops=hops)
    share(threshold=threshold)
    sources = _sources(task, documents, triples, pages, hops)
    parts = await _parts(task, decomposer)
    found = [_passages(source, parts, k) for source in sources]
    form = instruction(task)
    asked = [
        fill(RETRIEVE, source=name, passages=passages, task=task, form=form)
        for name, passages in zip(NAMES, found, strict=True)
    ]
    outcomes = await ask_each([vector, graph, web], asked)
    unknown = None if task.kind == "choice" else canonical(task, UNKNOWN)  # which may be one of the options
    known = [
        o for o in outcomes if isinstance(o, Reply) and (not unknown or extract(task, o.text) != unknown)
    ]
    counted = tally(task, known, of=len(outcomes))
    vote = majority(task, known) if counted.winner else None
    if vote and counted.share() > threshold:
        return vote
    views = [
        fill(ANSWER, source=name, passages=passages, answer=outcome)
        for name, passages, outcome in zip(NAMES, found, outcomes, strict=True)
        if isinstance(outcome, Reply)
    ]
    try:
        return await expert.ask(fill(REFINE, task=task, answers=views or [NOTHING], form=form))
    except ModelError:
        return vote or answered(outcomes)[0]


async def _parts(task: Task, decomposer: Voice) -> list[Linked]:
    """What to look up: the parts of the question, or the question itself."""
    try:
        reply = await decomposer.ask(fill(DECOMPOSE, task=task), schema=Parts)
    except ModelError:
        return [Linked(task.text)]
    return [Linked(question, (reply,)) for question in reply.data.questions]


def _passages(source: Source, parts: Sequence[Linked], k: int) -> Linked:
    """What a source has for each part, without repetition, linked to whoever took the question apart."""
    found = dict.fromkeys(passage for part in parts for passage in source.find(part.text, k))
    return Linked("\n".join(found) or NOTHING, parts[0].links)


def _sources(
    task: Task,
    documents: Sequence[str],
    triples: Sequence[Fact],
    pages: Sequence[Page],
    hops: int,
) -> tuple[Source, ...]:
    texts, facts = documents_of(task, documents), brought(task, "triples", triples, Sequence[Fact])
    graph = Graph((Triple(*fact) for fact in facts), hops) if facts else Graph.of(texts, hops)
    return Passages(texts), graph, Pages(brought(task, "pages", pages, Sequence[Page]))
