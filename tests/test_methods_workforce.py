"""Workforce: when a subtask begins, what a failure costs, and what everybody is told of it."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest
from method_runs import edges, play, said_to

from motet.errors import BadInput
from motet.methods import workforce
from motet.methods.organise.channel import Outcome, Posted, clear
from motet.models.scripted import Line, Scripted
from motet.types import Linked

FAILS = "sim:fail=1"


def plan(*subtasks: tuple[str, list[int]]) -> str:
    return json.dumps({"subtasks": [{"do": do, "after": after} for do, after in subtasks]})


def in_turn(prompt: str) -> str:
    """A coordinator: each subtask to the worker of its number."""
    return json.dumps({"workers": [f"workers_{i + 1}" for i in range(prompt.count("\n["))]})


def crew(*plans: str, **cast: Any) -> Any:
    return workforce.cast(**{"planner": Scripted([*plans, "Answer: 1"]), "coordinator": in_turn} | cast)


def test_a_subtask_begins_while_one_that_it_does_not_need_is_still_done() -> None:
    begun = asyncio.Event()

    async def slow(_: str) -> str:
        await asyncio.wait_for(begun.wait(), 1)
        return "at last"

    def follows(_: str) -> str:
        begun.set()
        return "then"

    planner = plan(("slow", []), ("quick", []), ("follows", [2]), ("adds up", [1, 3]))
    run = play(crew(planner, workers=[slow, lambda _: "quick", follows, lambda _: "sum"]))
    assert dict(edges(run))["workers_4"] == ("3", "5", "1")
    assert "[1] slow\n-> at last\n\n[2] quick\n-> quick\n\n[3] follows" in said_to(run, "planner")[1]


def test_a_bug_in_a_subtask_stops_those_beside_it_and_those_that_wait() -> None:
    stopped: list[str] = []

    async def do(posted: Posted, given: Sequence[Linked]) -> Outcome:
        if posted.part == "bug":
            await asyncio.sleep(0)
            raise ZeroDivisionError
        try:
            await asyncio.Event().wait()
        finally:
            stopped.append(str(posted.part))
        raise AssertionError("nobody sets it")

    async def scene() -> int:
        channel = [("bug", ()), ("beside", ()), ("waits for both", (0, 1)), ("waits for one", (1,))]
        posted = [Posted(part, None, frozenset(after)) for part, after in channel]  # type: ignore[arg-type]
        with pytest.raises(ZeroDivisionError):
            await clear(posted, do)
        return len(asyncio.all_tasks())

    assert asyncio.run(scene()) == 1 and stopped == ["beside"]


def test_a_subtask_that_needs_itself_or_a_later_one_is_left() -> None:
    async def do(posted: Posted, given: Sequence[Linked]) -> Outcome:
        return Outcome(posted.part, Linked("done"), True)

    channel = [Posted(str(i), None, frozenset(after)) for i, after in enumerate(({0}, {2}, ()))]  # type: ignore[arg-type]
    outcomes = asyncio.run(asyncio.wait_for(clear(channel, do), 1))
    assert [bool(end) for end in outcomes] == [False, False, True]


def test_only_a_reply_that_begins_with_the_word_says_that_a_part_failed() -> None:
    quotes = lambda _: "The log has one line, 'FAILED: disk full'."  # noqa: E731
    assert len(play(crew(plan(("read", [])), workers=quotes)).calls) == 4
    planner = [plan(("read", []))] * 3
    assert len(play(crew(*planner, workers=lambda _: "\n FAILED: no disk.")).calls) == 3 * 3


def test_what_failed_and_what_waited_for_it_is_told_to_the_planner() -> None:
    def works(prompt: str) -> str:
        return "FAILED: fog." if "Your part:\nfly\n" in prompt else "well"

    first = plan(("fly", []), ("land", [1]), ("count towns", []), ("drive off", [2]))
    run = play(crew(first, plan(("fly", []), ("walk", [])), workers=[works] * 4)(r=1))
    _, again, last = said_to(run, "planner")
    left = "(not tried: it needs a part that failed)"
    assert again.partition("Failed:")[2].startswith(
        f"\n\n[1] fly\n-> FAILED: fog.\n\n[2] land\n-> {left}\n\n[3] drive off\n-> {left}\n\n"
    )
    assert "Failed:" not in last and "Parts that failed:\n\n[1] fly\n-> FAILED: fog." in last
    second = [said for said in said_to(run, "workers_2") if "Your part:\nwalk\n" in said]
    assert len(second) == 1 and "[1] count towns\n-> well" in second[0], "results of the plan before"
    assert "failed" not in said_to(play(crew(plan(("walk", [])), workers=[works])), "planner")[-1]


def test_when_the_planner_fails_the_task_is_the_one_subtask_and_no_other_plan_is_made() -> None:
    planner = Scripted([Line(error="server"), plan(("walk", []))])
    lost = play(crew(planner=planner, workers=lambda _: "FAILED: no."))
    assert [voice for voice, _ in edges(lost)] == ["planner", "workers_1"] and lost.error
    again = Scripted([plan(("walk", []), ("fly", [])), Line(error="server"), "Answer: 1"])
    half = play(crew(planner=again, workers=[lambda _: "well", lambda _: "FAILED: fog."]))
    assert "[1] fly\n-> FAILED: fog." in said_to(half, "planner")[-1] and half.answer == "Answer: 1"


def test_when_the_coordinator_fails_subtasks_go_round() -> None:
    parts = plan(*((f"part {i}", []) for i in range(4)))
    run = play(crew(parts, coordinator=FAILS, workers=[lambda _: "well"] * 3))
    assert [voice for voice, _ in edges(run)][2:-1] == ["workers_1", "workers_2", "workers_3", "workers_1"]


def test_knobs_are_checked() -> None:
    with pytest.raises(BadInput, match="m=0"):
        play(crew(workers=FAILS)(m=0))
