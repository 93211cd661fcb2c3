"""Self-Refine: answer, feedback, better answer.

Paper: Madaan et al. 2023, arXiv:2303.17651.
Idea: a model that is asked what is wrong with its own answer can often mend it. The writer sees all earlier
drafts with the feedback on them, the critic the last draft.
Calls: at most 1 + 2 * r; the critic ends it when nothing is left to mend.
Deviates: the critic says that it is satisfied by a flag (`done`), not in words, and may be another model; the
prompts have no worked examples.
Failure: when the first draft fails, the run fails. When a later call of either voice fails, the last draft
stands.
"""

from msgspec import Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import at_least
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

CRITICISE = """\
Question:
{task}
{form}

Answer:
{draft}

Give feedback on this answer as `notes`: what is wrong or weak, where, and how to mend it. Set `done` to true
only if it is right and there is nothing to mend."""
REVISE = """\
Question:
{task}

Earlier answers, each with the feedback on it:

{history}

Write a better answer that takes the feedback into account. {form}"""
ATTEMPT = "Answer:\n{draft}\n\nFeedback:\n{notes}"


class Feedback(Struct):
    """What the critic says."""

    notes: str
    done: bool


@team
async def self_refine(task: Task, writer: Voice, critic: Voice, *, r: int = 3) -> Reply:
    """Answer, then mend the answer by feedback, `r` times at most."""
    at_least(0, r=r)
    form = instruction(task)
    history: list[Linked] = []
    draft = await writer.ask(task, form)
    try:
        for _ in range(r):
            notes = await critic.ask(fill(CRITICISE, task=task, form=form, draft=draft), schema=Feedback)
            if notes.data.done:
                break
            history.append(fill(ATTEMPT, draft=draft, notes=Linked(notes.data.notes, (notes,))))
            draft = await writer.ask(fill(REVISE, task=task, history=history, form=form))
    except ModelError:
        return draft
    return draft
