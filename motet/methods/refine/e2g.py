"""E2G: evidence first, then the answer from the evidence.

Paper: Parvez 2024, arXiv:2401.05787 (catalogue 4).
Idea: a chain of thought invents its steps; evidence is stated in the context. The first call answers with
the evidence and explanation found in the context, the second answers from that evidence alone, so that what
distracts is gone by then. One voice, two calls, nothing sampled.
Calls: 2.
Deviates: the context is `task.meta["context"]` (text, or a list of texts). Without it the task's own text is
the context and is shown to the second call too, since question and context cannot be told apart there. The
evidence is what stands before the answer; nobody checks that it is word for word in the context.
Failure: when the first call fails, the run fails. When the second does, or no answer can be read in it, the
first answer stands. When the first gives no evidence, the context is shown once more.
"""

import re
from collections.abc import Sequence

from motet.agent import Voice
from motet.answers import extract, instruction
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
NONE = "(none was given)"
_EVIDENCE = re.compile(
    r"(?im)^[ \t*_#>-]*evidence(?![a-z])(?:[^\n:.]{0,30}:|[ \t*_]*$)[*_]*|\bevidence[*_]*\s?:[*_]*"
)
_ANSWER = re.compile(  # with the words that lead up to it
    r"(?im)^[ \t*_#>-]*(?:final\s)?answer(?![a-z])|^```(?:python|sql)\b|^####\s|\$*\\(?:boxed|fbox)\s*\{"
    r"|(?:\b(?:so|thus|hence|then|therefore),?\s)?(?:\b(?:the|my)\s)?(?:\bfinal\s)?\banswer(?:[\s*_]{0,4}:|\sis\b)"
)


@team
async def e2g(task: Task, solver: Voice, *, both: bool = False) -> Reply:
    """Draw the evidence out of the context, then answer from it; `both` shows the context once more."""
    form, context = instruction(task), _context(task)
    found = await solver.ask(fill(EXTRACT, context=context, task=task, form=form))
    evidence = _evidence(found)
    shown = context if both or not evidence else ""
    given = Linked(evidence or NONE, (found,))
    try:
        said = await solver.ask(fill(GENERATE, context=shown, evidence=given, task=task, form=form))
    except ModelError:
        return found
    unread = extract(task, said.text) is None and extract(task, found.text) is not None
    return found if unread else said


def _evidence(found: Reply) -> str:
    """What a reply gives as evidence, or all of it where nothing is called so, without the answer."""
    before, *named = _EVIDENCE.split(found.text.rpartition("</think>")[2])
    return "\n".join(_ANSWER.split(said)[0].strip() for said in named or [before]).strip()


def _context(task: Task) -> str:
    """The context of a task as it stands in a prompt; nothing when it has none of its own.

    Raises:
        BadInput: it is neither text nor a list of texts.
    """
    given = brought(task, "context", "", str | Sequence[str])
    texts = [given] if isinstance(given, str) else given
    return CONTEXT.format(context="\n\n".join(texts)) if any(texts) else ""
