"""One method on one item: found finished in the store, or run and marked there."""

import dataclasses
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from msgspec import Struct

from motet.answers import extract
from motet.budget import Budget
from motet.evals.budgeting import from_scratch
from motet.evals.scorers import Scorer
from motet.performance import Performance
from motet.tape import Called, Scored, Store, Tape, total_cost
from motet.tape.keys import digest
from motet.teams import Team
from motet.types import FailureKind, Task, Usage

UNFINISHED = (FailureKind.CANCELLED, FailureKind.BUG)
"""Runs that ended so say nothing of the method: they are run again."""


class Outcome(Struct, frozen=True):
    """What came of one run.

    Args:
        run: id of the run in the store.
        value: the mark, 0 to 1; 0 for a run that failed.
        answer: what was read out of the team's answer; None when nothing could be.
        failure: why there is no answer, or None.
        tokens, calls, cost: what the run costs from scratch; `cost` in US dollars, None if unknown.
        seconds: latency of the longest chain of calls in which each used the one before. It is what a
            run takes when nothing else runs, and does not change when replies are reused.
    """

    run: str
    value: float
    answer: str | None
    failure: str | None
    detail: str
    tokens: int
    calls: int
    cost: float | None
    seconds: float


class Played(NamedTuple):
    """An outcome, what was paid for it just now (US dollars), and whether the run was made just now."""

    outcome: Outcome
    paid: Usage
    cost: float | None
    made: bool


@dataclass(frozen=True, slots=True)
class Bench:
    """Where methods are tried: the scorer, the store, and the limit of each run."""

    scorer: Scorer
    store: Store
    budget: Budget | None = None

    def item_key(self, team: "Team[...]", task: Task, seed: int) -> str:
        """What makes two pieces of work the same."""
        limits = self.budget.limits() if self.budget else {}
        return digest(team.identity, task, scorer_identity(self.scorer), seed, limits)

    async def play(self, team: "Team[...]", task: Task, seed: int) -> Played:
        """Find or make the run of a team on a task, and mark it."""
        item = self.item_key(team, task, seed)
        tape, paid = self._finished(item), list[Called]()
        found = tape is not None
        if tape is None:
            performance = Performance(team, seed, self.budget, self.store, reuse=True, item=item)
            tape = (await performance.run(task)).tape
            paid = [call for call in tape.calls if not call.cached]
        outcome = read_outcome(tape, task, await self._mark(tape, task))
        return Played(outcome, sum((call.usage for call in paid), Usage()), total_cost(paid), not found)

    def _finished(self, item: str) -> Tape | None:
        run = self.store.finished(item)
        tape = self.store.load(run) if run else None
        ended = tape.ended if tape else None
        if ended is None or (ended.failure and ended.failure.kind in UNFINISHED):
            return None
        return tape

    async def _mark(self, tape: Tape, task: Task) -> Scored:
        """The mark on the tape, or a new one, which is put there."""
        name = scorer_identity(self.scorer)
        for scored in reversed(tape.scores):
            if scored.scorer == name and not scored.call:
                return scored
        ended = tape.ended
        if ended is None or ended.answer is None:
            scored = Scored(name, 0.0, time.time(), detail=str(ended.failure if ended else ""))
        else:
            score = await self.scorer(task, ended.answer)
            scored = Scored(name, score.value, time.time(), detail=score.detail)
        self.store.put_event(tape.run, len(tape.events), scored)
        tape.events.append(scored)
        return scored


def read_outcome(tape: Tape, task: Task, scored: Scored) -> Outcome:
    """A finished tape as one line of a table."""
    ended, (tokens, cost) = tape.ended, from_scratch(tape.calls)
    answer = ended.answer if ended else None
    return Outcome(
        run=tape.run,
        value=scored.value,
        answer=None if answer is None else extract(task, answer),
        failure=str(ended.failure.kind) if ended and ended.failure else None,
        detail=scored.detail,
        tokens=tokens,
        calls=tape.usage().calls,
        cost=cost,
        seconds=longest_chain(tape.calls),
    )


def longest_chain(calls: Sequence[Called]) -> float:
    """Seconds along the slowest path of the information edges."""
    ready: dict[str, float] = {}
    for call in calls:
        ready[call.id] = call.latency_s + max((ready.get(p, 0.0) for p in call.parents), default=0.0)
    return max(ready.values(), default=0.0)


def scorer_identity(scorer: Scorer) -> str:
    """The scorer's name, with those of its settings that are not the usual ones."""
    settings = {k: v for k, v in _settings(scorer).items() if k != "name"}
    words = ", ".join(f"{name}={value!r}" for name, value in settings.items())
    return f"{scorer.name}({words})" if words else scorer.name


def _settings(thing: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(thing):
        return {}
    values = {f.name: getattr(thing, f.name) for f in dataclasses.fields(thing)}
    usual = {f.name: f.default for f in dataclasses.fields(thing)}
    return {name: _plain(value) for name, value in values.items() if value != usual[name]}


def _plain(value: Any) -> Any:
    """A setting without the address in memory that a `repr` may hold."""
    if value is None or isinstance(value, (str, int, float)):
        return value
    known = getattr(value, "identity", None) or getattr(value, "name", None)
    return known if isinstance(known, str) else _settings(value) or type(value).__qualname__
