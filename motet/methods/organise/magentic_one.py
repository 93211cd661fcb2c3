"""Magentic-One: an orchestrator with two ledgers, who plans again when the work stalls.

Paper: Fourney et al. 2024, arXiv:2411.04468 (catalogue 293).
Idea: in the outer loop the orchestrator writes a task ledger: the facts (given, to look up, to derive,
guessed) and a plan for the team it has. In the inner loop it fills a progress ledger before each turn: is it
done, are we in a loop, is there progress, who speaks next, and what it is told. A turn without progress, or
in a loop, adds one to the stall counter, any other takes one off; when the counter reaches S, facts and plan
are written anew and the team starts with a clean slate. At the end it gives the answer from what was said.
Calls: at most 3 + 2 * T + floor(T / S).
Deviates: prompts are in our words, and the progress ledger leaves its reasons out. A member is shown the
conversation since the last plan, not a history of its own.
Failure: a member that fails is part of the conversation as a failure, so that another may be chosen. A
progress ledger that fails is a stall; a new plan that fails leaves the old one; when the final answer fails,
the last thing said stands. When the first facts or plan fail, the run fails.
"""

from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct, defstruct

from motet.agent import Voice
from motet.answers import instruction
from motet.errors import ModelError
from motet.methods.common import at_least
from motet.methods.organise.roster import roster
from motet.teams import Voices, team
from motet.types import Linked, Reply, Task, fill

FACTS = """\
Request:
{task}

Before we begin, list what is known: 1. facts given in the request; 2. facts to look up, and where; 3. facts
to derive; 4. educated guesses."""
PLAN = """\
Request:
{task}

Facts:
{facts}

Team:
{team}

Write a short plan for the request: steps, and who of the team takes each. Not everybody is needed."""
LEDGER = "Request:\n{task}\n\nFacts:\n{facts}\n\nPlan:\n{plan}\n\nTeam:\n{team}\n\nSaid so far:\n\n{said}"
PROGRESS = """\
{ledger}

Answer: is the request fully answered (`done`)? Is the team going round in circles (`looping`)? Did the last
turn bring it forward (`progress`)? Who speaks `next`, and what `instruction` are they given?"""
TURN = "Request:\n{task}\n\nSaid so far:\n\n{said}\n\nYou are asked to do this:\n{instruction}\n\n{form}"
NEW_FACTS = (
    "{ledger}\n\nThe team is stuck. Write the list of facts anew, with what was learnt and better guesses."
)
NEW_PLAN = """\
{ledger}

The team is stuck. Say in a sentence what went wrong, then write a new plan that avoids it."""
FINAL = "{ledger}\n\nGive the final answer to the request from what was said. {form}"
TOLD = "{name}: {words}"
NOTHING = "(nothing)"


@team
async def magentic_one(task: Task, orchestrator: Voice, agents: Voices, *, T: int = 10, S: int = 3) -> Reply:
    """Lead a team by ledgers for `T` turns at most; `S` stalled turns make a new plan."""
    at_least(1, T=T, S=S)
    members, form = roster(agents), instruction(task)
    names = {agent.name: agent for agent in agents}
    progress = _progress(tuple(names))
    facts = await orchestrator.ask(fill(FACTS, task=task))
    plan = await orchestrator.ask(fill(PLAN, task=task, facts=facts, team=members))
    said: list[Linked] = []
    before: list[Linked] = []
    last: Reply | None = None
    stalls = 0

    def ledger(said: list[Linked]) -> Linked:
        return fill(LEDGER, task=task, facts=facts, plan=plan, team=members, said=said or NOTHING)

    for left in reversed(range(T)):
        turn = await _asked(orchestrator, fill(PROGRESS, ledger=ledger(said)), progress)
        if turn and turn.data.done:
            break
        stuck = turn is None or turn.data.looping or not turn.data.progress
        stalls = stalls + 1 if stuck else max(0, stalls - 1)
        if stalls >= S and left:
            facts = await _asked(orchestrator, fill(NEW_FACTS, ledger=ledger(said))) or facts
            plan = await _asked(orchestrator, fill(NEW_PLAN, ledger=ledger(said))) or plan
            before, said, stalls = [*before, *said], [], 0
        elif turn:
            chosen, told = names[turn.data.next], Linked(turn.data.instruction, (turn,))
            prompt = fill(TURN, task=task, said=said or NOTHING, instruction=told, form=form)
            try:
                last = await chosen.ask(prompt)
                said.append(fill(TOLD, name=chosen.name, words=last))
            except ModelError as error:
                said.append(fill(TOLD, name=chosen.name, words=f"(failed: {error.failure})"))
    try:
        return await orchestrator.ask(fill(FINAL, ledger=ledger([*before, *said]), form=form))
    except ModelError:
        if last is None:
            raise
        return last


@lru_cache
def _progress(names: tuple[str, ...]) -> type[Struct]:
    """The schema of a progress ledger for a team of these names."""
    flags: list[Any] = [(flag, bool) for flag in ("done", "looping", "progress")]
    return defstruct("Progress", [*flags, ("next", Literal[names]), ("instruction", str)])


async def _asked(voice: Voice, prompt: Linked, shape: type | None = None) -> Reply | None:
    try:
        return await voice.ask(prompt, schema=shape)
    except ModelError:
        return None
