"""Patched MOA: one model made better behind its caller's back, by samples, a critique and a synthesis.

Paper: Sharma 2024, arXiv:2407.18521 (catalogue 124).
Idea: an optimiser at inference time stands where the model stood, and whoever asks need not know. This one
draws n answers of the model, has it compare them, and has it write the final answer with the critique in
view. `patched` puts this one, best of n or the tree search in a model's place.
Calls: n + 2.
Deviates: the prompts are in our words. The one model is three voices, which `patched` casts alike. Where the
paper has a proxy for the chat-completions interface, a team that takes a voice's place in another team is
the same.
Failure: a sample that fails is missing; when all do, or the writer does, the run fails. Samples of a model
are one request and fail together. Without a critique the synthesis does without.
"""

from typing import Any

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import ask_each
from motet.errors import UnknownName
from motet.methods.aggregate.best_of_n import best_of_n
from motet.methods.common import at_least
from motet.methods.search.mcts import mcts
from motet.teams import Team, team
from motet.types import Reply, Task, fill

CANDIDATES = "Question:\n{task}\n\n{n} candidate answers:\n\n{candidates}"
CRITIQUE = "{shown}\n\nSay of each of them what is right in it and what is wrong."
SYNTHESIS = """\
{shown}

What was found in them:
{critique}

Write the final answer: the best that can be made of these. {form}"""
NONE = "(nothing was said about them)"
COOL = 0.1  # temperature of critique and synthesis


@team
async def patched_moa(
    task: Task, solver: Voice, critic: Voice, writer: Voice, *, n: int = 3, temperature: float = 1.0
) -> Reply:
    """Draw `n` answers, have them criticised, and have the final one written with the critique in view."""
    at_least(1, n=n)
    form = instruction(task)
    candidates = await solver.ask_many(task, form, n=n, temperature=temperature)
    shown = fill(CANDIDATES, task=task, n=len(candidates), candidates=candidates)
    (critique,) = await ask_each([critic], [fill(CRITIQUE, shown=shown)], temperature=COOL)
    said = critique if isinstance(critique, Reply) else NONE
    return await writer.ask(fill(SYNTHESIS, shown=shown, critique=said, form=form), temperature=COOL)


STRATEGIES: dict[str, Team[...]] = {"bon": best_of_n, "mcts": mcts, "moa": patched_moa}


def patched(model: Any, strategy: str = "moa", **knobs: Any) -> Team[...]:
    """A model with an optimiser in front of it, to be cast wherever the model could be.

    Args:
        model: whatever can sing a voice; it sings all voices of the optimiser.
        strategy: `bon`, `mcts` or `moa`. knobs: of that method.

    Raises:
        UnknownName: there is no such strategy or knob.

    >>> from motet import Task
    >>> from motet.methods import direct
    >>> run = direct.cast(patched("sim:skill=1", "bon", n=2)).run(Task("2 + 2?", target="4", kind="number"))
    >>> run.answer[-9:], len(run.calls)
    ('Answer: 4', 3)
    """
    if strategy not in STRATEGIES:
        raise UnknownName("strategy", strategy, STRATEGIES)
    return STRATEGIES[strategy].configured(**knobs).cast(model)
