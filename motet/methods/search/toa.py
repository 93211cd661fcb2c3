"""TOA: a search over which model to ask next, and to better which answer.

Paper: Ye et al. 2024, arXiv:2412.17061 (catalogue 7).
Idea: which of several models should speak next depends on the question and on what was said. A node is an
answer, an action asks one of n models to better the answers on the way to it; a reward model grades each
answer at once, UCT sends the later samples to where the rewards are. The best answer of all is the answer.
The tree is grown anew for each question.
Calls: 2 * N.
Deviates: each model is asked once at a node. One that was not asked there yet counts as asked once, with its
mean reward in this tree, so the search may go deeper before it has asked all. The n first answers are asked
for together: UCT tries all of them before any other. The reward model is a voice.
Failure: a model that fails counts as asked, with reward 0, and nothing grows from there. When all of the
first answers fail, the run fails. A judge that fails has given 0.5.
Figures: half of the calls are the reward model's, which the paper's count of samples leaves out. With two
simulated improvers, each good at half of the questions, N = 9 and c = 0.1 (`pytest
tests/test_methods_search.py`), the mean quality at 9 generations is 4.9, and 2.7 with a mixture of agents. At
18 calls of all kinds the mixture has 5.1: where models see which answer is best and spoil none, the judge
does not pay. Where they build on any answer and the unskilled spoil it, the search has 2.8 and the mixture
2.4. `c` wants the size of the differences between rewards, a tenth here: at 0.5 the 4.9 are 2.6.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from msgspec import Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.concurrency import all_of
from motet.methods.common import at_least, seats, weights
from motet.methods.search.tree import Node, grade
from motet.teams import Voices, team
from motet.types import Failure, Linked, Reply, Task, fill

BETTER = """\
Question:
{task}

Earlier answers, each meant to better the one before it:

{earlier}

Check them, keep what is right, mend what is not, and give a better answer. {form}"""
JUDGE = """\
Question:
{task}

An answer to it:
{answer}

Grade it as `score`, from 0 (wrong or useless) to 1 (right and clear)."""


class Sample(Struct, frozen=True):
    """An answer, or the failure to give one, by the model at a seat."""

    seat: int
    outcome: Reply | Failure
    reward: float = 0.0
    verdict: tuple[Reply, ...] = ()


@team
async def toa(
    task: Task,
    agents: Voices,
    judge: Voice,
    *,
    n: int = 3,
    N: int = 12,
    c: float = 0.5,
    temperature: float = 0.7,
) -> Linked:
    """Let a tree search draw `N` samples from `n` models, each meant to better some before it.

    `c` is the weight of exploration in UCT; rewards are from 0 to 1.
    """
    at_least(1, N=N)
    weights(c=c)
    models, form = seats(agents, n), instruction(task)
    root: Node[Sample | None] = Node(None)

    async def graded(seat: int, outcome: Reply | Failure) -> Sample:
        if isinstance(outcome, Failure):
            return Sample(seat, outcome)
        reward, verdict = await grade(judge, fill(JUDGE, task=task, answer=outcome))
        return Sample(seat, outcome, reward, verdict)

    def grown(node: Node[Sample | None], sample: Sample) -> Sample:
        Node(sample, node).back_up(sample.reward)
        return sample

    first = await ask_each(models[:N], [(task, form)] * len(models[:N]), temperature=temperature)
    answered(first)
    samples = [grown(root, s) for s in await all_of([graded(*one) for one in enumerate(first)])]
    while len(samples) < N and not _stuck(root, n):
        means = [fmean(s.reward for s in samples if s.seat == seat) for seat in range(n)]
        node, seat = _place(root, means, c)
        earlier = [x.held.outcome for x in node.path() if x.held and isinstance(x.held.outcome, Reply)]
        prompt = fill(BETTER, task=task, earlier=earlier, form=form)
        (outcome,) = await ask_each([models[seat]], [prompt], temperature=temperature)
        samples.append(grown(node, await graded(seat, outcome)))
    best = max((s for s in samples if isinstance(s.outcome, Reply)), key=lambda s: s.reward)
    assert isinstance(best.outcome, Reply)
    return Linked(best.outcome.text, (best.outcome, *best.verdict))


def _place(root: Node[Sample | None], means: Sequence[float], c: float) -> tuple[Node[Sample | None], int]:
    """Where to grow, and by which model: down by UCT until a model that was not asked there is worth most."""
    node = root
    while True:
        asked = {child.held.seat for child in node.children if child.held}
        bonus = c * math.sqrt(math.log(max(1, node.visits)))
        fresh = {seat: mean + bonus for seat, mean in enumerate(means) if seat not in asked}
        seat = max(fresh, key=lambda seat: fresh[seat], default=-1)
        child = max(
            (x for x in node.children if not _stuck(x, len(means))), key=lambda x: x.uct(c), default=None
        )
        if child is None or (fresh and fresh[seat] > child.uct(c)):
            return node, seat
        node = child


def _stuck(node: Node[Sample | None], n: int) -> bool:
    """Whether there is a failure here, or wherever one could go from here."""
    if node.held and isinstance(node.held.outcome, Failure):
        return True
    return len(node.children) == n and all(_stuck(child, n) for child in node.children)
