"""Self-MoA: a mixture of one model with itself.

Paper: Li et al. 2025, arXiv:2502.00674 (catalogue 120).
Idea: what a mixture gains from diversity it loses to its weaker members; many samples of the best model
bring diversity without the loss.
Calls: n + 1.
Deviates: the prompt is in our words.
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
async def self_moa(
    task: Task, proposer: Voice, aggregator: Voice, *, n: int = 6, temperature: float = 0.7
) -> Reply:
    """Sample `n` answers of one proposer and let an aggregator make one of them."""
    at_least(1, n=n)
    form = instruction(task)
    samples = await proposer.ask_many(task, form, n=n, temperature=temperature)
    return await aggregator.ask(fill(AGGREGATE, task=task, replies=samples, form=form))
