"""DyLAN: a dynamic network of agents that leaves out its weaker members.

Paper: Liu et al. 2023, arXiv:2310.02170 (catalogue 310).
Idea: agents form a feed-forward network over time: in each of T rounds every agent reads all answers of the
round before and rates them. After the middle round a ranker keeps the k best agents; the talk ends as soon as
more than two thirds agree. Ratings, read backwards from the answer, say how much each agent contributed
(`importance_scores`), and so who should be in the team at all (`best_agents`).
Calls: at most n * ceil(T / 2) + min(1, T - 1) + k * floor(T / 2).
Deviates: the roles of the agents are the instructions of whom you cast. All of a round are asked at once,
where the paper may stop in the middle of a round.
Failure: an agent that fails is missing from its round and still counts among those who must agree; in the
middle round it is left out for good. When a whole round fails, the run fails. When the ranker fails, the
first k are kept. Ratings that cannot be read count as equal.
"""

from math import ceil

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_all, majority, tally
from motet.methods.common import at_least, keep_best, seats
from motet.teams import Voices, team
from motet.types import Linked, Task, fill

REPLY = """\
Question:
{task}

Answers of the last round:

{replies}

Check them. First rate each of these answers from 1 (useless) to 5 (decisive), in their order, in one line
that begins with 'Ratings:'. Then reason and give your own answer. {form}"""
RANK = """\
Question:
{task}

These answers to it were given, each told: {form}

{replies}

Name the {k} best of them by number, best first, as `best`."""


@team
async def dylan(task: Task, agents: Voices, ranker: Voice, *, n: int = 4, T: int = 3, k: int = 2) -> Linked:
    """Let agents talk for `T` rounds; a ranker keeps `k` of them half-way, agreement ends the talk."""
    at_least(1, T=T, k=k)
    active, form = seats(agents, n), instruction(task)
    replies = await ask_all(active, task, form)
    for t in range(1, T):
        if tally(task, replies, of=len(active)).share() > 2 / 3:
            break
        if t == ceil(T / 2):
            prompt = fill(RANK, task=task, form=form, replies=replies, k=k)
            kept = {reply.voice for reply in await keep_best(ranker, prompt, replies, k)}
            active = [agent for agent in active if agent.name in kept]
        replies = await ask_all(active, fill(REPLY, task=task, replies=replies, form=form))
    return majority(task, replies)
