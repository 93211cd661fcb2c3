"""Self-consistency: many chains of thought, one vote.

Paper: Wang et al. 2022, arXiv:2203.11171.
Idea: right answers agree with each other more often than wrong ones do.
Calls: n.
Deviates: the prompt has no worked examples. Ties go to the answer that came first.
Failure: a sample that fails, or holds no answer, has no vote; when none has, the run fails. Samples of a
model are one request and fail together.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import majority
from motet.methods.common import at_least
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import team
from motet.types import Linked, Task


@team
async def self_consistency(task: Task, solver: Voice, *, n: int = 5, temperature: float = 0.7) -> Linked:
    """Sample `n` answers and take the one given most often."""
    at_least(1, n=n)
    samples = await solver.ask_many(task, STEPS, instruction(task), n=n, temperature=temperature)
    return majority(task, samples)
