"""The baseline: ask once.

Idea: what every team has to beat at equal cost.
Calls: 1.
Failure: when the voice fails, the run fails.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.teams import team
from motet.types import Reply, Task


@team
async def direct(task: Task, solver: Voice) -> Reply:
    """Ask once."""
    return await solver.ask(task, instruction(task))
