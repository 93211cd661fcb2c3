"""LatentMAS, side by side: experts think without words, and one who holds all their memories answers.

Paper: Zou et al. 2025, arXiv:2511.20639 (catalogue 29): the hierarchical setting.
Idea: each expert takes m latent steps on the question by itself; the keys and values of all lie one behind
the other in front of the judger's prompt.
Calls: n + 1, of which n decode nothing.
Deviates: the authors' experts hold a subject each and run in turn, each on the memory of those before; ours
are independent, and their keys are turned to where they come to lie. An expert whose weights are not the
judger's hands over words.
Failure: experts that fail are left out; when the judger fails, so does the run.
Figures: simulated voices have no memory to hand over, so the card's figures are those of words in its place;
`python -m benchmarks.latent` measures thoughts, on the embedded model's weights.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_each
from motet.methods.common import at_least, seats
from motet.methods.latent.latent_mas import wish
from motet.teams import Voices, team
from motet.types import Reply, Task

SOLVE = "You are expert {i} of {n}. Solve this question in your own way, step by step."
SUM_UP = """\
Answer the question below. What {n} experts thought of it is in your memory, or in words below; weigh it and \
think step by step."""


@team
async def latent_hierarchy(task: Task, experts: Voices, judger: Voice, *, n: int = 3, m: int = 10) -> Reply:
    """Let `n` experts think in `m` latent steps each, and answer in words from all their memories."""
    at_least(0, m=m)
    asked, form = seats(experts, n), instruction(task)
    prompts = [
        (SOLVE.format(i=i, n=n), task, form, *wish(m, [expert, judger])) for i, expert in enumerate(asked, 1)
    ]
    thoughts = [said for said in await ask_each(asked, prompts) if isinstance(said, Reply)]
    return await judger.ask(SUM_UP.format(n=n), task, *thoughts, form)
