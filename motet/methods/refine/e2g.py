"""E2G: evidence first, then the answer from the evidence.

Paper: Parvez 2024, arXiv:2401.05787 (catalogue 4).
Idea: a chain of thought invents its steps; evidence is stated in the context. The first call answers with
the evidence and explanation found in the context, the second answers from that evidence alone, so that what
distracts is gone by then. One voice, two calls, nothing sampled.
Calls: 2.
Deviates: the context is `task.meta["context"]` (text, or a list of texts). Without it the task's own text is
the context and is shown to the second call too, since question and context cannot be told apart there.
Failure: when the first call fails, the run fails. When the second does, the first answer stands.
"""

import re
from collections.abc import Sequence

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import brought
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

EXTRACT = """\
{context}Question:
{task}
{form}

Generate the answer with evidence and explanation: first 'Evidence:' and the sentences that decide the
question, word for word as they stand in the text above, then the answer."""
GENERATE = """\
{context}Evidence:
{evidence}

Question:
{task}

Answer from this evidence. {form}"""
CONTEXT = "Context:\n{context}\n\n"


_ANSWER = re.compile(r"(?im)^[\s*_#]*answer\b")


@team
async def e2g(task: Task, solver: Voice, *, both: bool = False) -> Reply:
    """Draw the evidence out of the context, then answer from it; `both` shows the context once more."""
    form, context = instruction(task), _context(task)
    found = await solver.ask(fill(EXTRACT, context=context, task=task, form=form))
    shown = context if both else ""
    try:
        return await solver.ask(
            fill(GENERATE, context=shown, evidence=_evidence(found), task=task, form=form)
        )
    except ModelError:
        return found


def _evidence(found: Reply) -> Linked:
    """What a reply gives as evidence: what it says before its answer, or all of it."""
    said = found.text.rpartition("Evidence:")[2]
    return Linked(_ANSWER.split(said)[0].strip() or found.text, (found,))


def _context(task: Task) -> str:
    """The context of a task as it stands in a prompt; nothing when it has none of its own.

    Raises:
        BadInput: it is neither text nor a list of texts.
    """
    given = brought(task, "context", "", str | Sequence[str])
    texts = [given] if isinstance(given, str) else given
    return CONTEXT.format(context="\n\n".join(texts)) if any(texts) else ""
