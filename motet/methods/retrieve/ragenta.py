"""RAGentA: an answer whose every sentence names its documents, checked for what it leaves out.

Paper: Besrour et al. 2025, arXiv:2506.16988 (catalogue 17).
Idea: a hybrid retriever fuses a dense and a sparse score (alpha and 1 - alpha). Documents are filtered as in
MAIN-RAG (a predictor answers from each, a judge scores them). A generator writes an answer of sentences with
citations; a sentence that cites none of the documents it was shown is dropped. A checker looks at it claim
by claim: claims that do not bear on the question are removed, and for each part of the question that is left
open (m at most) it writes a follow-up question, for which documents that the generator was not shown so far,
rejected ones among them, are found and read. The generator joins what they say with the answer.
Calls: at most 2 * k + 2 + m + min(1, m).
Deviates: citations are structured output, not parsed from prose, and stand in the text as [number]. The
follow-ups are answered at once and joined in one call, where the paper joins them one after the other. Dense
vectors count letter trigrams unless `embed` gives others. The paper retrieves 20 documents at a time.
Failure: see MAIN-RAG for the filter. When the generator fails, the run fails; when the checker, a follow-up
or the joining fails, the answer stands as it was. Without documents the generator answers alone.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_each
from motet.concurrency import all_of
from motet.errors import ModelError
from motet.methods.common import at_least, share
from motet.methods.retrieve.cited import MOST, Desk, attributed, cited, claims
from motet.methods.retrieve.corpus import Vector, documents_of, numbered
from motet.methods.retrieve.main_rag import adaptive_filter
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

CITE = """\
{documents}

Question:
{task}

Answer from these documents alone, as `sentences`: each has its `text` and, as `documents`, the numbers of the
documents that it is taken from. Then give the `answer`. {form}"""
FOLLOW = """\
{documents}

Question:
{task}

Part of it that is still open:
{part}

Answer this part from these documents alone, as `sentences`: each has its `text` and, as `documents`, the
numbers of the documents that it is taken from. Then give what answers this part as `answer`."""
JOIN = """\
{documents}

Question:
{task}

Answer so far:
{draft}

What was found for the parts that it leaves open:

{found}

Join them into one answer, as `sentences`: each has its `text` and, as `documents`, the numbers of the
documents that it is taken from. Then give the `answer`. {form}"""
CHECK = """\
Question:
{task}

Answer, claim by claim:

{claims}

Its conclusion: {draft}

List as `remove` the numbers of claims that do not bear on the question. Set `complete` if every part of the
question is answered. If not, write for each part that is open a question of its own, as `questions`."""


class Check(Struct):
    """What the checker says of an answer."""

    remove: Annotated[list[int], Meta(max_length=MOST)]
    complete: bool
    questions: Annotated[list[str], Meta(max_length=MOST)]


@team
async def ragenta(  # noqa: PLR0913 (four voices are the method)
    task: Task,
    predictor: Voice,
    judge: Voice,
    generator: Voice,
    checker: Voice,
    *,
    k: int = 5,
    alpha: float = 0.65,
    n: float = 0.5,
    m: int = 2,
    documents: Sequence[str] = (),
    embed: Callable[[str], Vector] | None = None,
) -> Linked | Reply:
    """Answer from the best of `k` documents with citations, and follow up `m` parts that are left open."""
    at_least(1, k=k)
    at_least(0, m=m)
    share(alpha=alpha)
    desk, form = Desk(documents_of(task, documents), k, alpha, embed), instruction(task)
    kept = await adaptive_filter(task, desk.find(task.text), predictor, judge, n)
    if not kept:
        return await generator.ask(task, form)
    prompt = fill(CITE, documents=desk.take(kept), task=task, form=form)
    draft = await generator.ask(prompt, schema=cited(len(kept)))
    answer = attributed(task, draft)
    try:
        listed = [Linked(claim, (draft,)) for claim in claims(draft)]
        verdict = await checker.ask(
            fill(CHECK, task=task, claims=listed, draft=Linked(draft.data.answer, (draft,))), schema=Check
        )
        answer = attributed(task, draft, verdict.data.remove, verdict)
        if answers := await _follow_up(task, generator, verdict, desk, m):
            pool, found = numbered(desk.pool), numbered(answers, None)
            prompt = fill(JOIN, documents=pool, task=task, draft=answer, found=found, form=form)
            return attributed(task, await generator.ask(prompt, schema=cited(len(desk.pool))))
    except ModelError:
        pass
    return answer


async def _follow_up(task: Task, generator: Voice, verdict: Reply, desk: Desk, m: int) -> list[Linked]:
    """What documents not on the desk so far say of the parts of the question that are open."""
    asked = []
    for part in [] if verdict.data.complete else verdict.data.questions[:m]:
        if new := desk.find(part):
            first = len(desk.pool) + 1
            shown = desk.take([Linked(text) for text in new])
            prompt = fill(FOLLOW, documents=shown, task=task, part=Linked(part, (verdict,)))
            asked.append(ask_each([generator], [prompt], schema=cited(len(desk.pool), first)))
    outcomes = [outcome for (outcome,) in await all_of(asked)]
    return [attributed(task, outcome) for outcome in outcomes if isinstance(outcome, Reply)]
