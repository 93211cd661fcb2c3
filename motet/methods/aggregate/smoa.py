"""SMoA: a sparse Mixture-of-Agents.

Paper: Li et al. 2024, arXiv:2411.03284 (catalogue 121).
Idea: between layers a judge keeps only the best k answers, a moderator ends the layers once they agree, and
each proposer plays another role, so that the prompts of proposers grow with k and not with n.
Calls: at most (n + 2) * (layers - 1): in each layer but the last n proposers and a judge, a moderator between
two layers, one aggregator. The judge is not asked when there is nothing to leave out (n ≤ k).
Deviates: roles come from a fixed list (ROLES, one a line, going round), where the paper has a model write
them for the task at hand. Judge and moderator are asked together, each for its own; the authors' code has one
request for both. Either sees all answers of the layer.
Failure: a proposer that fails is missing from its layer; when a whole layer or the aggregator fails, the run
fails. When the judge fails, the first k answers are kept; when the moderator fails, the layers go on.
"""

from collections.abc import Coroutine, Sequence
from itertools import cycle, islice
from typing import Any

from msgspec import Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.concurrency import all_of
from motet.errors import ModelError
from motet.methods.aggregate.mixture_of_agents import AGGREGATE
from motet.methods.common import at_least, keep_best, seats
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

ROLES = """\
You are a careful analyst: define the terms, then reason from them in small steps.
You are a sceptic: look for the trap in the question and for the case that breaks the obvious answer.
You are a practitioner: work a concrete instance through, and check the result against it.
You are a teacher: explain the principle behind the question first, then apply it.
You are an inventor: try a way to the answer that others would not think of.
You are an examiner: estimate what the answer must look like, then verify it."""
ROLE = "{role}\n\n{prompt}"
QUESTION = "Question:\n{task}\n{form}"
JUDGE = """\
Question:
{task}

These answers to it were given, each told: {form}

{replies}

Name the {k} best of them by number, best first, as `best`: right before eloquent, and different from each
other where they are equally good."""
MODERATE = """\
Question:
{task}

These answers to it were given:

{replies}

Should the discussion stop here? Set `stop` to true if they agree and are sound, so that another round would
change nothing; to false otherwise."""


class Decision(Struct):
    """What the moderator says."""

    stop: bool


@team
async def smoa(  # noqa: PLR0913 (five voices are the method)
    task: Task,
    proposers: Voices,
    judge: Voice,
    moderator: Voice,
    aggregator: Voice,
    *,
    n: int = 4,
    k: int = 2,
    layers: int = 3,
) -> Reply:
    """Let proposers in roles answer in layers; a judge keeps the best `k`, a moderator may stop early."""
    at_least(1, k=k)
    at_least(2, layers=layers)
    crowd, form = seats(proposers, n), instruction(task)
    roles = list(islice(cycle(ROLES.splitlines()), n))
    prompt = fill(QUESTION, task=task, form=form)
    for layer in range(1, layers):
        replies = await _propose(crowd, roles, prompt)
        shown = fill(JUDGE, task=task, form=form, replies=replies, k=k)
        asked: list[Coroutine[Any, Any, Any]] = [keep_best(judge, shown, replies, k)]
        if layer < layers - 1:
            asked.append(_settled(moderator, fill(MODERATE, task=task, replies=replies)))
        kept, *stop = await all_of(asked)
        prompt = fill(AGGREGATE, task=task, replies=kept, form=form)
        if any(stop):
            break
    return await aggregator.ask(prompt)


async def _propose(crowd: Sequence[Voice], roles: Sequence[str], prompt: Linked) -> list[Reply]:
    return answered(await ask_each(crowd, [fill(ROLE, role=role, prompt=prompt) for role in roles]))


async def _settled(moderator: Voice, prompt: Linked) -> bool:
    try:
        return bool((await moderator.ask(prompt, schema=Decision)).data.stop)
    except ModelError:
        return False
