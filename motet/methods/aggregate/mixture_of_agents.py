"""Mixture-of-Agents: layers of proposers, each reading the layer before, and an aggregator on top.

Paper: Wang et al. 2024, arXiv:2406.04692.
Idea: a model writes better when it sees what others wrote, even others that are weaker.
Calls: n * (layers - 1) + 1: the last of the layers is the aggregator alone.
Deviates: the paper's system prompt stands in the user message, in our words.
Failure: a proposer that fails is missing from its layer; when a whole layer or the aggregator fails, the run
fails.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_all
from motet.methods.common import at_least, seats
from motet.teams import Voices, team
from motet.types import Reply, Task, fill

AGGREGATE = """\
Question:
{task}

Several answers to it were given:

{replies}

Write one answer that is better than each of these. Do not trust them blindly: some may be wrong or slanted.
Check what they say, keep what holds, mend what does not, and answer in full rather than comment on them.
{form}"""


@team
async def mixture_of_agents(
    task: Task,
    proposers: Voices,
    aggregator: Voice,
    *,
    n: int = 3,
    layers: int = 3,
    temperature: float = 0.7,
) -> Reply:
    """Let `n` proposers answer in layers, each layer reading the last, and an aggregator conclude."""
    at_least(2, layers=layers)
    crowd, form = seats(proposers, n), instruction(task)
    replies = await ask_all(crowd, task, form, temperature=temperature)
    for _ in range(layers - 2):
        prompt = fill(AGGREGATE, task=task, replies=replies, form=form)
        replies = await ask_all(crowd, prompt, temperature=temperature)
    return await aggregator.ask(fill(AGGREGATE, task=task, replies=replies, form=form))
