"""MASTER: agents as the nodes of a tree search that needs no roll-outs.

Paper: Gan et al. 2025, arXiv:2501.14304 (catalogue 323).
Idea: an agent takes one step from the context of its path. Instead of playing on to the end, an assessor
checks the facts of the step and only then gives a score and its confidence in it: the agent's first reward.
Each expansion recruits b agents below the agent of highest UCT. An agent that concludes is evaluated: if its
answer passes, that is the answer of the team; if not, its score is passed back along the path. So easy
questions take few agents and hard ones many, and an agent hears only those on its path.
UCT: Q + C * sqrt(ln N / m), with N agents in the tree, m = c0 + the failures passed back to the agent, and Q
= (c0 * r0 + the scores of these failures) / m: the first score r0 counts as c0 observations, its confidence.
Calls: at most 3 * (1 + b * E): each agent's step, its assessment, and its evaluation if it concludes.
Deviates: the constants of the paper's UCT are not followed, the form above is ours. Facts, score and
confidence are one reply, in this order; an answer is evaluated at the same time, without them. A failed
answer stays open to be expanded, its agents seeing why it failed. In the last expansion all must conclude.
Failure: when the first agent fails, the run fails. One that is not assessed has score 1/2 at low confidence;
an answer that cannot be evaluated passes. When E expansions bring nothing that passes, the conclusion of
highest score is the answer.
"""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_each
from motet.concurrency import all_of
from motet.errors import ModelError
from motet.methods.common import at_least, weights
from motet.methods.plan.steps import LAST, MORE, concluded, path_text
from motet.methods.plan.tree import DOUBT, Node, best_leaf
from motet.teams import team
from motet.types import Failure, Linked, Reply, Task, fill

SOLVE = "Question:\n{task}\n\n{sofar}\n\n{step} {form}"
SOFAR = "What was done so far, each step with its assessment:\n\n{path}"
BEGIN = "Nothing is done yet."
STEP = "{solution}\nAssessment: {remarks}"
ASSESS = """\
Question:
{task}

Steps so far:
{path}

Look at the last step. First check its key facts, as `validation`. Then say how far this has come towards a
right answer, as `score` from 0 to 1, and how sure you are of that score, as `confidence` from 0 to 1."""
EVALUATE = """\
Question:
{task}
{form}

A solution:
{path}

Is its answer right? Give the reason as `why`, then `correct`."""


class Assessment(Struct):
    """What the assessor says of a step."""

    validation: str
    score: Annotated[float, Meta(ge=0, le=1)]
    confidence: Annotated[float, Meta(ge=0, le=1)]


class Evaluation(Struct):
    """What the assessor says of an answer."""

    why: str
    correct: bool


@team
async def master(
    task: Task,
    solver: Voice,
    assessor: Voice,
    *,
    b: int = 2,
    E: int = 3,
    C: float = 0.3,
    temperature: float = 0.6,
) -> Linked:
    """Search a tree of agents, `b` recruited in each of `E` expansions; the first answer to pass wins."""
    at_least(1, b=b)
    at_least(0, E=E)
    weights(C=C)
    tree: list[Node] = []
    for expansion in range(E + 1):
        parent = best_leaf(tree[0], len(tree), C) if tree else None
        prompt = _prompt(task, parent, LAST if expansion == E else MORE)
        try:
            steps = await solver.ask_many(prompt, n=b if tree else 1, temperature=temperature)
        except ModelError:
            if not tree:
                raise
            continue
        agents = [Node(step, parent) for step in steps]
        if parent:
            parent.children = agents
        tree += agents
        if passed := await _judged(assessor, task, agents):
            return max(passed, key=lambda node: node.score).answer
    return max(tree, key=lambda node: (concluded(node.solution), node.score)).answer


def _prompt(task: Task, parent: Node | None, step: str) -> Linked:
    path = [_with_remarks(node) for node in parent.path] if parent else []
    sofar = fill(SOFAR, path=path) if path else BEGIN
    return fill(SOLVE, task=task, sofar=sofar, step=step, form=instruction(task))


def _with_remarks(node: Node) -> Linked:
    links = [link for remark in node.remarks for link in remark.links]
    remarks = Linked(" ".join(remark.text for remark in node.remarks), tuple(links))
    return fill(STEP, solution=node.solution, remarks=remarks)


async def _judged(assessor: Voice, task: Task, agents: Sequence[Node]) -> list[Node]:
    """Give each agent its first reward: a score, and the confidence in it; evaluate those that conclude.

    Returns:
        Those whose answer is right; the failure of the others goes back along their paths.
    """
    final = [node for node in agents if concluded(node.solution)]
    steps = [fill(ASSESS, task=task, path=_steps(node)) for node in agents]
    ends = [fill(EVALUATE, task=task, form=instruction(task), path=_steps(node)) for node in final]
    assessing = ask_each([assessor] * len(agents), steps, schema=Assessment, temperature=0.0)
    evaluating = ask_each([assessor] * len(final), ends, schema=Evaluation, temperature=0.0)
    assessed, evaluated = await all_of([assessing, evaluating])
    for node, reply in zip(agents, assessed, strict=True):
        if isinstance(reply, Reply):
            node.score, node.confidence = reply.data.score, max(reply.data.confidence, DOUBT)
            node.remarks.append(Linked(reply.data.validation, (reply,)))
    passed = []
    for node, reply in zip(final, evaluated, strict=True):
        if isinstance(reply, Reply):
            node.remarks.append(Linked(f"Of the answer: {reply.data.why}", (reply,)))
        if isinstance(reply, Failure) or reply.data.correct:
            passed.append(node)
            continue
        for agent in node.path:
            agent.rewards.append(node.score)
    return passed


def _steps(node: Node) -> Linked:
    return path_text([agent.solution for agent in node.path])
