"""Re-ReST: self-training, with a reflector that mends what failed.

Paper: Dou et al. 2024, arXiv:2406.01495 (catalogue 384).
Idea: the agent samples k replies; those that the environment judges good are kept. Of the others a reflector,
who sees the reply and the feedback, writes a better one; if that passes, it is kept as well, as a reply of
the agent's to the task. The reflector is tuned on its own successes.
Calls: k + b * r a task, with b bad replies of the k.
Deviates: the environment's feedback is a line on the answer that was read; it does not name the target.
Failure: a reflection that fails is left out; when no sample of the agent came, the run fails.
"""

from collections.abc import Sequence

from motet.agent import Voice
from motet.answers import extract, instruction
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.tape import Tape
from motet.teams import team
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, Mark, of_team, of_voice, or_none, outcome, replies, right
from motet.types import Reply, Task, fill

ASK = "{task}\n\n{form}"
REFLECT = """Question:
{task}

An answer that failed:
{draft}

Feedback: {feedback}

Think about what went wrong, and write a better answer. {form}"""


@team
async def rerest_rollout(task: Task, agent: Voice, reflector: Voice, *, k: int = 3, r: int = 1) -> Reply:
    """`k` samples of the agent, and `r` reflections on each that is wrong."""
    if k < 1 or r < 0:
        raise BadInput(f"k is {k!r} and r is {r!r}; expected k of 1 or more and r of 0 or more")
    form = instruction(task)
    samples = await agent.ask_many(fill(ASK, task=task, form=form), n=k)
    failed = [s for s in samples if not right(task, s.text)]
    asked = [fill(REFLECT, task=task, draft=s, feedback=_feedback(task, s), form=form) for s in failed]
    mended = await all_of([or_none(reflector.ask_many(prompt, n=r)) for prompt in asked if r])
    passed = [s for s in [*samples, *(m for found in mended if found for m in found)] if right(task, s.text)]
    return (passed or samples)[0]


def _feedback(task: Task, sample: Reply) -> str:
    answer = extract(task, sample.text)
    return "no answer could be read in it." if answer is None else f"{answer} is not the right answer."


def rerest(tapes: Sequence[Tape], *, mark: Mark = outcome) -> Built:
    """The agent's good replies, its mended ones, and the reflections that mended them.

    Args:
        tapes: runs of `rerest_rollout`.
        mark: of samples and reflections; 1 passes.

    Raises:
        BadInput: a run is of another team.
    """
    made = Maker()
    for tape in of_team(tapes, rerest_rollout.name):
        samples = {call.id: call for call in of_voice(tape, "agent")}
        for call in (*samples.values(), *of_voice(tape, "reflector")):
            made.counts[f"{call.voice} samples"] += 1
            if not call.node or (mark(tape, call) or 0.0) < 1:
                made.reject("the call failed" if call.failure else "it did not pass", tape, call)
                continue
            made.imitate(tape, call)
            if call.voice == "reflector":
                prompt = tape.path(samples[call.parents[0]].prompt)
                trained = (*[False] * len(prompt), True)
                said = (*prompt, *replies(tape, call))
                made.sft.append(Example(said, trained, voice="agent", runs=(tape.run,), stage="mended"))
    return made.built()
