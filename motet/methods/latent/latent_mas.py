"""LatentMAS, one after another: only the last voice speaks, the others think and hand over their memory.

Paper: Zou et al. 2025, arXiv:2511.20639 (catalogue 29).
Idea: a voice reads its prompt behind the keys and values of those before it, takes m steps in which its last
hidden state, aligned to input space, is its next input, and hands on all keys and values. The judger decodes.
Calls: 4, of which 3 decode nothing.
Deviates: a voice thinks if all that come after it have its weights (`torch:` models, not wrapped); any other
hands over words, and the rest goes on from those. At m = 0 the memory of the prompts is handed over, where
the authors' code drops it. Hidden states always go through the alignment matrix.
Failure: the thoughts of a voice that fails are missing and the next one goes on from those before; when the
judger fails, so does the run.
Figures: simulated voices have no memory to hand over, so the card's figures are those of words in its place;
`python -m benchmarks.latent` measures thoughts, on the embedded model's weights.
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import at_least
from motet.models.latent import latent_space, think
from motet.teams import team
from motet.types import Content, Reply, Task

PLAN = "Make a plan for this question, step by step."
CRITICISE = "Check the plan for this question, step by step."
REFINE = "Improve the plan for this question, step by step."
JUDGE = "Solve this question with the plan, step by step."


@team
async def latent_mas(
    task: Task, planner: Voice, critic: Voice, refiner: Voice, judger: Voice, *, m: int = 10
) -> Reply:
    """Plan, criticise and refine in `m` latent steps each, and answer in words."""
    at_least(0, m=m)
    seats = [planner, critic, refiner, judger]
    heard: tuple[Content, ...] = ()
    for i, prompt in enumerate((PLAN, CRITICISE, REFINE)):
        try:
            heard = (await seats[i].ask(prompt, task, *heard, *wish(m, seats[i:])),)
        except ModelError:
            continue
    return await judger.ask(JUDGE, task, *heard, instruction(task))


def wish(m: int, seats: list[Voice]) -> tuple[Content, ...]:
    """The wish to think without words, for the first of some seats, if all others can read its thoughts."""
    first, *others = [latent_space(seat) for seat in seats]
    return (think(m),) if first and all(space == first for space in others) else ()
