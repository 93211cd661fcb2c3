"""AgentCoder: the tester is blind, the sandbox speaks, the programmer listens."""

import pytest
from method_runs import edges, play, said_to

from motet import Task
from motet.errors import UnknownName
from motet.methods import agent_coder
from motet.models.scripted import Line, Scripted
from motet.types import FailureKind

TASK = Task("Write `larger(a, b)`, the larger of two numbers.", kind="code", target="unused")
WRONG = "```python\ndef larger(a, b):\n    return a\n```"
RIGHT = "```python\ndef larger(a, b):\n    return a if a > b else b\n```"
TESTS = "```python\nassert larger(2, 1) == 2\nassert larger(1, 2) == 2, 'the second may be larger'\n```"


def programmer() -> Scripted:
    """Writes a bug, and mends it only when it is shown the failing assertion."""
    return Scripted(
        [Line(RIGHT, match="AssertionError: the second may be larger"), Line(WRONG, match="Write `larger")]
    )


@pytest.mark.parametrize("sandbox", ["monty", "bubblewrap"])
def test_a_bug_is_mended_on_seeing_the_traceback(sandbox: str) -> None:
    run = play(agent_coder(sandbox=sandbox).cast(programmer=programmer(), tester=lambda _: TESTS), TASK)
    assert run.answer == RIGHT
    assert edges(run) == [("programmer", ()), ("tester", ()), ("programmer", ("1", "2"))]


def test_without_a_repair_the_bug_stays_and_no_tests_are_written() -> None:
    run = play(agent_coder(sandbox="monty", r=0).cast(programmer=programmer(), tester=lambda _: TESTS), TASK)
    assert run.answer == WRONG
    assert edges(run) == [("programmer", ())]


@pytest.mark.parametrize("way_out", ["sys.exit()", "os._exit(0)", "print('[0]'); raise SystemExit(0)"])
def test_a_program_that_exits_before_its_tests_has_not_passed_them(way_out: str) -> None:
    runaway = f"{WRONG[:-4]}\n\nimport os, sys\n{way_out}\n```"
    hasty = Scripted([Line(RIGHT, match="The program ended before its tests"), Line(runaway, match="larger")])
    team = agent_coder(sandbox="subprocess").cast(programmer=hasty, tester=lambda _: TESTS)
    run = play(team, TASK)
    assert run.answer == RIGHT
    again = play(team, TASK)
    assert [call.prompt for call in run.calls] == [call.prompt for call in again.calls]  # no chance in it
    untested = play(team.cast(tester=Scripted([Line(error="timeout", match="")])), TASK)
    assert untested.answer == runaway


def test_what_a_program_does_as_the_main_one_is_not_done_under_tests() -> None:
    main = "\n\nif __name__ == '__main__':\n    raise SystemExit(larger(1, 2))\n```"
    finished = f"{RIGHT[:-4]}{main}"
    team = agent_coder(sandbox="subprocess").cast(programmer=lambda _: finished, tester=lambda _: TESTS)
    assert len(play(team, TASK).calls) == 2


def test_the_tester_never_sees_code() -> None:
    run = play(agent_coder(sandbox="monty").cast(programmer=programmer(), tester=lambda _: TESTS), TASK)
    (asked,) = said_to(run, "tester")
    assert TASK.prompt in asked
    assert "return" not in asked and "def " not in asked


def test_tests_that_share_the_mistake_of_the_code_find_nothing() -> None:
    """Why the tester is blind: one that copies the behaviour of the code passes it."""
    copied = "```python\nassert larger(1, 2) == 1\n```"
    run = play(agent_coder(sandbox="monty").cast(programmer=programmer(), tester=lambda _: copied), TASK)
    assert run.answer == WRONG


def test_a_reply_without_a_program_is_sent_back() -> None:
    forgetful = Scripted(
        [Line(RIGHT, match="There is no program"), Line("I would compare them.", match="larger")]
    )
    run = play(agent_coder(sandbox="monty").cast(programmer=forgetful, tester=lambda _: TESTS), TASK)
    assert run.answer == RIGHT


def test_a_program_that_does_not_end_is_stopped_and_said_so() -> None:
    endless = "```python\ndef larger(a, b):\n    while True:\n        pass\n```"
    slow = Scripted([Line(RIGHT, match="It was stopped: timeout"), Line(endless, match="larger")])
    run = play(agent_coder(sandbox="monty", seconds=0.2).cast(programmer=slow, tester=lambda _: TESTS), TASK)
    assert run.answer == RIGHT


def test_what_stands_when_a_voice_fails() -> None:
    mute = Scripted([Line(error="timeout", match="")])
    untested = play(agent_coder(sandbox="monty").cast(programmer=programmer(), tester=mute), TASK)
    assert untested.answer == WRONG
    once = Scripted([Line(error="server", match="Your program"), Line(WRONG, match="larger")])
    assert (
        play(agent_coder(sandbox="monty").cast(programmer=once, tester=lambda _: TESTS), TASK).answer == WRONG
    )
    nobody = play(agent_coder(sandbox="monty").cast(programmer=mute, tester=lambda _: TESTS), TASK)
    assert nobody.error and nobody.error.kind is FailureKind.NO_ANSWER


def test_an_unknown_sandbox_is_refused_before_anything_is_asked() -> None:
    with pytest.raises(UnknownName, match="bubblewrap"):
        play(agent_coder(sandbox="bublewrap").cast("sim:skill=1"), TASK)
