"""Every method with every fault: it ends, with an answer or a typed failure, and all of it is on the tape."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import motet
from motet import Budget, Store
from motet.evals.lab.subject import Subject, subject
from motet.methods import METHODS
from motet.models.rule import Rule
from motet.tape import Asking, Called, Ended
from motet.types import FailureKind

GOOD = "sim:skill=0.6,judge=0.7"
PATIENCE_S = 5
"""Nothing takes so long that does not hang."""


def all_of_them(singer: Any) -> Callable[[Subject], motet.Team]:
    return lambda there: there.cast(singer)


def one_of_them(singer: Any) -> Callable[[Subject], motet.Team]:
    """One seat is bad: a member of a group, or the last voice (the only one, where it is alone)."""
    return lambda there: there.cast(GOOD, singer, 1) if there.most_deceivers else there.cast(singer)


def first_of_them(singer: Any) -> Callable[[Subject], motet.Team]:
    """The first voice is bad, all its members if it is a group."""
    return lambda there: there.cast(GOOD).cast(**{next(iter(there.team.voices)): singer})


@dataclass(frozen=True)
class Fault:
    cast: Callable[[Subject], motet.Team]
    budget: Budget | None = None
    ends_with: frozenset[FailureKind] = frozenset({FailureKind.NO_ANSWER})


def off_format(said: str) -> Fault:
    kinds = {FailureKind.NO_ANSWER, FailureKind.SCHEMA, FailureKind.EMPTY}
    return Fault(all_of_them(Rule(lambda _: said, name="odd")), ends_with=frozenset(kinds))


def failing(who: Callable[[Any], Any], kind: str) -> Fault:
    knobs = f"sim:skill=0.6,fail=1,failure={kind}"
    return Fault(who(knobs), ends_with=frozenset({FailureKind(kind), FailureKind.NO_ANSWER}))


SPENT = frozenset({FailureKind.BUDGET, FailureKind.NO_ANSWER})
SLOW = "sim:skill=0.6,latency=30"
FAULTS: dict[str, Fault] = {
    "all fail": failing(all_of_them, "server"),
    "one fails": failing(one_of_them, "server"),
    "the first fails": failing(first_of_them, "connection"),
    "some fail": Fault(all_of_them(f"{GOOD},fail=0.4"), ends_with=frozenset(FailureKind) - {FailureKind.BUG}),
    "all refuse": failing(all_of_them, "refused"),
    "one refuses": failing(one_of_them, "refused"),
    "all are slow": Fault(all_of_them(SLOW), Budget(seconds=0.01), SPENT),
    "one is slow": Fault(one_of_them(SLOW), Budget(seconds=0.02), SPENT),
    "words for an answer": off_format("I would rather not say."),
    "braces for an answer": off_format('{"best": [999], "notes": null}'),
    "an empty box": off_format("\\boxed{}"),
    "all lie": Fault(all_of_them(f"{GOOD},deceive=1")),
    "one lies": Fault(one_of_them(f"{GOOD},deceive=1")),
    "no call is left": Fault(all_of_them(GOOD), Budget(calls=0), SPENT),
    "one call is left": Fault(all_of_them(GOOD), Budget(calls=1), SPENT),
    "calls run out": Fault(all_of_them(GOOD), Budget(calls=3), SPENT),
    "tokens run out": Fault(all_of_them(GOOD), Budget(tokens=90), SPENT),
}


async def play(team: motet.Team, task: motet.Task, budget: Budget | None) -> tuple[motet.Run, list[str]]:
    """The run, and the ids of the calls that went out."""
    asked: list[str] = []

    def hear(event: Any) -> None:
        if isinstance(event, Asking):
            asked.append(event.id)

    running = team.arun(task, budget=budget, store=Store.memory(), on_event=hear)
    run = await asyncio.wait_for(running, PATIENCE_S)
    assert asyncio.all_tasks() == {asyncio.current_task()}, "something is still under way"
    return run, asked


SUBJECTS = {name: subject(name) for name in METHODS}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("fault", FAULTS)
def test_it_ends_in_order(name: str, fault: str) -> None:
    bad, there = FAULTS[fault], SUBJECTS[name]
    cast, begun = bad.cast(there), time.perf_counter()
    run, asked = asyncio.run(play(cast, there.task, bad.budget))
    spent = time.perf_counter() - begun

    assert run.ok != bool(run.error)
    if run.error:
        assert run.error.kind in bad.ends_with, run.error
    events = run.tape.events
    assert [isinstance(event, Ended) for event in events] == [False] * (len(events) - 1) + [True]
    ids = [int(event.id) for event in events if isinstance(event, Called)]
    assert sorted(ids) == list(range(1, len(ids) + 1))
    assert {int(call) for call in asked} <= set(ids)
    if bad.budget:
        made = [c for c in run.calls if not (c.failure and c.failure.kind is FailureKind.CANCELLED)]
        assert len(made) <= (len(made) if bad.budget.calls is None else bad.budget.calls)
        assert bad.budget.seconds is None or spent < 1


def test_the_faults_do_harm() -> None:
    """The same subjects, with nothing wrong, answer: what the matrix shows is the doing of the faults."""
    for there in SUBJECTS.values():
        run, _ = asyncio.run(play(there.cast("sim:skill=1,judge=1"), there.task, None))
        assert run.ok, there.team.name
