"""ExtAgents: knowledge beyond the window, sought in parallel, shared by all and reasoned over step by step.

Paper: Liu et al. 2025, arXiv:2505.21471 (catalogue 416).
Idea: each seeking agent reads one chunk of what is far larger than a window and posts a short message with
its relevance. All messages are ranked and synchronised globally: in the next of T rounds every seeker reads
its chunk again with the scratchpad of the best of all chunks, so that the second hop of a question finds the
first; messages add up over the rounds. A reasoning agent accumulates knowledge: in the first round it tries
with the best message, then the best 2, 4, 8, …, and in the rounds after it with all that there is. It stops
when it can answer, so that what is less relevant distracts only when it is needed.
Calls: at most T * (n + 1) + ceil(log2(n)); the n calls of a round go out together.
Deviates: a seeker states the relevance with its message, where the authors' code asks once more. Messages are
ranked after the first round too, and equal ones count once. The window of w words is counted without the
instructions, half of it for the chunk and half for the scratchpad; 24 characters without a space are a word.
At most n chunks are read. The reasoner sees as many messages as fit; it is not asked again about the same.
Failure: a seeker that fails, or has nothing to say, posts nothing; what it posted before stays. When the
reasoner fails, the most relevant message stands as the answer; when there is none, the run fails. Without
documents the reasoner answers alone.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import final, instruction
from motet.combine import ask_each
from motet.errors import ModelError
from motet.methods.common import at_least, seats
from motet.methods.retrieve.corpus import NOTHING, documents_of, numbered
from motet.methods.retrieve.window import chunks, fitting
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
_NO_ANSWER = re.compile(r"(?i)[\W_]*(?:text\W)?no answer[\W_]*")


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
    crew, form = seats(seekers, n), instruction(task)
    parts = chunks(documents_of(task, documents), w // 2)[:n]
    found: list[Reply] = []
    tried, rounds = NOTHING, T if parts else 1
    try:
        for t in range(rounds):
            pad = numbered(fitting(_messages(found), w // 2), None)
            found = _ranked([*found, *await _seek(task, crew, parts, pad)])
            kept = fitting(_messages(found), w)
            for r in ranks(len(kept)) if t == 0 else [len(kept)]:
                last = t == rounds - 1 and r == len(kept)
                notes = numbered(kept[:r], None)
                if notes.text == tried and not last:
                    continue
                tried, way_out = notes.text, "" if last else WAY_OUT
                reply = await reasoner.ask(fill(REASON, notes=notes, task=task, form=form, way_out=way_out))
                if last or not _gives_up(reply):
                    return reply
    except ModelError:
        if not found:
            raise
    return _messages(found)[0]


async def _seek(task: Task, crew: Sequence[Voice], parts: Sequence[str], pad: Linked) -> list[Reply]:
    """What the seekers post in a round."""
    asked = [fill(SEEK, chunk=part, scratchpad=pad, task=task) for part in parts]
    outcomes = await ask_each(crew[: len(parts)], asked, schema=Message)
    return [o for o in outcomes if isinstance(o, Reply) and o.data.message.strip()]


def _ranked(posted: Sequence[Reply]) -> list[Reply]:
    """What was posted, the most relevant first and each text once."""
    texts: dict[str, Reply] = {}
    for reply in sorted(posted, key=lambda reply: -reply.data.relevance):
        texts.setdefault(reply.data.message.strip(), reply)
    return list(texts.values())


def _messages(posted: Sequence[Reply]) -> list[Linked]:
    return [Linked(reply.data.message, (reply,)) for reply in posted]


def _gives_up(reply: Reply) -> bool:
    """Whether a reply, or the answer that it marks, is 'NO ANSWER' and nothing else."""
    said = final(reply.text)
    return bool(_NO_ANSWER.fullmatch(reply.text.rpartition("</think>")[2] if said is None else said))


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
