"""RISE: learning to mend one's own answer, turn after turn.

Paper: Qu et al. 2024, *Recursive Introspection*, arXiv:2407.18219 (catalogue 306).
Idea: a question becomes a conversation of attempts. The learner plays it on its own mistakes; at every state
it meets, better replies are drawn from itself (best of n) or from a stronger expert, and it is tuned on them,
weighted by exp(reward / τ).
Calls: at most turns * (1 + n); a right attempt ends the conversation.
Deviates: rewards are marks in [0, 1]. τ = 0.4 and the four ways to keep are those of the released code.
Failure: a state whose candidates fail has none; when an attempt fails the run fails, and what is on its tape
can be built from all the same.
"""

from collections.abc import Sequence
from math import exp
from typing import Literal

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import BadInput
from motet.tape import Called, Tape
from motet.teams import team
from motet.train.builders.data import Built
from motet.train.builders.reading import (
    Maker,
    Mark,
    agent_of,
    of_team,
    of_voice,
    or_none,
    outcome,
    right,
)
from motet.types import Reply, Task, fill

ASK = "{task}\n\n{form}"
RETRY = "That answer is not right. Think about what went wrong and answer again. {form}"
Keep = Literal["best", "better", "right", "all"]


@team
async def rise_rollout(task: Task, learner: Voice, expert: Voice, *, turns: int = 2, n: int = 4) -> Reply:
    """Attempts of the learner, and at each state `n` candidates of the expert.

    Cast the learner's own model as the expert for self-distillation.
    """
    if turns < 1 or n < 1:
        raise BadInput(f"turns is {turns!r} and n is {n!r}; expected 1 or more")
    form = instruction(task)
    chat, teacher = agent_of(learner).chat(), agent_of(expert)
    prompt = fill(ASK, task=task, form=form)
    for left in reversed(range(turns)):
        await or_none(chat.branches(n, prompt, by=teacher))
        attempt = await chat.ask(prompt)
        if right(task, attempt.text) or not left:
            break
        prompt = fill(RETRY, form=form)
    return attempt


def rise(tapes: Sequence[Tape], *, keep: Keep = "best", tau: float = 0.4, mark: Mark = outcome) -> Built:
    """Candidates at the learner's own states, weighted by exp(reward / τ).

    Args:
        tapes: runs of `rise_rollout`.
        keep: `best` of a state's candidates, all that are `better` than the attempt before them (at the first
            state: than nothing, 0), those that are `right` (mark 1), or `all`. `best` must be better too.
        tau: temperature of the weights, above 0.

    Raises:
        BadInput: a run is of another team, or τ is not above 0.
    """
    if tau <= 0:
        raise BadInput(f"tau is {tau!r}; expected a number above 0")
    made = Maker()
    for tape in of_team(tapes, rise_rollout.name):
        before = 0.0
        for attempt in of_voice(tape, "learner"):
            made.counts["states"] += 1
            drawn = [c for c in of_voice(tape, "expert") if c.prompt == attempt.prompt]
            _keep(made, tape, drawn, before, keep, tau, mark)
            before = mark(tape, attempt) or 0.0
    return made.built()


def _keep(
    made: Maker, tape: Tape, drawn: list[Called], before: float, keep: Keep, tau: float, mark: Mark
) -> None:
    marks = {call.id: mark(tape, call) for call in drawn}
    known = {i: value for i, value in marks.items() if value is not None}
    best = max(known, key=lambda i: known[i], default="")
    for call in drawn:
        value = known.get(call.id)
        if value is None:
            made.reject("the call failed" if call.failure else "nothing could be marked", tape, call)
        elif keep in ("best", "better") and value <= before:
            made.reject(f"reward {value:.3g} is no better than {before:.3g} before", tape, call)
        elif (keep == "best" and call.id != best) or (keep == "right" and value < 1):
            made.reject(f"reward {value:.3g} is not what is kept ({keep})", tape, call)
        else:
            made.imitate(tape, call, weight=exp(value / tau), voice="learner")
