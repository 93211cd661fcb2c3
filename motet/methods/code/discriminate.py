"""Which of several repairs: a debate of discriminators, and a judge."""

from collections.abc import Sequence

from motet.agent import Voice
from motet.combine import answered, ask_each
from motet.errors import ModelError, NoAnswer
from motet.methods.code.attempts import State
from motet.methods.shapes import one_of
from motet.types import Linked, Reply, Task, fill

ARGUE = "The task:\n{task}\n\nSolutions:\n\n{shown}\n\n{others}Which one solves the task, and why?"
OTHERS = "What others say:\n\n{others}\n\n"
JUDGE = """\
The task:
{task}

Solutions:

{shown}

What was said of them:

{arguments}

Which one solves the task? Give its number as `best`."""


def solutions(tree: Sequence[State]) -> list[Linked]:
    """The different results of a search that finished, of highest value first; if none did, the best result.

    A result is the patch; where there is no repository, what was said.

    Raises:
        NoAnswer: nothing was changed.
    """
    start, ranked = tree[0].repository, sorted(tree[1:], key=lambda state: -state.value)
    found: dict[str, tuple[State, Linked]] = {}
    for state in ranked:
        text = state.repository.patch(start) if start.files else str(state.said)
        if text and (text not in found or state.finished > found[text][0].finished):
            found[text] = (state, Linked(text, state.replies))
    if not found:
        raise NoAnswer(f"in {len(ranked)} moves nothing was changed in the repository")
    finished = [result for state, result in found.values() if state.finished]
    return finished or [next(iter(found.values()))[1]]


async def decide(crowd: Sequence[Voice], judge: Voice, task: Task, shown: Sequence[Linked], R: int) -> Linked:
    """The solution that a judge takes after `R` rounds of debate; the first when there is one, or it fails.

    Raises:
        BudgetExceeded: the run may spend no more.
    """
    if len(shown) == 1:
        return shown[0]
    said: list[Reply] = []
    try:
        for _ in range(R):
            others = fill(OTHERS, others=said) if said else ""
            prompt = fill(ARGUE, task=task, others=others, shown=shown)
            said = answered(await ask_each(crowd, [prompt] * len(crowd)))
    except NoAnswer:
        pass  # the judge decides by what there is
    try:
        prompt = fill(JUDGE, task=task, arguments=said, shown=shown)
        verdict = await judge.ask(prompt, schema=one_of(len(shown)))
    except ModelError:
        return shown[0]
    best = shown[verdict.data.best - 1]
    return Linked(best.text, (*best.links, verdict))
