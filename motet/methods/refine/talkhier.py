"""TalkHier: structured messages within a hierarchy, and refinement by a team of evaluators.

Paper: Wang et al. 2025, arXiv:2502.11098 (catalogue 11).
Idea: a message between two agents has three fields: the message itself (what to do), the background, and the
intermediate output. A supervisor instructs a writer; what it writes goes to an evaluation team with a
supervisor of its own, the lead, who instructs the evaluators, and hands up one summary and one score of what
they say. Below `threshold` the supervisor has the writer revise. Every agent keeps its own memory of its own
talks.
Calls: at most 2 + T * (n + 5): in each round the supervisor's and the lead's instruction, n evaluations, the
summary, and then an instruction and a revision.
Deviates: the order of work is fixed (write, evaluate, revise), where the paper's supervisor names the next
of several members. Orders, which go down, have the three fields; what goes up is a draft, or feedback and a
score. The lead sends all evaluators the same message. Every agent is shown the task as well.
Failure: when the first draft fails, the run fails. An instruction that fails is left out; an evaluator that
fails is missing. When all of them, the summary or a revision fail, the last draft stands.
"""

from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Conversation, Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.errors import BadInput, ModelError
from motet.methods.common import at_least, seats, share
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

ORDER = """\
You supervise a team. The question:
{task}
{form}

{news}

Write to {receiver}: as `message` what to do now, as `background` what must be known of the question, as
`intermediate_output` what there is so far."""
FIRST = "Nothing is written yet. The writer shall answer the question."
WRITTEN = "The writer's answer:\n{draft}\nThe evaluation team shall judge it."
JUDGED = "The evaluation team on the last answer:\n{summary}\nThe writer shall mend it."
LEAD = "Your supervisor asks for a judgement:\n{order}\nThe answer:\n{draft}\nThe evaluators shall judge it."
WRITE = "Question:\n{task}\n\nFrom your supervisor:\n{order}\n\nAnswer the question. {form}"
EVALUATE = """\
Question:
{task}
{form}

From your supervisor:
{order}

Answer:
{draft}

Judge this answer: as `feedback` what is wrong and how to mend it, as `score` how good it is, from 0 to 1."""
SUMMARISE = """\
Your evaluators say of the answer:

{feedback}

The answer:
{draft}

Sum up as `feedback` what has to be mended, and give as `score` the quality of the answer, from 0 to 1."""
LABELS = {"M": "Message", "B": "Background", "I": "Intermediate output"}


class Letter(Struct):
    """A message from one agent to another."""

    message: str
    background: str
    intermediate_output: str


class Evaluation(Struct):
    """What an evaluator says, and the lead of all evaluators."""

    feedback: str
    score: Annotated[float, Meta(ge=0, le=1)]


@team
async def talkhier(  # noqa: PLR0913 (four voices are the method)
    task: Task,
    supervisor: Voice,
    writer: Voice,
    lead: Voice,
    evaluators: Voices,
    *,
    n: int = 3,
    T: int = 2,
    threshold: float = 0.8,
    fields: str = "MBI",
) -> Reply:
    """Write by a supervisor's orders and revise by an evaluation team's summary, `T` times at most.

    `fields` names what a message carries: M(essage), B(ackground), I(ntermediate output).
    """
    at_least(0, T=T)
    share(threshold=threshold)
    if not fields or set(fields) - set(LABELS):
        raise BadInput(f"fields={fields!r}: expected some of the letters {''.join(LABELS)}")
    form = instruction(task)
    above, below, middle = supervisor.chat(), writer.chat(), lead.chat()
    crowd = [evaluator.chat() for evaluator in seats(evaluators, n)]

    async def order(sender: Conversation, receiver: str, news: str | Linked) -> Linked:
        """An instruction as its receiver sees it; nothing when the sender fails."""
        prompt = fill(ORDER, task=task, form=form, news=news, receiver=receiver)
        try:
            return _fields(await sender.ask(prompt, schema=Letter), fields)
        except ModelError:
            return Linked("")

    wish = await order(above, "the writer", FIRST)
    draft = await below.ask(fill(WRITE, task=task, order=wish, form=form))
    for _ in range(T):
        wish = await order(above, "the evaluation team", fill(WRITTEN, draft=draft))
        wish = await order(middle, "the evaluators", fill(LEAD, order=wish, draft=draft))
        try:
            prompt = fill(EVALUATE, task=task, form=form, order=wish, draft=draft)
            feedback = answered(await ask_each(crowd, [prompt] * n, schema=Evaluation))
            verdict = await middle.ask(fill(SUMMARISE, feedback=feedback, draft=draft), schema=Evaluation)
            if verdict.data.score >= threshold:
                break
            summary = Linked(verdict.data.feedback, (verdict,))
            wish = await order(above, "the writer", fill(JUDGED, summary=summary))
            draft = await below.ask(fill(WRITE, task=task, order=wish, form=form))
        except ModelError:
            break
    return draft


def _fields(letter: Reply, fields: str) -> Linked:
    said = {"M": letter.data.message, "B": letter.data.background, "I": letter.data.intermediate_output}
    return Linked("\n".join(f"{LABELS[f]}: {said[f]}" for f in LABELS if f in fields), (letter,))
