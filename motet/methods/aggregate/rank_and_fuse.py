"""LLM-Blender: compare the answers of many models two by two, and fuse the best.

Paper: Jiang et al. 2023, arXiv:2306.02561.
Idea: no model is best for every question, and two answers side by side tell more than one alone. PairRank
compares all pairs of answers, in both orders since a judge may favour a place; GenFuse writes one answer
from the k that win most.
Calls: n + n * (n - 1) + min(1, k).
Deviates: ranker and fuser are voices, not trained encoders. The ranker names the better of two, where the
paper's gives a logit, so an answer's score is its number of wins (the paper's MaxWins). Ties go to the
answer that came first.
Failure: a proposer that fails is missing; when all do, the run fails. A comparison that fails counts for
neither. When the fuser fails, the first of the ranking is the answer, as it is with k = 0.
"""

from collections.abc import Sequence
from itertools import permutations

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_all, ask_each
from motet.errors import ModelError
from motet.methods.common import at_least, seats
from motet.methods.shapes import one_of
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

COMPARE = """\
Question:
{task}

Two answers to it, each told: {form}

[1] {one}

[2] {other}

Which is better? Give its number as `best`."""
FUSE = """\
Question:
{task}

The best of several answers to it, best first:

{replies}

Write one answer that joins what is right in them. {form}"""


@team
async def rank_and_fuse(
    task: Task,
    proposers: Voices,
    ranker: Voice,
    fuser: Voice,
    *,
    n: int = 4,
    k: int = 3,
    temperature: float = 0.7,
) -> Linked | Reply:
    """Let `n` models answer, rank the answers by all comparisons of two, and fuse the best `k`."""
    at_least(0, k=k)
    crowd, form = seats(proposers, n), instruction(task)
    replies = await ask_all(crowd, task, form, temperature=temperature)
    ranked, verdicts = await pair_rank(task, replies, ranker)
    if k:
        try:
            return await fuser.ask(fill(FUSE, task=task, replies=ranked[:k], form=form))
        except ModelError:
            pass
    return Linked(ranked[0].text, (ranked[0], *verdicts))


async def pair_rank(task: Task, replies: Sequence[Reply], ranker: Voice) -> tuple[list[Reply], list[Reply]]:
    """The replies by how many of their 2 (n - 1) comparisons they win, most first, and the verdicts.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    pairs, form = list(permutations(range(len(replies)), 2)), instruction(task)
    prompts = [fill(COMPARE, task=task, form=form, one=replies[i], other=replies[j]) for i, j in pairs]
    verdicts = await ask_each([ranker] * len(pairs), prompts, schema=one_of(2))
    wins = [0] * len(replies)
    for pair, verdict in zip(pairs, verdicts, strict=True):
        if isinstance(verdict, Reply):
            wins[pair[verdict.data.best - 1]] += 1
    ranked = sorted(range(len(replies)), key=lambda i: -wins[i])
    return [replies[i] for i in ranked], [v for v in verdicts if isinstance(v, Reply)]
