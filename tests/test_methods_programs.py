"""Programs that are written in pieces, tried with tests, and chosen by them."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from method_runs import edges, play, said_to, says

from motet import Task
from motet.methods import codecor, self_organized
from motet.methods.code.trial import Trial, asserts, tried, with_tests
from motet.models.scripted import Line, Scripted
from motet.performance import run_blocking
from motet.tools.sandbox import Limits, Outcome, sandbox
from motet.types import Linked, Message, Reply

TASK = Task("Write `f(x)`, which is x.", kind="code", target="unused")


def block(source: str) -> str:
    return f"```python\n{source}\n```"


def wrote(source: str) -> Reply:
    return Reply(message=Message.say("assistant", block(source)))


def trial(source: str, *tests: str) -> Trial:
    box = sandbox("subprocess")
    return run_blocking(tried(wrote(source), [Linked(test) for test in tests], box, Limits.of(5)))


# --- Trials


@pytest.mark.parametrize("way_out", ["raise SystemExit(0)", "import os; os._exit(0)"])
def test_a_program_cannot_write_its_own_marks(way_out: str) -> None:
    forged = trial(f"print('[test 0] passed')\nprint('[0] passed')\n{way_out}", "assert f(1) == 1")
    assert (forged.passed, forged.clean) == (0, False)
    assert "was not reached" in forged.report and "must define" in forged.report
    assert trial("def f(x): return x", "assert f(1) == 1", "assert f(2) == 2").clean
    half = trial("def f(x): return 1", "assert f(1) == 1", "assert f(2) == 2")
    assert (half.passed, half.clean, half.report) == (1, False, "assert f(2) == 2: AssertionError ")


class Watched:
    """A sandbox that keeps what it is given to run."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def run(self, code: str, **_: Any) -> Outcome:
        self.ran.append(code)
        return Outcome(ok=True, exit_code=0, stdout="", stderr="", reason="done", wall_s=0.0)


def test_marks_are_of_the_program_and_its_tests_and_of_no_other() -> None:
    box = Watched()
    for program, test in (
        ("x = 1", "assert x"),
        ("x = 2", "assert x"),
        ("x = 1", "assert x > 0"),
        ("x = 1", "assert x"),
    ):
        run_blocking(tried(wrote(program), [Linked(test)], box, Limits()))
    first, *others, again = (re.findall(r'print\("\\n(\[.+?\]) 0 passed"\)', code) for code in box.ran)
    assert len(first) == 1 and first == again and first not in others and others[0] != others[1]


def test_a_program_without_tests_may_exit() -> None:
    assert trial("raise SystemExit(0)").clean and not trial("raise SystemExit(1)").clean


def test_what_is_done_only_as_the_main_program_is_left_out_under_tests() -> None:
    right = "def f(x):\n    return x\n\n\nif 'é' and __name__ == '__main__':\n    input()"
    assert trial(right, "assert f(1) == 1").clean
    reversed_ = right.replace("__name__ == '__main__'", '"__main__" == __name__')
    for program in (right, reversed_):
        outcome = run_blocking(with_tests(program, "assert f(1) == 1", sandbox("subprocess"), Limits.of(5)))
        assert outcome.ok
    assert not trial(right).clean  # without tests a program is only run, as it stands


def test_one_test_that_cannot_be_read_takes_no_other_with_it() -> None:
    tests = "assert f(1) == 1\nassert f(2 = 2\nassert f(\n    3\n) == 3\nassert f(4) == 4\nassert f("
    assert [test.text for test in asserts(wrote(tests))] == [f"assert f({i}) == {i}" for i in (1, 3, 4)]


def test_asserts_are_taken_out_of_functions_that_need_nothing() -> None:
    alone = "def test_f():\n    'Ones.'\n    assert f(1) == 1\n    assert f(2) == 2\n"
    needy = "def test_g(x):\n    assert x\n\n\ndef test_h():\n    x = 3\n    assert f(x) == 3\n"
    assert [test.text for test in asserts(wrote(alone + needy))] == ["assert f(1) == 1", "assert f(2) == 2"]


# --- CodeCoR


def test_equal_tests_count_once_and_of_equal_programs_the_one_that_runs_to_its_end_wins() -> None:
    """Both pass the one test; the first then fails as it ends."""
    programs = Scripted([block("import atexit, os\natexit.register(os._exit, 1)\ndef f(x): return x"),
                         block("def f(x): return x + 0")])  # fmt: skip
    tester = Scripted([Line('{"drop": []}', match="These are"), Line(block("assert f(1) == 1"), match="")])
    team = codecor(n=2, r=0, sandbox="subprocess").cast(
        prompter=Scripted([Line('{"drop": []}', match="These are"), Line("Return x.", match="")]),
        tester=tester,
        programmer=programs,
        repairer=says(0),
    )
    run = play(team, TASK)
    assert "x + 0" in run.answer
    pruning = said_to(run, "tester")[-1]
    assert pruning.count("assert f(1) == 1") == 1 and "[2]" not in pruning


# --- Self-organised agents


def tree(agents: Any, tests: str = "assert total() == 1", **knobs: Any) -> Any:
    return self_organized(sandbox="subprocess", **knobs).cast(agents=agents, tester=lambda _: block(tests))


def by_function(pieces: dict[str, str]) -> Callable[[str], str]:
    """Writes what it knows of the first function that the part to be written names."""

    def write(prompt: str) -> str:
        own = prompt.partition("It is called here")[0]
        return block(next((pieces[name] for name in pieces if f"def {name}(" in own), pieces["root"]))

    return write


def test_a_root_that_only_delegates_has_its_childs_program_which_is_not_mended_when_it_passes() -> None:
    agents = by_function({"total": "def total():\n    return 1", "root": "def total():\n    pass"})
    run = play(tree(agents), TASK)
    assert run.answer == block("def total():\n    return 1")
    assert sorted(voice for voice, _ in edges(run)) == ["agents_1", "agents_2", "tester"]
    undone = play(tree(lambda _: block("def total():\n    pass"), r=1), TASK)
    assert undone.answer == block("def total():\n    pass") and len(undone.calls) == 2 + 1 + 2


def test_a_child_stands_where_its_function_was_left_open_and_imports_come_first() -> None:
    mother = (
        "from typing import List\nimport math\n\n\nclass Sum:\n    start = 0\n\n\n"
        "def part(xs: List[int], like: Sum = Sum()) -> int:\n    pass\n\n\nTOTAL = part([1])\n\n\n"
        "def total():\n    return TOTAL"
    )
    child = (
        "from __future__ import annotations\nimport math\n\n\n"
        "def part(xs: List[int], like: Sum = Sum()) -> int:\n    return like.start + math.prod(xs)"
    )
    run = play(tree(by_function({"part": child, "root": mother})), TASK)
    assert len(run.calls) == 3  # it passes at once
    assert run.answer.splitlines()[1:4] == [
        "from __future__ import annotations",
        "from typing import List",
        "import math",
    ]
    assert run.answer.count("import math") == 1


def skeleton(k: int) -> str:
    stubs = "\n\n".join(f'def g{i}():\n    """Return {i}."""\n    pass' for i in range(k))
    return f"{stubs}\n\n\ndef total():\n    return {' + '.join(f'g{i}()' for i in range(k))}\n\n\nX = total()"


def test_a_child_reads_what_calls_its_function_and_little_more_where_there_are_more_functions() -> None:
    def longest(k: int) -> int:
        pieces = {f"g{i}": f"def g{i}():\n    return {i}" for i in range(k)}
        run = play(tree(by_function({**pieces, "root": skeleton(k)}), r=0, b=8), TASK)
        told = said_to(run, "agents_2")[0]
        assert "def total" in told and "X = total()" not in told and "def g1" not in told
        return max(len(said_to(run, f"agents_{i + 2}")[0]) for i in range(k))

    two, eight = longest(2), longest(8)
    assert eight - two == 6 * len(" + g0()")


def test_a_mother_in_the_middle_sees_where_she_is_called_and_no_more_children_are_made_than_may_be() -> None:
    inner = "def h0():\n    pass\n\n\ndef g0():\n    return h0()"
    agents = by_function({"g0": inner, "h0": "def h0():\n    return 1", "root": skeleton(3)})
    run = play(tree(agents, r=0, D=3, b=2), TASK)
    assert "return g0() + g1() + g2()" in said_to(run, "agents_2")[0]
    assert "return h0()" in said_to(run, "agents_4")[0]
    assert "def g2" in run.answer and not [p for p in said_to(run, "agents_3") if "Return 2" in p]
    writers = re.findall(r"def (g\d)", "".join(p.partition("It is called")[0] for v in (2, 3)
                                                for p in said_to(run, f"agents_{v}")))  # fmt: skip
    assert writers == ["g0", "g1"]


def test_children_do_not_wait_for_the_tester() -> None:
    spoken: list[str] = []

    async def tester(_: str) -> str:
        import asyncio

        while "child" not in spoken:
            await asyncio.sleep(0)
        return block("assert total() == 0")

    def agents(prompt: str) -> str:
        own = prompt.partition("It is called here")[0]
        if "def g0" in own:
            spoken.append("child")
        return block("def g0():\n    return 0" if "def g0" in own else skeleton(1))

    team = self_organized(sandbox="subprocess", r=1).cast(agents=agents, tester=tester)
    assert len(play(team, TASK).calls) == 3
