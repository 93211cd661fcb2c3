"""A learned mixture: at each step a voice is drawn by its weight and takes the answer further.

Paper: Zaki et al. 2022, arXiv:2207.09090 (catalogue 196).
Idea: of several policies that are given, none need be good; drawing one anew at each step makes a policy of
its own, which can be better than each. The softmax weights are learned from outcomes (`train_mixture`, and
for numeric worlds `actor_critic`).
Calls: T.
Deviates: the base policies are voices, the state is the task with the last answer. An outcome is 1 for a
right answer at the end.
Failure: when a voice fails, the answer before stands; when all steps fail, so does the run.

    team = improper_mixture(T=2).cast(agents=[a, b, c])
    better = team(weights=asyncio.run(train_mixture(team, training)))
"""

from collections.abc import Sequence
from math import inf

from motet.answers import instruction
from motet.errors import BadInput, ModelError, NoAnswer
from motet.methods.common import at_least, dice
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import Voices, team
from motet.types import Reply, Task, fill

FURTHER = """\
Question:
{task}

An answer to it:
{draft}

Check it, and give it again or a better one. {form}"""


@team
async def improper_mixture(task: Task, agents: Voices, *, T: int = 2, weights: Sequence[float] = ()) -> Reply:
    """Take `T` steps, each by a voice drawn by `weights` (not negative; all the same when empty)."""
    at_least(1, T=T)
    chances = list(weights) or [1.0] * len(agents)
    if len(chances) != len(agents) or min(chances) < 0 or not 0 < sum(chances) < inf:
        raise BadInput(f"weights={weights!r}: expected one for each of {len(agents)} agents, some above 0")
    draft: Reply | None = None
    failed, form = "", instruction(task)
    for voice in dice("mixture", task.text).choices(agents, chances, k=T):
        try:
            if draft is None:
                draft = await voice.ask(task, STEPS, form)
            else:
                draft = await voice.ask(fill(FURTHER, task=task, draft=draft, form=form))
        except ModelError as error:
            failed = str(error.failure)
    if draft is None:
        raise NoAnswer(f"none of {T} steps was taken; last: {failed}")
    return draft
