"""Monte Carlo tree search over a dialogue: an answer is worth what the talk becomes that it begins.

Paper: Sharma 2024, arXiv:2407.18521 (catalogue 124): one of the three optimisers of Patched MOA.
Idea: a node is a conversation that ends with an answer. Each simulation goes down the tree by UCT, has the
leaf's talk go on (a voice plays the user, the solver draws n answers), takes one of them at random and plays
`depth` more turns; a judge grades the talk, and the grade is backed up. The first answer that was visited
most is the answer.
Calls: simulations * (n + 2 * depth + 2) - 1.
Deviates: the paper's one model is three voices, which you may cast alike. A selection goes down to a leaf,
where the paper's code stops one level down, and the words of the played user stay in the talk, where that
code drops them. These words are only asked for when the talk goes on.
Failure: when the first n answers fail, the run fails. When the talk cannot go on, it is graded as it is. A
judge that fails has given 0.5.
"""

from msgspec import Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import at_least, dice, weights
from motet.methods.search.tree import Node, grade
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

ASKED = "{task}\n{form}"
USER = "{talk}\n\nUser: {said}"
ASSISTANT = "{talk}\n\nAssistant: {said}"
TURN = "{talk}\n\nYou are the assistant. Answer the user's last words, and nothing else."
NEXT = """\
{talk}

What might the user say next? Write the user's words, and nothing else."""
JUDGE = """\
{talk}

Grade this conversation as `score`, from 0 (useless) to 1 (perfect): are the assistant's answers right, to the
point and clear?"""


class Talk(Struct, frozen=True):
    """A conversation, and the answer that it ends with."""

    words: Linked
    answer: Reply | None = None


@team
async def mcts(  # noqa: PLR0913 (three voices are the method)
    task: Task,
    solver: Voice,
    user: Voice,
    judge: Voice,
    *,
    n: int = 3,
    simulations: int = 2,
    depth: int = 1,
    c: float = 0.2,
    temperature: float = 1.0,
) -> Linked:
    """Search the talks that may follow each of `n` first answers, and give the one visited most.

    `depth` is how many turns a simulation plays beyond the tree, `c` the weight of exploration in UCT.
    """
    at_least(1, n=n, simulations=simulations)
    at_least(0, depth=depth)
    weights(c=c)
    rng = dice("mcts", task.text)
    root = Node(Talk(fill(ASKED, task=task, form=instruction(task))))
    verdicts: list[Reply] = []
    for _ in range(simulations):
        leaf = root
        while leaf.children:
            leaf = max(leaf.children, key=lambda child: child.uct(c))
        talk = leaf.held
        try:
            for turn in await _turns(talk, solver, user, n, temperature):
                Node(turn, leaf)
            leaf = rng.choice(leaf.children)
            talk = leaf.held
            for _ in range(depth):
                (talk,) = await _turns(talk, solver, user, 1, temperature)
        except ModelError:
            if not root.children:
                raise
        score, verdict = await grade(judge, fill(JUDGE, talk=talk.words))
        verdicts.extend(verdict)
        leaf.back_up(score)
    best = max(root.children, key=lambda child: (child.visits, child.mean)).held.answer
    assert best is not None
    return Linked(best.text, (best, *verdicts))


async def _turns(talk: Talk, solver: Voice, user: Voice, n: int, temperature: float) -> list[Talk]:
    """The talk with one more answer, in `n` versions; the user speaks first unless the question is open."""
    prompt = words = talk.words
    if talk.answer:
        words = fill(USER, talk=words, said=await user.ask(fill(NEXT, talk=words)))
        prompt = fill(TURN, talk=words)
    answers = await solver.ask_many(prompt, n=n, temperature=temperature)
    return [Talk(fill(ASSISTANT, talk=words, said=answer), answer) for answer in answers]
