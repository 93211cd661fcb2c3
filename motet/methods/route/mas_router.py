"""MasRouter: for each question its own way of working together, its own roles, and a model for each role.

Paper: Yue et al. 2025, arXiv:2502.11133 (catalogue 278).
Idea: an easy question needs one cheap model, a hard one several that vote, follow each other or debate. A
controller decides in a cascade (`controller`): mode, roles one after another until the team is complete, and
the model of each role. It is learned from logged runs by policy gradient on utility - lambda * cost
(`train_router`).
Calls: at most gamma * (1 + min(1, gamma - 1)); a debate has two rounds.
Deviates: texts are hashed trigrams, not sentence embeddings, and the mode is drawn from a softmax, not
through a latent variable. The team is complete when `NOBODY_ELSE` is drawn, where the paper's number follows
from a difficulty. Of its modes, one agent alone is any mode with a team of one; graphs are left out.
Failure: an agent that fails is missing; in a chain the next one goes on from the last answer. When all fail,
the run fails.

    router = mas_router(profiles=["small and cheap", "large and strong"]).cast(agents=[small, large])
    runs = [router.run(task, seed=seed) for task in training for seed in range(6)]
    better = router(controller=train_router(runs, lam=10))  # and again, with runs of the better one
"""

from collections.abc import Sequence

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each, majority
from motet.errors import BadInput, ModelError, NoAnswer, UnknownName
from motet.methods.common import at_least, dice
from motet.methods.route.controller import Controller, Menu, drawn
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

AFTER = """\
Question:
{task}

An answer to it:
{draft}

{role} Then give it again or a better one. {form}"""
DEBATE = """\
Question:
{task}

Answers to it:

{replies}

{role} Use what is right in these answers, and give your own. {form}"""
ROLES = (
    "Solve it step by step.",
    "Be sceptical: look for what is easily got wrong.",
    "Name the rule or the facts that it turns on, and apply them.",
)
MODES = {
    "vote": "Vote: independent answers in parallel.",
    "chain": "Chain: each agent improves the previous answer.",
    "debate": "Debate: agents read one another and argue again.",
}
"""Ways of working together, as the controller reads of them."""

Member = tuple[Voice, str]


async def vote(task: Task, members: Sequence[Member]) -> Linked:
    """All answer by themselves, and the majority has it."""
    return majority(task, await _openings(task, members))


async def chain(task: Task, members: Sequence[Member]) -> Reply:
    """Each takes the answer of the one before it further."""
    draft: Reply | None = None
    failed, form = "", instruction(task)
    for voice, role in members:
        shown = fill(AFTER, task=task, draft=draft, role=role, form=form) if draft else None
        try:
            draft = await (voice.ask(shown) if shown else voice.ask(task, role, form))
        except ModelError as error:
            failed = str(error.failure)
    if draft is None:
        raise NoAnswer(f"nobody in the chain answered; last: {failed}")
    return draft


async def debate(task: Task, members: Sequence[Member]) -> Linked:
    """All answer, read all answers, answer again, and the majority has it."""
    replies, form = await _openings(task, members), instruction(task)
    if len(members) > 1:
        prompts = [fill(DEBATE, task=task, replies=replies, role=role, form=form) for _, role in members]
        replies = answered(await ask_each([voice for voice, _ in members], prompts))
    return majority(task, replies)


async def _openings(task: Task, members: Sequence[Member]) -> list[Reply]:
    prompts = [(task, role, instruction(task)) for _, role in members]
    return answered(await ask_each([voice for voice, _ in members], prompts))


@team
async def mas_router(
    task: Task,
    agents: Voices,
    *,
    gamma: int = 3,
    modes: Sequence[str] = tuple(MODES),
    roles: Sequence[str] = ROLES,
    profiles: Sequence[str] = (),
    controller: Controller = Controller(),
) -> Linked | Reply:
    """Draw mode, roles and models for the question, `gamma` agents at most, and let them work.

    `profiles` describe the models to the controller, in the order of the voices; their names when empty.
    """
    at_least(1, gamma=gamma)
    if unknown := [mode for mode in modes if mode not in MODES]:
        raise UnknownName("mode", unknown[0], MODES)
    if not modes or not roles or (profiles and len(profiles) != len(agents)):
        raise BadInput(
            f"modes={modes!r}, roles={roles!r}, {len(profiles)} profiles of {len(agents)} agents: expected "
            "one or more of each, and a profile for each agent or none"
        )
    menu = Menu([MODES[m] for m in modes], roles, profiles or [agent.name for agent in agents])
    plan = drawn(controller, task.prompt, menu, gamma, dice("route", task.prompt))
    members = [(agents[j], roles[i]) for i, j in zip(plan.roles, plan.llms, strict=True)]
    match modes[plan.mode]:
        case "vote":
            return await vote(task, members)
        case "chain":
            return await chain(task, members)
    return await debate(task, members)
