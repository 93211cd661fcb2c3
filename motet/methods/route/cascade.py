"""A cascade: the weak voice answers unless it disagrees with itself.

Paper: Yue et al. 2023, arXiv:2310.03094 (consistency as the sign to escalate); after FrugalGPT, Chen et al.
2023, arXiv:2305.05176.
Idea: most questions are easy. Sample the cheap model k times and call the dear one only when its answers
differ. A longer cascade is one whose strong voice is a cascade.
Calls: at most k + 1.
Deviates: the paper draws the samples from two kinds of prompt (chain and program of thought); here from one.
Failure: a sample that fails agrees with nobody (samples of a model are one request and fail together). When
the strong voice fails, or no answer can be read in its reply, what most samples say is the answer; when they
say nothing either, its reply or its failure is the end.
"""

from motet.agent import Voice
from motet.answers import extract, instruction
from motet.combine import majority, tally
from motet.errors import ModelError
from motet.methods.common import at_least, share
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import team
from motet.types import Linked, Reply, Task


@team
async def cascade(
    task: Task, weak: Voice, strong: Voice, *, k: int = 5, threshold: float = 0.8, temperature: float = 0.7
) -> Linked | Reply:
    """Sample a weak voice `k` times; ask the strong one if fewer than `threshold` (0 to 1) agree."""
    at_least(1, k=k)
    share(threshold=threshold)
    form = instruction(task)
    try:
        samples = await weak.ask_many(task, STEPS, form, n=k, temperature=temperature)
    except ModelError:
        samples = []
    counted = tally(task, samples, of=k)
    if counted.winner is not None and counted.share() >= threshold:
        return majority(task, samples)
    try:
        reply = await strong.ask(task, STEPS, form)
    except ModelError:
        if counted.winner is None:
            raise
        return majority(task, samples)
    readable = counted.winner is None or extract(task, reply.text) is not None
    return reply if readable else majority(task, samples)
