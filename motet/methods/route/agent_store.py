"""AgentStore: a hub that knows many specialists by tokens, and plans for several where one will not do.

Paper: Jia et al. 2024, arXiv:2410.18603 (catalogue 176).
Idea: whoever has an agent enrols it with a document and demonstrations of its tasks. Each agent is a token
whose embedding is learned from the demonstrations (`train_tokens`), so that the hub needs no descriptions in
its prompt. A task whose first token is likely enough goes to that agent alone; for others a manager splits it
among the k likeliest and puts their results together.
Calls: at most k + 2; 1 for a task that goes to one agent.
Deviates: the frozen language model under the tokens is a fixed hash of the task's trigrams. Which tasks need
several agents is told by the first token's chance. Agents answer in text, they do not share a desktop.
Failure: when an agent fails at a task or a part, the next likeliest is asked, after k of them the manager
itself; when it fails too, the run fails, or goes on without that part. When the manager cannot plan, the task
goes to one agent; when it cannot put the results together, the last result is the answer. Without tokens,
agents are found by the words of their descriptions.

    store = [Entry("writes", ("Write a poem.",)), Entry("does sums", ("What is 2 + 2?",))]
    team = agent_store(tokens=train_tokens([e.demonstrations for e in store])).cast(
        manager="local", agents=[writer, solver]
    )
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct, defstruct

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import BadInput, ModelError, NoAnswer
from motet.methods.common import at_least, share
from motet.methods.organise.roster import about, closest, roster
from motet.methods.route.features import dot, features, softmax
from motet.teams import Voices, team
from motet.types import Content, Linked, Reply, Task, fill

Token = Sequence[float]
"""The embedding of an agent: as many numbers as the features of a text."""

PLAN = """\
Task:
{task}

Agents:
{agents}

Split the task into at most {k} subtasks, in order, each for the agent that suits it. One is enough if one
agent can do all of it."""
PART = """\
The whole task, of which you do a part:
{task}

Results so far:
{done}

Your part:
{part}
{form}"""
JOIN = """\
Task:
{task}

Results of its parts:

{done}

Give the final answer."""


@team
async def agent_store(
    task: Task,
    manager: Voice,
    agents: Voices,
    *,
    k: int = 3,
    threshold: float = 0.5,
    tokens: Sequence[Token] = (),
) -> Reply:
    """Give a task to the agent whose token is likelier than `threshold`, or plan with the `k` likeliest."""
    at_least(1, k=k)
    share(threshold=threshold)
    if tokens and len(tokens) != len(agents):
        raise BadInput(f"{len(tokens)} tokens for {len(agents)} agents; give one for each, in their order")
    chances = token_chances(task.text, tokens) if tokens else []
    names = [f"{agent.name} {about(agent)}" for agent in agents]
    order = sorted(range(len(agents)), key=lambda i: -chances[i]) if tokens else closest(task.text, names, k)
    likely, form = [agents[i] for i in order[:k]], instruction(task)
    alone = (task, form)
    if not (tokens and chances[order[0]] > threshold):
        prompt = fill(PLAN, task=task, agents=roster(likely), k=k)
        try:
            plan = await manager.ask(prompt, schema=plan_for(tuple(a.name for a in likely)))
        except ModelError:
            return await first([*likely, manager], *alone)
        return await _together(task, manager, likely, plan, k)
    return await first([*likely, manager], *alone)


async def _together(task: Task, manager: Voice, likely: Sequence[Voice], plan: Reply, k: int) -> Reply:
    """Have the parts of a plan done, each with the results before it, and put them together."""
    done: list[Reply] = []
    parts, form = plan.data.subtasks[:k], instruction(task)
    for part in parts:
        ready = sorted(likely, key=lambda agent: agent.name != part.agent)
        wish = fill(PART, task=task, done=done or "(none)", part=Linked(part.do, (plan,)), form=form)
        try:
            done.append(await first([*ready, manager], wish))
        except ModelError:
            continue
    if len(done) == len(parts) == 1:
        return done[0]
    try:
        return await manager.ask(fill(JOIN, task=task, done=done) if done else task, form)
    except ModelError:
        if not done:
            raise
        return done[-1]


async def first(voices: Sequence[Voice], *parts: Content) -> Reply:
    """The reply of the first voice that does not fail.

    Raises:
        NoAnswer: all of them do; it names the failures.
    """
    failed: list[str] = []
    for voice in voices:
        try:
            return await voice.ask(*parts)
        except ModelError as error:
            failed.append(str(error.failure))
    raise NoAnswer("no voice answered: " + "; ".join(dict.fromkeys(failed)))


def token_chances(text: str, tokens: Sequence[Token]) -> list[float]:
    """How likely each agent's token is to come next after a task: softmax of its logits."""
    return softmax([dot(token, features(text, len(token))) for token in tokens])


@lru_cache
def plan_for(names: tuple[str, ...]) -> type[Struct]:
    """The schema of a plan for some agents."""
    who: Any = Literal[names]
    subtask = defstruct("Subtask", [("agent", who), ("do", str)])
    return defstruct("Plan", [("subtasks", list[subtask])])  # type: ignore[valid-type]
