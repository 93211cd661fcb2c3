"""OWL's Workforce: a planner that knows no tools, a coordinator, and workers that can be swapped.

Paper: Hu et al. 2025, arXiv:2505.23885 (catalogue 420).
Idea: the planner splits the task into at most m subtasks and says which wait for which; the coordinator
assigns each to a worker by what the workers can do. Subtasks go through a channel (`channel.clear`): each is
done as soon as those it waits for are. A worker that cannot do its part says so; on a failure the planner
makes a new plan from what was done, what failed and what was left because of it, r times at most. In the end
it gives the answer. A new field takes other workers only.
Calls: at most (1 + r) * (m + 2) + 1.
Deviates: this is the inference side; the planner is trained from the tape, where its voice is `planner`.
Failure: a worker that fails or says that it cannot fails its subtask. When the planner fails, no other
plan is made; for want of any, the task itself is the one subtask. When the coordinator fails, subtasks go
round. When the final answer fails, the last result stands; when nothing was done at all, the run fails.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import cycle, islice
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, defstruct

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError, NoAnswer
from motet.methods.common import at_least
from motet.methods.organise.channel import Outcome, Posted, clear
from motet.methods.organise.roster import roster
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

PLAN = """\
Task:
{task}

Split it into at most {m} subtasks, in order. For each give what to `do`, complete in itself, and `after`: the
numbers of the earlier subtasks whose results it needs (none: an empty list)."""
REPLAN = "{plan}\n\nA first plan failed in part.\n\nDone:\n\n{done}\n\nFailed:\n\n{lost}\n\nPlan the rest."
ASSIGN = """\
Workers:
{workers}

Subtasks:

{subtasks}

Name for each subtask, in order, who should do it, as `workers`."""
WORK = """\
Task, of which you do one part:
{task}

Results so far:

{done}

Your part:
{part}

Do it and reply with what you found or made. If you cannot, reply with 'FAILED:' and the reason. {form}"""
COMPOSE = "Task:\n{task}\n\nResults of the parts:\n\n{done}\n\n{left}Give the answer to the task. {form}"
LEFT = "Parts that failed:\n\n{lost}\n\n"
RESULT = "{part}\n-> {result}"
NOTHING = "(nothing)"
WAITED = Linked("(not tried: it needs a part that failed)")
FAILED = "FAILED:"


class Subtask(Struct):
    """What the planner posts to the channel."""

    after: Annotated[list[Annotated[int, Meta(ge=1, le=99)]], Meta(max_length=4)]
    do: Annotated[str, Meta(min_length=1)]


@team
async def workforce(
    task: Task, planner: Voice, coordinator: Voice, workers: Voices, *, m: int = 4, r: int = 2
) -> Reply | Linked:
    """Split a task into `m` subtasks at most, assign and do them, and plan again on failure, `r` times."""
    at_least(1, m=m)
    at_least(0, r=r)
    form = instruction(task)
    wish = first = fill(PLAN, task=task, m=m)
    done: list[Outcome] = []

    async def work(posted: Posted, given: Sequence[Linked]) -> Outcome:
        told = [*map(_told, done), *given] or NOTHING
        prompt = fill(WORK, task=task, done=told, part=posted.part, form=form)
        try:
            said = await posted.worker.ask(prompt)
        except ModelError as error:
            return Outcome(posted.part, Linked(str(error.failure)), False)
        well = not said.text.lstrip().startswith(FAILED)
        return Outcome(posted.part, Linked(said.text, said.links), well)

    for attempt in range(r + 1):
        planned = await _post(planner, coordinator, workers, wish, m)
        if attempt and not planned:
            break
        channel = planned or [Posted(task, workers[0])]
        outcomes = await clear(channel, work)
        ends = [o or Outcome(p.part, WAITED, False) for p, o in zip(channel, outcomes, strict=True)]
        done += [end for end in ends if end.well]
        lost = [_told(end) for end in ends if not end.well]
        if not (planned and lost):
            break
        wish = fill(REPLAN, plan=first, done=list(map(_told, done)) or NOTHING, lost=lost)
    if not done:
        raise NoAnswer("no worker has done its subtask")
    left = fill(LEFT, lost=lost) if lost else Linked("")
    try:
        return await planner.ask(fill(COMPOSE, task=task, done=list(map(_told, done)), left=left, form=form))
    except ModelError:
        return done[-1].result


def _told(outcome: Outcome) -> Linked:
    return fill(RESULT, part=outcome.part, result=outcome.result)


async def _post(
    planner: Voice, coordinator: Voice, workers: Sequence[Voice], wish: Linked, m: int
) -> list[Posted]:
    """A plan, assigned; nothing when the planner fails."""
    try:
        plan = await planner.ask(wish, schema=_plan(m))
    except ModelError:
        return []
    parts = [Linked(subtask.do, (plan,)) for subtask in plan.data.subtasks]
    names = {worker.name: worker for worker in workers}
    prompt = fill(ASSIGN, workers=roster(workers), subtasks=parts)
    try:
        chosen = (await coordinator.ask(prompt, schema=_assignment(tuple(names), len(parts)))).data.workers
    except ModelError:
        chosen = list(islice(cycle(names), len(parts)))
    return [
        Posted(part, names[name], frozenset(a - 1 for a in subtask.after if 1 <= a <= i))
        for i, (part, name, subtask) in enumerate(zip(parts, chosen, plan.data.subtasks, strict=True))
    ]


@lru_cache
def _plan(m: int) -> type[Struct]:
    return defstruct("Plan", [("subtasks", Annotated[list[Subtask], Meta(min_length=1, max_length=m)])])


@lru_cache
def _assignment(names: tuple[str, ...], n: int) -> type[Struct]:
    named: Any = Annotated[list[Literal[names]], Meta(min_length=n, max_length=n)]  # type: ignore[valid-type]
    return defstruct("Assignment", [("workers", named)])
