"""Plans that grow and are verified: what the searches of PlanGEN are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.combine import ask_each
from motet.errors import ModelError
from motet.methods.plan.steps import LAST, MORE, concluded, path_text
from motet.types import Linked, Reply, Task, fill

PLAN = "Question:\n{task}\n\n{hint}{path}{step} {form}"
PATH = "The steps so far:\n{path}\n\n"
HINT = "An earlier attempt:\n{plan}\nWhat is wrong with it: {feedback}\n\n"
VERIFY = """\
Question:
{task}
{form}

{constraints}An answer, or the first steps towards one:
{plan}

Check it against each constraint. Say as `feedback` what it violates, then give as `reward` how good it is,
from -100 to 100; above 95 only if nothing is wrong."""


class Verdict(Struct):
    """What the verifier says."""

    feedback: str
    reward: Annotated[int, Meta(ge=-100, le=100)]


@dataclass(frozen=True)
class Plan:
    """A plan, whole or in part, and what the verifier said of it."""

    steps: tuple[Reply, ...] = ()
    reward: int = 0
    feedback: Linked = Linked("")

    @property
    def done(self) -> bool:
        """Whether its last step concluded."""
        return bool(self.steps) and concluded(self.steps[-1])

    @property
    def text(self) -> Linked:
        """All its steps."""
        return path_text(self.steps)


@dataclass(frozen=True)
class Search:
    """What a search is given.

    Args:
        constraints: as the verifier is shown them. before: the best plan so far.
        n: width, in plans at once. D: depth, in steps. T_b: temperature of REBASE's balance.
    """

    task: Task
    form: str
    solver: Voice
    verifier: Voice
    constraints: Linked
    before: Plan
    n: int
    D: int
    T_b: float
    temperature: float

    async def grow(self, plan: Plan, n: int, last: bool) -> list[Plan]:
        """`n` plans that are one step longer; none when the solver fails."""
        path = fill(PATH, path=plan.text) if plan.steps else ""
        known = self.before
        hint = fill(HINT, plan=known.text, feedback=known.feedback) if known.steps else ""
        step = LAST if last else MORE
        prompt = fill(PLAN, task=self.task, hint=hint, path=path, step=step, form=self.form)
        try:
            replies = await self.solver.ask_many(prompt, n=n, temperature=self.temperature)
        except ModelError:
            return []
        return [Plan((*plan.steps, reply)) for reply in replies]

    async def verify(self, plans: Sequence[Plan]) -> list[Plan]:
        """The same plans with a reward and feedback; reward 0 where the verifier fails."""
        known = {"task": self.task, "form": self.form, "constraints": self.constraints}
        prompts = [fill(VERIFY, **known, plan=plan.text) for plan in plans]  # type: ignore[arg-type]
        said = await ask_each([self.verifier] * len(plans), prompts, schema=Verdict)
        return [
            Plan(plan.steps, reply.data.reward, Linked(reply.data.feedback, (reply,)))
            if isinstance(reply, Reply)
            else plan
            for plan, reply in zip(plans, said, strict=True)
        ]
