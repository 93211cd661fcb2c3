"""Chain of thought without examples.

Paper: Kojima et al. 2022, arXiv:2205.11916; after Wei et al. 2022, arXiv:2201.11903.
Idea: a model that writes its steps down before it answers gets more of them right.
Calls: 1.
Deviates: the paper draws the answer out with a second call; here the first is told how to end, and read.
Failure: when the voice fails, the run fails.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.teams import team
from motet.types import Reply, Task

STEPS = "Let's think step by step, then give the answer."


@team
async def chain_of_thought(task: Task, solver: Voice) -> Reply:
    """Ask once, for the steps as well."""
    return await solver.ask(task, STEPS, instruction(task))
