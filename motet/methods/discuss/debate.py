"""Multi-agent debate.

Paper: Du et al. 2023, arXiv:2305.14325; studied as test-time scaling by Yang et al. 2025, arXiv:2505.22960
(catalogue 169): n is parallel exploration, r is collaborative refinement.
Idea: agents answer, read the last answers of the others, answer again, and vote in the end.
Calls: n * (r + 1); fewer when `consensus` ends the debate sooner.
Deviates: r counts the rounds after the opening (the paper's code counts the opening too). An agent is shown
its own last answer, not its whole history. `consensus`, off by default, is ours.
Failure: the last answer of a debater that fails stands, and it is asked again in the next round; when nobody
has answered by the end, the run fails.
"""

from motet.answers import instruction
from motet.combine import answered, ask_each, leave_one_out, majority, tally
from motet.methods.common import at_least, seats, share
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

REVISE = """\
Question:
{task}

Your answer so far:
{own}

The answers of the others:

{others}

Take the others' reasoning as advice, not as truth: check it against your own, and give your answer, changed
or not. {form}"""
NONE = "(you have given none yet)"


@team
async def debate(
    task: Task, debaters: Voices, *, n: int = 3, r: int = 2, consensus: float | None = None
) -> Linked:
    """Let `n` agents answer, read each other for `r` rounds, and vote.

    `consensus` is the share of the debaters (0 to 1) that must agree to end the debate sooner.
    """
    at_least(0, r=r)
    share(consensus=consensus)
    agents, form = seats(debaters, n), instruction(task)
    said = await ask_each(agents, [(task, form)] * n)
    for _ in range(r):
        standing = [s for s in said if isinstance(s, Reply)]
        if consensus is not None and tally(task, standing, of=n).share() >= consensus:
            break
        prompts = [
            fill(
                REVISE,
                task=task,
                own=own if isinstance(own, Reply) else NONE,
                others=[o for o in others if isinstance(o, Reply)],
                form=form,
            )
            for own, others in zip(said, leave_one_out(said), strict=True)
        ]
        new = await ask_each(agents, prompts)
        said = [b if isinstance(b, Reply) else a for a, b in zip(said, new, strict=True)]
    return majority(task, answered(said))
