"""Best of n: many samples, and a judge that picks one.

Paper: Cobbe et al. 2021, arXiv:2110.14168 (sample, rank with a verifier, keep the best).
Idea: to recognise a good answer is easier than to give one.
Calls: n + min(1, n - 1): one answer needs no judge.
Deviates: the verifier is a voice that is asked once and sees all samples side by side, not a trained scorer
of one at a time.
Failure: a sample that fails is missing; when all do, the run fails. When the judge fails, the first sample is
the answer. Samples of a model are one request and fail together.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import at_least
from motet.methods.shapes import one_of
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

JUDGE = """\
Question:
{task}

{n} candidate answers follow. They were told: {form}

{candidates}

Check the reasoning of each one. Which is most likely to be right, and clearest? Give its number as `best`."""


@team
async def best_of_n(
    task: Task, solver: Voice, judge: Voice, *, n: int = 5, temperature: float = 0.7
) -> Linked | Reply:
    """Sample `n` answers and let a judge pick one."""
    at_least(1, n=n)
    form = instruction(task)
    samples = await solver.ask_many(task, STEPS, form, n=n, temperature=temperature)
    there = len(samples)
    if there == 1:
        return samples[0]
    prompt = fill(JUDGE, task=task, n=there, form=form, candidates=samples)
    try:
        verdict = await judge.ask(prompt, schema=one_of(there))
    except ModelError:
        return samples[0]
    best = samples[verdict.data.best - 1]
    return Linked(best.text, (best, verdict))
