"""A team bought within a budget: components are tried before they are taken, whatever their descriptions say.

Paper: Yuan et al. 2025, arXiv:2510.16499 (catalogue 167).
Idea: a composer names the skills that a task needs and writes probes for each; components are retrieved by
their descriptions. One after another is probed for the skills that nobody has yet, a judge says whether it
helped, and an online knapsack (`Knapsack`) takes it when the skills it adds are worth its cost. Those taken
work on the task, and the composer writes the answer.
Calls: at most 1 + 2 * m * K * q + m + min(1, m - 1).
Deviates: descriptions are compared by words, not embeddings. A component has a skill when it helped with
more than half of the probes. The least value, 1 in the paper, is the least weight of a skill. `B` pays for
those taken, not for probes. The prompts of those taken are not optimised afterwards.
Failure: a component that fails a probe is broken and never taken. A judge that fails was not helped. When
the composer fails, the task is its own one skill and probe. When nobody is taken, or all who were fail, the
composer answers alone; when it cannot join their answers, the first stands.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_each
from motet.errors import BadInput, ModelError
from motet.methods.common import at_least
from motet.methods.organise.roster import about, closest
from motet.methods.route.knapsack import Knapsack
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

NEED = """\
Task:
{task}

Name at most {m} skills that it needs, each with its `weight` from 1 to 3 and {q} short test questions that
only somebody with this skill can answer, as `probes`. Do not do the task."""
JUDGE = """\
Skill: {skill}

Test question:
{probe}

Answer:
{answer}

Is this answer right and helpful? Say so as `helpful`."""
JOIN = """\
Task:
{task}

Answers of those who worked on it:

{answers}

Write the final answer. {form}"""
WHOLE = "The whole task"  # the skill of a task whose skills nobody could name


class Skill(Struct):
    """Something that a task needs."""

    skill: str
    weight: Annotated[int, Meta(ge=1, le=3)]
    probes: Annotated[list[str], Meta(min_length=1)]


class Needed(Struct):
    """What the composer says of a task."""

    skills: Annotated[list[Skill], Meta(min_length=1)]


class Verdict(Struct):
    """What the judge says of the answer to a probe."""

    helpful: bool


@team
async def knapsack_composer(  # noqa: PLR0913 (the paper's own)
    task: Task,
    composer: Voice,
    judge: Voice,
    agents: Voices,
    *,
    m: int = 2,
    K: int = 2,
    q: int = 1,
    B: float = 2.0,
    costs: Sequence[float] = (),
) -> Reply:
    """Probe the `K` likeliest agents for each of `m` skills with `q` questions, and buy some for `B`.

    `costs` are those of the agents, in their order; 1 each when empty.
    """
    at_least(1, m=m, K=K, q=q)
    if costs and len(costs) != len(agents):
        raise BadInput(f"{len(costs)} costs for {len(agents)} agents; give one for each, in their order")
    prices, form = tuple(costs) or (1.0,) * len(agents), instruction(task)
    Knapsack(B, prices, {})  # refuses what cannot be paid, before anybody is asked
    basis: tuple[Reply, ...] = ()
    try:
        asked = await composer.ask(fill(NEED, task=task, m=m, q=q), schema=Needed)
        needed = {s.skill: s for s in asked.data.skills[:m]}
        basis = (asked,)
    except ModelError:
        needed = {WHOLE: Skill(WHOLE, 1, [task.text])}
    names = [f"{agent.name} {about(agent)}" for agent in agents]
    found = {name: closest(name, names, K) for name in needed}
    pack = Knapsack(B, prices, {name: float(skill.weight) for name, skill in needed.items()})
    for i in dict.fromkeys(i for near in zip(*found.values(), strict=True) for i in near):
        trials = [needed[name] for name in pack.wanted if i in found[name]]
        if trials and prices[i] <= pack.left:
            shown = await probed(agents[i], judge, trials, q, basis)
            pack = pack.offered(i, shown)
    said = await ask_each([agents[i] for i in pack.taken], [(task, form)] * len(pack.taken))
    replies = [s for s in said if isinstance(s, Reply)]
    if len(replies) == 1:
        return replies[0]
    try:
        return await composer.ask(
            fill(JOIN, task=task, answers=replies, form=form) if replies else task, form
        )
    except ModelError:
        if not replies:
            raise
        return replies[0]


async def probed(
    agent: Voice, judge: Voice, trials: Sequence[Skill], q: int, basis: tuple[Reply, ...]
) -> list[str]:
    """The skills that an agent has shown, all its probes asked at once; none when it failed one.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    pairs = [(skill.skill, Linked(probe, basis)) for skill in trials for probe in skill.probes[:q]]
    answers = await ask_each([agent] * len(pairs), [probe for _, probe in pairs])
    replies = [answer for answer in answers if isinstance(answer, Reply)]
    if len(replies) < len(pairs):
        return []
    prompts = [fill(JUDGE, skill=s, probe=p, answer=r) for (s, p), r in zip(pairs, replies, strict=True)]
    verdicts = await ask_each([judge] * len(pairs), prompts, schema=Verdict)
    helped = [isinstance(v, Reply) and v.data.helpful for v in verdicts]
    marks = {
        s.skill: [h for h, (name, _) in zip(helped, pairs, strict=True) if name == s.skill] for s in trials
    }
    return [name for name, row in marks.items() if sum(row) > len(row) / 2]
