"""MAIN-RAG: documents are judged by what can be answered from each, and filtered by a bar that adapts.

Paper: Chang et al. 2025, arXiv:2501.00332 (catalogue 292).
Idea: retrieved documents mislead as often as they help. A predictor answers from each of k documents alone; a
judge says whether document and answer bear out the question, with the score log p(Yes) - log p(No). The bar
is the query's own: tau = mean - n * sigma of its scores. Documents at or above it go to the final predictor,
highest score first, so that easy and hard questions keep as many as each deserves. Nothing is trained.
Calls: at most 2 * k + 1; all documents are worked on at once.
Deviates: the judge states p(Yes) as a number, which every backend can give, where the paper reads it off the
model's logits; it is kept EDGE away from 0 and 1. The retriever is BM25; the paper takes k = 20 documents.
Failure: a document whose prediction or judgement fails is neither scored nor kept; when all do, all documents
go on as they were found. When the final predictor fails, the answer from the best document stands. Without
documents the final predictor answers alone.
"""

from collections.abc import Sequence
from math import inf, log, sqrt
from statistics import fmean
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.concurrency import all_of
from motet.errors import BadInput, ModelError
from motet.methods.common import at_least
from motet.methods.retrieve.corpus import NOTHING, best, documents_of, indexed
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

PREDICT = "Document:\n{document}\n\nQuestion:\n{task}\n\nAnswer from this document. {form}"
JUDGE = """\
Document:
{document}

Question:
{task}

Answer that was given from the document:
{answer}

Does the document hold what the question asks for, and does it bear out the answer? Give the probability of
Yes, from 0 to 1, as `yes`."""
FINAL = """\
Documents, the most useful first:

{documents}

Question:
{task}

Answer from the documents. {form}"""
EDGE = 0.01


class Support(Struct):
    """What the judge says of a document."""

    yes: Annotated[float, Meta(ge=0, le=1)]


@team
async def main_rag(
    task: Task,
    predictor: Voice,
    judge: Voice,
    final_predictor: Voice,
    *,
    k: int = 5,
    n: float = 0.0,
    documents: Sequence[str] = (),
) -> Reply:
    """Find `k` documents, keep those at or above mean - `n` * sigma of their scores, and answer from them."""
    at_least(1, k=k)
    corpus = indexed(tuple(documents_of(task, documents)))
    found = [corpus.texts[i] for i in best(corpus.sparse(task.text), k)]
    kept = await adaptive_filter(task, found, predictor, judge, n)
    prompt = fill(FINAL, documents=kept or [NOTHING], task=task, form=instruction(task))
    try:
        return await final_predictor.ask(prompt)
    except ModelError:
        if not kept or not kept[0].links:
            raise
        return kept[0].links[0]


async def adaptive_filter(
    task: Task, documents: Sequence[str], predictor: Voice, judge: Voice, n: float
) -> list[Linked]:
    """The documents at or above the bar, best first, each linked to the answer from it and the verdict.

    Raises:
        BadInput: `n` is negative or endless. BudgetExceeded: the run may spend no more.
    """
    if not 0 <= n < inf:
        raise BadInput(f"n={n!r}: expected a number of standard deviations, 0 or more and not endless")
    outcomes = await all_of([_judged(task, document, predictor, judge) for document in documents])
    judged = [outcome for outcome in outcomes if outcome]
    if not judged:
        return [Linked(document) for document in documents]
    bar = judge_bar([score for score, _ in judged], n)
    judged.sort(key=lambda pair: -pair[0])
    return [document for score, document in judged if score >= bar]


async def _judged(task: Task, document: str, predictor: Voice, judge: Voice) -> tuple[float, Linked] | None:
    """A document's score, and the document with what was said of it; None when one of the two fails."""
    try:
        answer = await predictor.ask(fill(PREDICT, document=document, task=task, form=instruction(task)))
        verdict = await judge.ask(fill(JUDGE, document=document, task=task, answer=answer), schema=Support)
    except ModelError:
        return None
    return log_odds(verdict.data.yes), Linked(document, (answer, verdict))


def log_odds(yes: float) -> float:
    """log p(Yes) - log p(No), with p(Yes) kept `EDGE` away from 0 and 1."""
    yes = min(max(yes, EDGE), 1 - EDGE)
    return log(yes) - log(1 - yes)


def judge_bar(scores: Sequence[float], n: float) -> float:
    """tau: the mean of the scores less `n` of their standard deviations; the best score is never below it."""
    mean = fmean(scores)
    sigma = sqrt(fmean([(score - mean) ** 2 for score in scores]))
    return min(mean - n * sigma, max(scores))
