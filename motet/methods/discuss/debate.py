"""Multi-agent debate, decided by a vote or by a judge.

Paper: Du et al. 2023, arXiv:2305.14325; studied as test-time scaling by Yang et al. 2025, arXiv:2505.22960
(catalogue 169): n is parallel exploration, r is collaborative refinement.
Idea: agents answer, read the last answers of the others, answer again, and vote in the end; in
`judged_debate` a judge names the answer that stands. With r = 0 this is self-consistency, with n = 1
self-refinement: alone, an agent checks its own answer. A cast of one model is a homogeneous team, a cast of
several, or of one with several `personas`, a diverse one.
Calls: n * (r + 1), and one of the judge when there is a choice; fewer when `consensus` ends the debate
sooner.
Deviates: r counts the rounds after the opening (the paper's code counts the opening too). An agent is shown
its own last answer, not its whole history. `consensus`, off by default, is ours. The study of 169 is repeated
on simulated skills and planted attacks; its models and jailbreak data are not part of this.
Failure: the last answer of a debater that fails stands, and it is asked again in the next round; when nobody
has answered by the end, the run fails. The judge is shown the replies in which an answer can be read, or all
when it can in none. When the judge fails, the debaters vote.
"""

from collections.abc import Sequence

from motet.agent import Voice
from motet.answers import extract, instruction
from motet.combine import answered, ask_each, leave_one_out, majority, tally
from motet.errors import ModelError
from motet.methods.common import at_least, seats, share
from motet.methods.shapes import one_of
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

OPEN = "{persona}{task}\n\n{form}"
REVISE = """\
{persona}Question:
{task}

Your answer so far:
{own}

The answers of the others:

{others}

Take the others' reasoning as advice, not as truth: check it against your own, and give your answer, changed
or not. {form}"""
ALONE = """\
{persona}Question:
{task}

Your answer so far:
{own}

Check it, and give your answer, changed or not. {form}"""
JUDGE = """\
Question:
{task}

After a debate these answers stand, each told: {form}

{replies}

Judge them by their reasoning, not by how many say the same. Name the one that is right by number, as
`best`."""
NONE = "(you have given none yet)"


@team
async def debate(
    task: Task,
    debaters: Voices,
    *,
    n: int = 3,
    r: int = 2,
    consensus: float | None = None,
    personas: Sequence[str] = (),
) -> Linked:
    """Let `n` agents answer, read each other for `r` rounds, and vote.

    `consensus` is the share of the debaters (0 to 1) that must agree to end the debate sooner. `personas`
    tell the agents in turn who they are.
    """
    at_least(0, r=r)
    share(consensus=consensus)
    return majority(task, await argue(task, seats(debaters, n), r, personas, consensus))


@team
async def judged_debate(
    task: Task, debaters: Voices, judge: Voice, *, n: int = 3, r: int = 2, personas: Sequence[str] = ()
) -> Linked:
    """Let `n` agents answer and read each other for `r` rounds; a judge names the answer that stands."""
    at_least(0, r=r)
    standing = await argue(task, seats(debaters, n), r, personas)
    standing = [reply for reply in standing if extract(task, reply.text) is not None] or standing
    if len(standing) == 1:
        return Linked(standing[0].text, (standing[0],))
    prompt = fill(JUDGE, task=task, form=instruction(task), replies=standing)
    try:
        verdict = await judge.ask(prompt, schema=one_of(len(standing)))
    except ModelError:
        return majority(task, standing)
    best = standing[verdict.data.best - 1]
    return Linked(best.text, (best, verdict))


async def argue(
    task: Task, agents: Sequence[Voice], r: int, personas: Sequence[str], consensus: float | None = None
) -> list[Reply]:
    """The last answers of the agents after an opening and `r` rounds.

    Raises:
        NoAnswer: nobody has answered.
    """
    form = instruction(task)
    roles = [f"{personas[i % len(personas)]}\n\n" if personas else "" for i in range(len(agents))]
    said = await ask_each(agents, [fill(OPEN, persona=role, task=task, form=form) for role in roles])
    for _ in range(r):
        standing = [s for s in said if isinstance(s, Reply)]
        if consensus is not None and tally(task, standing, of=len(agents)).share() >= consensus:
            break
        heard = [[o for o in others if isinstance(o, Reply)] for others in leave_one_out(said)]
        prompts = [
            fill(
                REVISE if others else ALONE,
                persona=role,
                task=task,
                own=own if isinstance(own, Reply) else NONE,
                others=others,
                form=form,
            )
            for role, own, others in zip(roles, said, heard, strict=True)
        ]
        new = await ask_each(agents, prompts)
        said = [b if isinstance(b, Reply) else a for a, b in zip(said, new, strict=True)]
    return answered(said)
