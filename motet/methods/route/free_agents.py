"""Free agency: whoever plays badly for long is replaced by a free agent that did better in a trial.

Paper: Liu 2025, arXiv:2501.17903 (catalogue 71): RLFA.
Idea: a roster plays, a pool of free agents waits. Rewards are kept for each who plays; when the mean of the
last W falls below a threshold, a free agent is put on probation: it gets the same tasks in shadow, without a
say in the answer. After P tasks the better of the two has the seat (`season` keeps the book).
Calls: at most n.
Deviates: the answer is the roster's vote. An agent's inner mixture of experts is not built in: an agent may
be a team with a gate, such as `agent_store`. The reward is whether an agent is right, unless another is
given; the paper adds weighted terms of synergy and efficiency.
Failure: an agent that fails has no vote (and no reward); when none of the roster has one, the run fails. When
the budget refuses a call to an agent on trial, that trial is lost and the vote stands. What those on trial
spend counts, though: a roster of agents that make several calls may come too late, and a budget of seconds
ends the run while somebody on trial is still thinking.

    played = asyncio.run(season(free_agents(n=5).cast(agents=league), tasks, Roster((0, 1, 2), pool=(3, 4))))
    team = free_agents(n=5, active=played[-1].roster.active).cast(agents=league)
"""

from collections.abc import Sequence

from motet.answers import instruction
from motet.combine import answered, ask_each, majority
from motet.concurrency import all_of
from motet.errors import BadInput, BudgetExceeded
from motet.methods.common import seats
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import Voices, team
from motet.types import Failure, Linked, Reply, Task


@team
async def free_agents(
    task: Task, agents: Voices, *, n: int = 4, active: Sequence[int] = (), trial: Sequence[int] = ()
) -> Linked:
    """Take a vote of those of a league of `n` who play, while others are on trial.

    Args:
        active: who plays, counted from 0; all when empty.
        trial: who is asked as well, without a vote.
    """
    league = seats(agents, n)
    playing = list(active) or list(range(n))
    asked = [*playing, *trial]
    if not set(asked) <= set(range(n)) or len(set(asked)) < len(asked):
        raise BadInput(
            f"active={active!r}, trial={trial!r}: expected numbers from 0 to {n - 1}, none of them twice"
        )

    async def said(i: int) -> Reply | Failure:
        try:
            (outcome,) = await ask_each([league[i]], [(task, STEPS, instruction(task))])
        except BudgetExceeded as error:
            if i in playing:
                raise
            return error.failure
        return outcome

    outcomes = await all_of([said(i) for i in asked])
    return majority(task, answered(outcomes[: len(playing)]))
