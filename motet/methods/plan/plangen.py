"""PlanGEN: constraints, a verifier that knows them, and a choice of search by the difficulty of the question.

Paper: Parmar et al. 2025, arXiv:2502.16111 (catalogue 35).
Idea: what a right plan must satisfy is extracted first, and a verifier scores every plan against it, from
-100 to 100, with feedback. While the best plan scores below theta, a selection agent runs one of three
searches (`motet.methods.plan.searchers`), with that feedback: the one of highest UCB, in which a language
model's opinion of how fit each is counts for less with every run (`motet.methods.plan.bandit`).
Calls: at most 3 + r * (1 + 2 * n * D): a first plan, the constraints and the first verdict; then the
selection and a search. Another `algorithm` than `mixture` asks for no selection.
Deviates: the paper's weights of the UCB's terms are not followed; rewards in it are scaled to 0..1; its
history is that of this run. REBASE's shares are rounded to sum to the budget.
Failure: when the first plan fails, the run fails. Without constraints plans are verified by the question
alone; without a verdict a plan has reward 0; without a selection agent all searches are equally fit.
"""

from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.errors import BadInput, ModelError, UnknownName
from motet.methods.common import at_least, weights
from motet.methods.plan.bandit import Arm, Weights
from motet.methods.plan.growth import Plan, Search
from motet.methods.plan.searchers import SEARCHES
from motet.teams import team
from motet.types import Linked, Reply, Task, fill

FIRST = "Question:\n{task}\n\nMake a plan step by step and carry it out. {form}"
CONSTRAIN = """\
Question:
{task}
{form}

List all constraints that a right answer must satisfy, one a line. Do not answer the question."""
CONSTRAINTS = "It must satisfy these constraints:\n{constraints}\n\n"
SELECT = """\
Question:
{task}

The best answer so far:
{plan}
What is wrong with it: {feedback}

Three searches could better it. best_of_n draws many whole answers: good when one good idea is enough.
tree_of_thoughts follows the best step at each depth: good when steps can be judged one by one. rebase follows
many paths, the better ones more: good when the right path may look bad at first.
Say how fit each is for this question, from 0 to 1."""
MIXTURE = "mixture"
Fitness = Annotated[float, Meta(ge=0, le=1)]


class Priors(Struct):
    """How fit each search is."""

    best_of_n: Fitness
    tree_of_thoughts: Fitness
    rebase: Fitness


@team
async def plangen(  # noqa: PLR0913 (four voices are the method)
    task: Task,
    solver: Voice,
    constrainer: Voice,
    verifier: Voice,
    selector: Voice,
    *,
    algorithm: str = MIXTURE,
    n: int = 3,
    D: int = 2,
    r: int = 2,
    theta: int = 95,
    T_b: float = 0.2,
    temperature: float = 0.7,
) -> Linked:
    """Better a plan by searches (`r`, of width `n` and depth `D`) until a verifier scores it `theta`."""
    at_least(1, n=n, D=D)
    at_least(0, r=r)
    weights(temperature=temperature)
    if T_b <= 0:
        raise BadInput(f"T_b={T_b!r}: expected a temperature above 0")
    if algorithm not in (MIXTURE, *SEARCHES):
        raise UnknownName("search", algorithm, (MIXTURE, *SEARCHES))
    form = instruction(task)
    opening = [fill(FIRST, task=task, form=form), fill(CONSTRAIN, task=task, form=form)]
    first, found = await ask_each([solver, constrainer], opening)
    constraints = fill(CONSTRAINTS, constraints=found) if isinstance(found, Reply) else Linked("")

    def search(before: Plan) -> Search:
        return Search(task, form, solver, verifier, constraints, before, n, D, T_b, temperature)

    (best,) = await search(Plan()).verify([Plan((answered([first])[0],))])
    arms, failed = {name: Arm() for name in SEARCHES}, True
    for T in range(r):
        if best.reward >= theta:
            break
        name = await _choose(selector, task, best, arms, T) if algorithm == MIXTURE else algorithm
        plans = await SEARCHES[name](search(best))
        reached = max([plan.reward for plan in plans], default=-100)
        arms[name].learn((reached + 100) / 200, reached > best.reward, failed)
        failed = reached <= best.reward
        best = max([best, *plans], key=lambda plan: plan.reward)
    return Linked(best.text.text, (*best.steps, *best.feedback.links))


async def _choose(selector: Voice, task: Task, best: Plan, arms: dict[str, Arm], T: int) -> str:
    """The search of highest bound, given how fit the selection agent finds each; the first of equals."""
    prompt = fill(SELECT, task=task, feedback=best.feedback, plan=best.text)
    try:
        priors = (await selector.ask(prompt, schema=Priors)).data
    except ModelError:
        priors = Priors(0, 0, 0)
    return max(arms, key=lambda name: arms[name].ucb(T, getattr(priors, name), Weights()))
