"""ExtAgents: knowledge beyond the window, sought in parallel, shared by all and reasoned over step by step.

Paper: Liu et al. 2025, arXiv:2505.21471 (catalogue 416).
Idea: each seeking agent reads one chunk of what is far larger than a window and posts a short message with
its relevance. All messages are ranked and synchronised globally: in the next of T rounds every seeker reads
its chunk again with the scratchpad of the best of all chunks, so that the second hop of a question finds the
first. A reasoning agent accumulates knowledge: it tries with the best message, then the best 2, 4, 8, …, and
stops when it can answer, so that what is less relevant distracts only when it is needed.
Calls: at most T * (n + ceil(log2(n)) + 1); the n calls of a round go out together.
Deviates: a seeker states the relevance with its message, where the authors' code asks once more. The window
of w words is counted without the instructions, half of it for the chunk and half for the scratchpad; at most
n chunks are read. The reasoner tries 1, 2, 4, … messages in every round, not in the first alone.
Failure: a seeker that fails posts nothing. When the reasoner fails, the most relevant message stands as the
answer, if there is one. Without documents the reasoner answers alone.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_each
from motet.errors import ModelError
from motet.methods.common import at_least, seats
from motet.methods.retrieve.corpus import NOTHING, chunks, documents_of, first_words
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

SEEK = """\
Part of the documents:
{chunk}

What was found in all parts so far:
{scratchpad}

Question:
{task}

Write as `message`, in a few sentences, what this part says that helps to answer the question, given what was
found elsewhere. Give as `relevance`, from 0 to 1, how much it helps."""
REASON = """\
What was found in the documents, the most relevant first:

{notes}

Question:
{task}

{form}{way_out}"""
WAY_OUT = "\nIf this is not enough to answer, say NO ANSWER and nothing else."
_NO_ANSWER = re.compile(r"(?i)\bno answer\b")


class Message(Struct):
    """What a seeker posts."""

    message: str
    relevance: Annotated[float, Meta(ge=0, le=1)]


@team
async def ext_agents(
    task: Task,
    seekers: Voices,
    reasoner: Voice,
    *,
    n: int = 8,
    T: int = 2,
    w: int = 1000,
    documents: Sequence[str] = (),
) -> Reply | Linked:
    """Let `n` seekers share what they find in `T` rounds, and reason over the best of it in `w` words."""
    at_least(1, T=T)
    at_least(2, w=w)
    crew = seats(seekers, n)
    parts = chunks(documents_of(task, documents), w // 2)[:n]
    found: list[Linked] = []
    try:
        for t in range(T):
            found = await _seek(task, crew, parts, first_words(found, w // 2)) or found
            for r in ranks(len(found)):
                last = t == T - 1 and r == len(found)
                notes = first_words(found[:r], w)
                form, way_out = instruction(task), "" if last or not parts else WAY_OUT
                reply = await reasoner.ask(fill(REASON, notes=notes, task=task, form=form, way_out=way_out))
                if last or not parts or not _NO_ANSWER.search(reply.text):
                    return reply
    except ModelError:
        if not found:
            raise
    return found[0]


async def _seek(task: Task, crew: Sequence[Voice], parts: Sequence[str], pad: Linked) -> list[Linked]:
    """The messages of a round, the most relevant first."""
    asked = [fill(SEEK, chunk=part, scratchpad=pad, task=task) for part in parts]
    outcomes = await ask_each(crew[: len(parts)], asked, schema=Message)
    replies = sorted((o for o in outcomes if isinstance(o, Reply)), key=lambda o: -o.data.relevance)
    return [Linked(reply.data.message or NOTHING, (reply,)) for reply in replies]


def ranks(n: int) -> Iterator[int]:
    """How many messages to try, one after the other: 1, 2, 4, … and all; 0 alone when there are none.

    >>> list(ranks(6))
    [1, 2, 4, 6]
    """
    r = min(1, n)
    while r < n:
        yield r
        r *= 2
    yield n
