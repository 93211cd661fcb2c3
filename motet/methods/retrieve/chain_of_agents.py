"""Chain-of-Agents: a long text read in turns, each reader handing on what matters so far.

Paper: Zhang et al. 2024, arXiv:2406.02818.
Idea: what is too long for one window is cut into chunks, and a chain of workers reads them in order. Each is
given its chunk, the question and the communication unit of the worker before it, and writes the next one; a
manager answers from the last. So every worker reads the source interleaved with what came before, and facts
that lie far apart meet in the unit.
Calls: at most n + 1, one after the other.
Deviates: the window of k words is counted without the instructions; 24 characters without a space are a word.
Half of it is for the chunk and half for the unit, and what is longer of a unit is cut; the paper's chunk may
fill the window. At most n chunks are read, the rest of a longer source is not.
Failure: a worker that fails hands on the unit that it was given. When the manager fails, the last unit stands
as the answer, if there is one. Without documents the manager answers alone.
"""

from collections.abc import Sequence

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import at_least, seats
from motet.methods.retrieve.corpus import NOTHING, documents_of
from motet.methods.retrieve.window import chunks, fitting
from motet.teams import Voices, team
from motet.types import Reply, Task, fill

READ = """\
Source text:
{chunk}

Summary of the text before it:
{unit}

Question:
{task}

You read the text piece by piece and cannot answer yet. Write a new summary, for the next reader, of all that
helps to answer the question: from the summary before and from this piece."""
ANSWER = """\
The source is too long to read at once. It was read piece by piece; the summary:
{unit}

Question:
{task}

Answer from the summary. {form}"""
NO_UNIT = "(this is the beginning)"


@team
async def chain_of_agents(
    task: Task,
    workers: Voices,
    manager: Voice,
    *,
    n: int = 8,
    k: int = 1000,
    documents: Sequence[str] = (),
) -> Reply:
    """Read `n` chunks in a chain of workers, windows of `k` words each, and answer from what it hands on."""
    at_least(2, k=k)
    crew = seats(workers, n)
    unit: Reply | None = None
    for worker, chunk in zip(crew, chunks(documents_of(task, documents), k - k // 2), strict=False):
        handed = fitting([unit], k // 2)[0] if unit else NO_UNIT
        try:
            unit = await worker.ask(fill(READ, chunk=chunk, unit=handed, task=task))
        except ModelError:
            continue
    handed = fitting([unit], k)[0] if unit else NOTHING
    try:
        return await manager.ask(fill(ANSWER, unit=handed, task=task, form=instruction(task)))
    except ModelError:
        if unit is None:
            raise
        return unit
