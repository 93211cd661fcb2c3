"""A compound system of three modules, each to be sung by the model that is best at it.

Paper: Chen et al. 2025, arXiv:2502.14815 (catalogue 231): its self-refine system.
Idea: a model that writes well need not criticise well. Generator, critic and refiner are modules of their
own; `allocate` finds the model of each with calls linear in the number of modules.
Calls: 3.
Deviates: the prompts are in our words.
Failure: when the generator fails, the run fails. When the critic or the refiner fails, the draft stands.

    found = asyncio.run(allocate(llm_selector, [a, b, c], training, judge=d))
    team = llm_selector.cast(**found.cast)
"""

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import team
from motet.types import Reply, Task, fill

CRITICISE = """\
Question:
{task}

Answer:
{draft}

Say whether it is right, and if not, what is wrong with it. Do not answer the question yourself."""
REFINE = """\
Question:
{task}

Answer:
{draft}

Critique:
{critique}

Keep the answer if the critique finds it right; otherwise write a better one. {form}"""


@team
async def llm_selector(task: Task, generator: Voice, critic: Voice, refiner: Voice) -> Reply:
    """Answer, criticise and refine once, with a model of its own for each module."""
    form = instruction(task)
    draft = await generator.ask(task, STEPS, form)
    try:
        critique = await critic.ask(fill(CRITICISE, task=task, draft=draft))
        return await refiner.ask(fill(REFINE, task=task, draft=draft, critique=critique, form=form))
    except ModelError:
        return draft
