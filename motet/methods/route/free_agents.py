"""Free agency: whoever plays badly for long is replaced by a free agent that did better in a trial.

Paper: Liu 2025, arXiv:2501.17903 (catalogue 71): RLFA.
Idea: a roster plays, a pool of free agents waits. Rewards are kept for each who plays; when the mean of the
last W falls below a threshold, a free agent is put on probation: it gets the same tasks in shadow, without a
say in the answer. After P tasks the better of the two has the seat (`season` keeps the book).
Calls: at most n.
Deviates: the answer is the roster's vote. An agent's inner mixture of experts is not built in: an agent may
be a team with a gate, such as `agent_store`. The reward is whether an agent is right, unless another is
given; the paper adds weighted terms of synergy and efficiency.
Failure: an agent that fails has no vote (and no reward); when none of the roster has one, the run fails.

    played = asyncio.run(season(free_agents(n=5).cast(agents=league), tasks, Roster((0, 1, 2), pool=(3, 4))))
    team = free_agents(n=5, active=played[-1].roster.active).cast(agents=league)
"""

from collections.abc import Sequence
from itertools import chain

from motet.answers import instruction
from motet.combine import answered, ask_each, majority
from motet.errors import BadInput
from motet.methods.common import seats
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import Voices, team
from motet.types import Linked, Task


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
    if not {*playing, *trial} <= set(range(n)) or {*playing} & {*trial}:
        raise BadInput(
            f"active={active!r}, trial={trial!r}: expected other numbers from 0 to {n - 1} in each"
        )
    asked = [league[i] for i in chain(playing, trial)]
    said = await ask_each(asked, [(task, STEPS, instruction(task))] * len(asked))
    return majority(task, answered(said[: len(playing)]))
