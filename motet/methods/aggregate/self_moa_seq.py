"""Self-MoA-Seq: Self-MoA with a sliding window.

Paper: Li et al. 2025, arXiv:2502.00674 (catalogue 120).
Idea: the aggregator reads w answers at a time, the first of them its own synthesis so far, so the context
stays bounded however many samples there are.
Calls: n + max(0, ceil((n - w) / (w - 1))) + 1.
Deviates: all samples are drawn at once, before the first synthesis: they do not depend on it. The synthesis
has one of w places; the paper's window has 6, three of them for the synthesis.
Figures: one prompt or windows are the same to an aggregator that knows the right answer when it sees it. One
that errs must recognise it again in each window: 0.745 instead of 0.81 where it does so 8 times in 10, 0.87
instead of 0.905 where 5 in 10 (n = 7, w = 3, 200 sums; `pytest tests/test_methods_aggregate.py`).
Failure: a sample that fails is missing; when all do, or the aggregator does, the run fails. Samples of a
model are one request and fail together.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.methods.aggregate.mixture_of_agents import AGGREGATE
from motet.methods.common import at_least
from motet.teams import team
from motet.types import Reply, Task, fill


@team
async def self_moa_seq(
    task: Task, proposer: Voice, aggregator: Voice, *, n: int = 6, w: int = 3, temperature: float = 0.7
) -> Reply:
    """Sample `n` answers of one proposer and aggregate them in windows of `w`, carrying the synthesis on."""
    at_least(1, n=n)
    at_least(2, w=w)
    form = instruction(task)
    samples = await proposer.ask_many(task, form, n=n, temperature=temperature)
    synthesis = await aggregator.ask(fill(AGGREGATE, task=task, replies=samples[:w], form=form))
    for start in range(w, len(samples), w - 1):
        window = [synthesis, *samples[start : start + w - 1]]
        synthesis = await aggregator.ask(fill(AGGREGATE, task=task, replies=window, form=form))
    return synthesis
