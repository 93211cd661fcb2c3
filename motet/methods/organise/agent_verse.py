"""AgentVerse: recruit experts, let them decide, act, evaluate, and recruit again.

Paper: Chen et al. 2023, arXiv:2308.10848 (catalogue 73).
Idea: the make-up of a group should follow the goal and what came of it. A recruiter describes n experts. They
decide together: in the vertical structure a solver proposes and the others review until all agree, k times at
most; in the horizontal one all answer, read each other and answer again (k rounds), and the first sums up.
The executor carries the decision out, the evaluator says what is missing, and the next of T rounds begins.
Executor and evaluator may be functions: the environment and its verdict.
Calls: at most T * (n * k + 4), in either structure.
Deviates: the verdict is a flag with words, not a score. Experts of a horizontal round speak at once, not in
turn.
Failure: without a recruiter the experts have no roles. Experts that fail are left out; when the solver fails
(or all do) the result of the round before stands, and in the first round the run fails. When the executor
fails, the decision is the result; when the evaluator fails, the result stands.
"""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each, leave_one_out
from motet.errors import ModelError, UnknownName
from motet.methods.common import at_least, recruit, seats
from motet.teams import Voices, team
from motet.types import Content, Linked, Reply, Task, fill

GOAL = "Goal:\n{task}\n{form}"
AGAIN = "{goal}\n\nA group before you came to this:\n{result}\n\nWhat is wrong with it:\n{feedback}"
RECRUIT = """\
{goal}

Which {n} experts should work on this together? Give them as `roles`: one sentence each, that tells the expert
what it knows and what it should look after."""
SOLVE = "{role}\n\n{goal}\n\nWork it out and give your answer."
REVIEW = """\
{role}

{goal}

Proposed:
{draft}

Review it from where you stand: say in `notes` what must change; set `done` to true only if nothing must."""
REVISE = "{role}\n\n{goal}\n\nYour proposal:\n{draft}\n\nReviews:\n\n{notes}\n\nGive a better answer."
DISCUSS = "{role}\n\n{goal}\n\nThe others say:\n\n{others}\n\nGive your answer, changed or not."
SUM_UP = "{role}\n\n{goal}\n\nThe group says:\n\n{replies}\n\nGive the one answer of the group."
ACT = "{goal}\n\nThe group has decided:\n{decision}\n\nCarry it out and give the result."
EVALUATE = """\
{goal}

Result:
{result}

Does it reach the goal? Say in `notes` what is missing or wrong, and set `done` to true only if it does."""
Decide = Callable[[Sequence[Voice], Sequence[Content], Linked, int], Awaitable[Reply]]


class Verdict(Struct):
    """What a reviewer says of a proposal, and the evaluator of a result."""

    notes: str
    done: bool


@team
async def agent_verse(  # noqa: PLR0913 (four voices are the method)
    task: Task,
    recruiter: Voice,
    experts: Voices,
    executor: Voice,
    evaluator: Voice,
    *,
    n: int = 3,
    k: int = 2,
    T: int = 2,
    structure: str = "vertical",
) -> Reply:
    """Recruit `n` experts, decide (`vertical` or `horizontal`), act and evaluate, in `T` rounds at most."""
    at_least(1, k=k, T=T)
    structures: dict[str, Decide] = {"vertical": vertical, "horizontal": horizontal}
    if structure not in structures:
        raise UnknownName("structure", structure, structures)
    group = seats(experts, n)
    first = goal = fill(GOAL, task=task, form=instruction(task))
    result: Reply | None = None
    for _ in range(T):
        roles = await recruit(recruiter, fill(RECRUIT, goal=goal, n=n), n)
        try:
            result = decision = await structures[structure](group, roles, goal, k)
        except ModelError:
            if result is None:
                raise
            break
        try:
            result = await executor.ask(fill(ACT, goal=goal, decision=decision))
            verdict = await evaluator.ask(fill(EVALUATE, goal=first, result=result), schema=Verdict)
        except ModelError:
            break
        if verdict.data.done:
            break
        goal = fill(AGAIN, goal=first, result=result, feedback=Linked(verdict.data.notes, (verdict,)))
    assert result is not None
    return result


async def vertical(group: Sequence[Voice], roles: Sequence[Content], goal: Linked, k: int) -> Reply:
    """A solver proposes; the others review until they agree, `k` times at most."""
    (solver, *reviewers), (own, *theirs) = group, roles
    draft = await solver.ask(fill(SOLVE, role=own, goal=goal))
    for _ in range(k):
        prompts = [fill(REVIEW, role=role, goal=goal, draft=draft) for role in theirs]
        said = await ask_each(reviewers, prompts, schema=Verdict)
        against = [Linked(r.data.notes, (r,)) for r in said if isinstance(r, Reply) and not r.data.done]
        if not against:
            break
        try:
            draft = await solver.ask(fill(REVISE, role=own, goal=goal, draft=draft, notes=against))
        except ModelError:
            break
    return draft


async def horizontal(group: Sequence[Voice], roles: Sequence[Content], goal: Linked, k: int) -> Reply:
    """All answer and read each other for `k` rounds; the first sums up."""
    said = await ask_each(group, [fill(SOLVE, role=role, goal=goal) for role in roles])
    for _ in range(k - 1):
        replies = [[o for o in others if isinstance(o, Reply)] for others in leave_one_out(said)]
        read = zip(roles, replies, strict=True)
        prompts = [fill(DISCUSS, role=role, goal=goal, others=others) for role, others in read]
        new = await ask_each(group, prompts)
        said = [b if isinstance(b, Reply) else a for a, b in zip(said, new, strict=True)]
    standing = answered(said)
    try:
        return await group[0].ask(fill(SUM_UP, role=roles[0], goal=goal, replies=standing))
    except ModelError:
        return standing[0]
