"""Generative agents: a memory stream, recalled by recency, importance and relevance, and reflected upon.

Paper: Park et al. 2023, arXiv:2304.03442 (catalogue 54), section 4.
Idea: an agent cannot read all of its life at every step. Each observation is rated from 1 to 10 for its
importance and goes into a memory stream (`motet.methods.memory.stream`). When the importance of what was
lived since the last reflection reaches 150, the agent reflects: it asks itself q questions about its latest
memories, recalls what bears on each, and writes down insights, which become memories like the others, with
what they follow from, and may be reflected upon in turn. A question is answered from the k memories of the
highest score.
Calls: at most n + r * (1 + q) + 1; ratings go out together, and so do a reflection's questions.
Deviates: this is one agent's memory and reflection, with neither town nor plans; the observations are a list,
one an hour, and the question is asked an hour after the last. An insight is rated by whoever has it, in the
same call. Relevance is BM25 unless `embed` gives vectors. At most n observations, the latest, are read.
Failure: an observation that is not rated has importance 5. A reflection that fails adds nothing. When the
solver fails, the run fails.
"""

from collections.abc import Callable, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_each
from motet.errors import BadInput, ModelError
from motet.methods.common import at_least, share
from motet.methods.memory.stream import EXCHANGE_IMPORTANCE, Stream
from motet.methods.retrieve.corpus import NOTHING, Vector, documents_of
from motet.methods.shapes import texts
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

RATE = """\
On a scale from 1 (purely mundane, such as brushing teeth) to 10 (extremely poignant, such as a break-up),
rate the likely importance of this memory as `importance`:
{observation}"""
ASK = """\
{memories}

Given only these, what are the {q} most salient high-level questions that can be answered about them? Write
them as `questions`."""
REFLECT = """\
Memories:

{memories}

Question:
{question}

Which high-level insights follow from these memories? Give 1 to 5 as `insights`: each has its `text`, the
numbers of the memories it follows `from`, and its `importance`, from 1 (mundane) to 10."""
ANSWER = "What you remember:\n\n{memories}\n\nQuestion:\n{task}\n\nAnswer from your memory. {form}"
LATEST = 100
INSIGHTS = 5
Scale = Annotated[int, Meta(ge=1, le=10)]


class Rating(Struct):
    """How important a memory is."""

    importance: Scale


class Insight(Struct, rename={"evidence": "from"}):
    """What follows from some memories."""

    text: str
    evidence: Annotated[list[int], Meta(max_length=10)]
    importance: Scale


class Insights(Struct):
    """What a reflection brings."""

    insights: Annotated[list[Insight], Meta(min_length=1, max_length=INSIGHTS)]


@team
async def generative_agents(  # noqa: PLR0913 (a stream's settings)
    task: Task,
    rater: Voice,
    thinker: Voice,
    solver: Voice,
    *,
    n: int = 50,
    k: int = 5,
    r: int = 2,
    q: int = 3,
    threshold: float = 150.0,
    decay: float = 0.995,
    alpha: tuple[float, float, float] = (1.0, 1.0, 1.0),
    observations: Sequence[str] = (),
    embed: Callable[[str], Vector] | None = None,
) -> Reply:
    """Live through `n` observations, reflect `r` times at most, and answer from the `k` best memories.

    Left empty, `observations` are those of the task's `meta`.
    """
    at_least(1, n=n, k=k, q=q)
    at_least(0, r=r)
    share(decay=decay)
    if not threshold >= 0:
        raise BadInput(f"threshold={threshold!r}: expected a sum of importance, 0 or more")
    hours = 0.0
    stream = Stream(k, decay=decay, alpha=alpha, threshold=threshold, embed=embed, clock=lambda: hours)
    lived = documents_of(task, observations, "observations")[-n:]
    asked = [fill(RATE, observation=text) for text in lived]
    ratings = await ask_each([rater] * len(lived), asked, schema=Rating)
    for text, rating in zip(lived, ratings, strict=True):
        stream.add(text, rating.data.importance if isinstance(rating, Reply) else EXCHANGE_IMPORTANCE)
        if stream.due and r > 0:
            r -= 1
            await reflect(stream, thinker, q)
        hours += 1
    memories = stream.recall(task.text) or [Linked(NOTHING)]
    return await solver.ask(fill(ANSWER, memories=memories, task=task, form=instruction(task)))


async def reflect(stream: Stream, thinker: Voice, q: int = 3) -> list[Linked]:
    """Ask `q` questions about the latest memories and add what follows from them to the stream.

    Returns:
        The insights, linked to the replies that they come from; none when the thinker fails.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    stream.pending = 0.0
    latest = [memo.text for memo in stream.memos[-LATEST:]]
    try:
        wish = fill(ASK, memories=latest, q=q)
        salient = await thinker.ask(wish, schema=texts(q, "Salient", "questions"))
    except ModelError:
        return []
    found = [stream.find(question) for question in salient.data.questions]
    asked = [
        fill(REFLECT, memories=[memo.text for memo in memos], question=Linked(question, (salient,)))
        for question, memos in zip(salient.data.questions, found, strict=True)
    ]
    insights = []
    for memos, reply in zip(found, await ask_each([thinker] * q, asked, schema=Insights), strict=True):
        if isinstance(reply, Reply):
            for insight in reply.data.insights:
                because = tuple(memos[i - 1] for i in insight.evidence if 0 < i <= len(memos))
                insights.append(Linked(insight.text, (reply,)))
                stream.add(insights[-1], insight.importance, because)
    return insights
