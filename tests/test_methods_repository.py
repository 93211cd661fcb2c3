"""Programs by tests: pools that are pruned, and a repository that is searched for its repair."""

import asyncio
import contextlib
import io
import json
import re
from collections.abc import Callable, Mapping
from math import exp, log, sqrt
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import edges, noise, play, play_all, said_to, says

from motet import Run, Task
from motet.cli.words import configure
from motet.errors import BadInput, ToolError
from motet.methods import agent_coder, codecor, swe_search
from motet.methods.code.attempts import EditTree, State, next_state
from motet.methods.code.moves import read_move
from motet.methods.code.workspace import Checked, Workspace
from motet.models.scripted import Line, Scripted
from motet.tools.sandbox import SANDBOXES, Limits, Outcome
from motet.tools.sandbox import sandbox as open_sandbox
from motet.types import FailureKind

# ---- CodeCoR

LARGER = Task("Write `larger(a, b)`, the larger of two numbers.", kind="code", target="unused")
KEEP = '{"drop": []}'


def program(rule: str) -> str:
    return f"```python\ndef larger(a, b):\n    return {rule}\n```"


def asserting(said: str) -> str:
    """Writes three tests and a false one, which it finds again when asked to prune."""
    if "`drop`" in said:
        return json.dumps(
            {"drop": [int(i) for i in re.findall(r"\[(\d+)\] assert larger\(1, 1\) == 7", said)]}
        )
    tests = ["larger(2, 1) == 2", "larger(1, 2) == 2", "larger(1, 1) == 7", "larger(-1, -2) == -1"]
    return "```python\n" + "\n".join(f"assert {t}" for t in tests) + "\nx = 1\n```"


def team(rules: list[str], **voices: Any) -> Any:
    """The programmer follows the n-th rule for the n-th way to think; the way 'bad' is dropped."""

    def prompter(said: str) -> str:
        return '{"drop": [2]}' if "`drop`" in said else next(ways)

    def write(said: str) -> str:
        named = re.findall(r"rule (\d)", said)
        return program(rules[int(named[-1]) if named else 0])

    ways = iter(f"Think of rule {i}." for i in range(9))
    cast = {"prompter": prompter, "tester": asserting, "programmer": write, "repairer": lambda _: KEEP}
    return codecor(sandbox="monty", n=3, r=1).cast(**{**cast, **voices})


def test_pruning_drops_false_tests_and_poor_prompts_and_the_best_by_tests_is_returned() -> None:
    run = play(team(["a", "0 / 0", "a if a > 0 else b"]), LARGER)
    written = said_to(run, "programmer")[:2]
    assert [re.findall(r"rule \d", said) for said in written] == [["rule 0"], ["rule 2"]]
    told = said_to(run, "repairer")[0]
    assert "assert larger(1, 2) == 2: AssertionError" in told and "== 7" not in told
    assert run.answer == program("a")  # two of three tests, the other one of three
    assert play(team(["b", "0", "max(a, b)"]), LARGER).answer == program("max(a, b)")


def test_advice_on_the_failing_programs_is_pruned_and_followed() -> None:
    def repairer(said: str) -> str:
        if "`drop`" in said:
            return '{"drop": [1]}'
        return "Follow rule 1." if "if a > 0" in said else "Give up."

    run = play(team(["a", "max(a, b)", "a if a > 0 else b"], repairer=repairer), LARGER)
    assert run.answer == program("max(a, b)")
    (repair,) = said_to(run, "programmer")[2:]
    assert "Follow rule 1." in repair and "Give up." not in repair and "a if a > 0" in repair


def test_a_program_that_passes_everything_ends_it_and_a_pool_is_never_emptied() -> None:
    run = play(team(["max(a, b)", "a", "a"]), LARGER)
    assert "repairer" not in {call.voice for call in run.calls}
    assert run.answer == program("max(a, b)")
    strict = play(
        team(
            ["max(a, b)", "a", "b"], prompter=lambda s: '{"drop": [1, 2, 3]}' if "`drop`" in s else "rule 0"
        ),
        LARGER,
    )
    assert len(said_to(strict, "programmer")) == 3


class Inline:
    """A sandbox that runs our own words at once, to make many runs quick."""

    async def run(self, code: str, **_: Any) -> Outcome:
        said, error = io.StringIO(), ""
        with contextlib.redirect_stdout(said):
            try:
                exec(code, {})
            except Exception as raised:
                error = repr(raised)
        return Outcome(
            ok=not error,
            exit_code=bool(error),
            stdout=said.getvalue(),
            stderr=error,
            reason="done",
            wall_s=0.0,
        )


def test_pools_bear_false_tests_that_lead_one_programmer_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many calls at most; half of the sets of tests hold a false one."""
    monkeypatch.setitem(SANDBOXES, "inline", Inline)
    rng, n = Random(6), 60

    def write(_: str) -> str:
        return program(rng.choice(["a", "b", "max(a, b)"]))

    def tests(said: str) -> str:
        return (
            asserting(said)
            if "`drop`" in said or rng.random() < 0.5
            else asserting(said).replace("== 7", "== 1")
        )

    cast = {"prompter": lambda _: KEEP, "repairer": lambda _: KEEP, "tester": tests, "programmer": write}
    pools = codecor(n=3, r=1, sandbox="inline").cast(**cast)
    alone = agent_coder(r=16, sandbox="inline").cast(programmer=write, tester=tests)
    right, other = (
        sum(run.answer == program("max(a, b)") for run in play_all(team, [LARGER] * n)) / n
        for team in (pools, alone)
    )
    assert right - other > noise(0.25, n)


def test_what_stands_when_a_voice_of_codecor_fails() -> None:
    dead = "sim:fail=1"
    by_task = {"prompter": dead, "programmer": lambda _: program("a")}
    assert play(team([], **by_task), LARGER).answer == program("a")
    assert play(team(["a", "a", "b"], tester=dead), LARGER).answer == program(
        "a"
    )  # runs, and nothing speaks against it
    assert play(team(["a", "a", "b"], repairer=dead), LARGER).answer == program("a")
    wordless = play(team([], programmer=lambda _: "I would compare them.", repairer=dead), LARGER)
    assert wordless.answer == "I would compare them."
    none = play(team([], programmer=dead), LARGER)
    assert none.error and none.error.kind is FailureKind.NO_ANSWER


# ---- The repository

FILES = {
    "ops.py": "def add(a, b):\n    return a - b\n\n\ndef twice(a):\n    return add(a, a)\n",
    "tests/test_ops.py": "from ops import add, twice\n\n\ndef test_add():\n    assert add(2, 3) == 5\n\n\n"
    "def test_twice():\n    assert twice(4) == 8\n",
}
ISSUE = "add() returns the difference."
FIX = "EDIT ops.py\n<<<<\n    return a - b\n====\n    return a + b\n>>>>"
BROKEN = Task(ISSUE, target="unused", meta={"repository": FILES})
text = st.lists(st.sampled_from(["x", "y", "", " z"]), max_size=6).map("\n".join)


def applied(patch: str, files: Mapping[str, str]) -> dict[str, str]:
    """What a unified diff makes of some files, by its own line numbers."""
    result = dict(files)
    for part in re.split(r"(?m)^(?=--- )", patch)[1:]:
        path = re.findall(r"(?m)^\+\+\+ b/(.+)$", part)[0]
        old, new, at = files.get(path, "").splitlines(keepends=True), [], 0
        part = re.sub(r"\n\\ No newline at end of file", "\0", part)
        for start, hunk in re.findall(r"(?ms)^@@ -(\d+).*?@@\n(.*?)(?=^@@|\Z)", part):
            body = [line.replace("\0\n", "\0") for line in hunk.splitlines(keepends=True)]
            first = max(int(start) - 1, 0) if not re.search(rf"@@ -{start},0", part) else int(start)
            new += old[at:first]
            new += [line[1:].rstrip("\0") if "\0" in line else line[1:] for line in body if line[0] in " +"]
            at = first + sum(line[0] in " -" for line in body)
        result[path] = "".join([*new, *old[at:]])
    return result


@given(st.dictionaries(st.sampled_from("abc"), text), text)
def test_a_patch_leads_from_one_state_to_the_other(files: dict[str, str], other: str) -> None:
    before, after = Workspace(files), Workspace({**files, "a": other})
    patch = after.patch(before)
    assert (not patch) == (files.get("a", "") == other)
    assert {p: t for p, t in applied(patch, files).items() if t} == {
        p: t for p, t in after.files.items() if t
    }


def test_a_state_is_changed_by_edits_that_fit_once_and_never_in_place() -> None:
    start = Workspace(FILES)
    fixed = start.edited("ops.py", "a - b", "a + b")
    assert start.files["ops.py"] != fixed.files["ops.py"] and "a + b" in fixed.view("ops.py")
    assert start.search("RETURN A") == "ops.py:2:     return a - b\nops.py:6:     return add(a, a)"
    assert fixed.edited("new/x.py", "", "y = 1").view("new/x.py") == "y = 1\n"
    for path, old in [("ops.py", "return"), ("ops.py", "nowhere"), ("none.py", "a")]:
        with pytest.raises(ToolError):
            start.edited(path, old, "b")
    for path in ("ops.py", "../x", "/etc/x", "tests", "ops.py/x", "a//b", ".", "", "a\0b", "x" * 201):
        with pytest.raises(ToolError, match="not there yet"):
            start.edited(path, "", "b")


@pytest.mark.parametrize("sandbox", ["bubblewrap", "subprocess"])
def test_its_tests_run_on_a_copy_in_the_sandbox(sandbox: str) -> None:
    files = {**FILES, "main.py": "raise SystemExit(1)\n", "tests/broken_test.py": "import nothing_here\n"}

    def run(workspace: Workspace) -> Checked:
        return asyncio.run(workspace.test(open_sandbox(sandbox), Limits()))

    bad = run(Workspace(files))
    assert not bad.ok and "0 of 3 tests pass" in bad.report and "nothing_here" in bad.report
    assert "assert add(2, 3) == 5" in bad.report
    good = run(Workspace(FILES).edited("ops.py", "a - b", "a + b"))
    assert good.ok and good.report == "2 of 2 tests pass"
    loop = run(Workspace({"test_x.py": "def test_x():\n    print('.' * 100_000)\n"}))
    assert not loop.ok and "did not come to their end (output)" in loop.report
    left = run(Workspace(FILES).edited("ops.py", "def twice", "import os\nos._exit(0)\n\n\ndef twice"))
    assert not left.ok and left.report == "The tests did not come to their end (done).\n"


def test_a_folder_is_read_without_what_is_hidden_or_binary(tmp_path: Path) -> None:
    for path, data in [
        (".git/config", b"x"),
        ("a/b.py", b"y = 1\n"),
        ("pic", b"\xff\xfe"),
        ("big", b"z" * 300_000),
    ]:
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_bytes(data)
    assert Workspace.of(str(tmp_path)).files == {"a/b.py": "y = 1\n"}
    for given_ in (7, str(tmp_path / "nowhere")):
        with pytest.raises(BadInput, match="expected a folder"):
            Workspace.of(given_)
    with pytest.raises(BadInput, match=r"repository\['b.py'\]=None: expected the text"):
        Workspace.of({"a.py": "", "b.py": None})


def test_moves_are_read_from_words_and_no_move_finishes() -> None:
    assert read_move("Let me look.\n**VIEW** `ops.py`").about == "ops.py"
    edit = read_move(f"I see it.\n{FIX}\nThat is all.")
    assert (edit.kind, edit.about, edit.old, edit.new) == (
        "EDIT",
        "ops.py",
        "    return a - b",
        "    return a + b",
    )
    assert read_move("I am done.").kind == read_move("FINISH").kind == "FINISH"
    assert read_move("EDIT ops.py").old == ""


def test_lines_of_an_edit_that_look_like_its_signs_belong_to_it() -> None:
    heading = "Title\n=====\n\n>>>>> quoted"
    for n, old in [(4, heading), (7, f"{heading}\n====\n>>>>")]:
        signs = [sign * n for sign in "<=>"]
        move = read_move(f"EDIT a.rst\n{signs[0]}\n{old}\n{signs[1]}\nMore\n====\n{signs[2]}\nThat is all.")
        assert (move.old, move.new) == (old, "More\n====")
    named = read_move("EDIT a\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n")
    assert (named.old, named.new) == ("x", "y")
    assert read_move("EDIT a\n<<<<\nx\n=====\ny\n>>>>").old == ""


def test_tests_that_are_there_cannot_be_edited() -> None:
    """A patch of the tests alone would make them pass."""
    bend = "EDIT tests/test_ops.py\n<<<<\nassert add(2, 3) == 5\n====\nassert True\n>>>>"
    fake = "EDIT tests/test_new.py\n<<<<\n====\nimport ops\nops.add = lambda a, b: a + b\n>>>>"
    run = play(
        swe_search(iterations=3, tree=EditTree(w=1), sandbox="subprocess").cast(
            programmer=Scripted([bend, fake, "FINISH"]), valuer=valuer, discriminators=says(1), judge=says(1)
        ),
        BROKEN,
    )
    told = said_to(run, "programmer")
    assert "is a test: mend what it tests" in told[1]
    assert "0 of 2 tests pass" in told[2]
    assert "tests/test_ops.py" not in run.answer


@given(st.text(alphabet="VIEWSARCHDTFN <=>\n*`:a\x00", max_size=60))
def test_any_words_are_some_move(words: str) -> None:
    assert read_move(words).kind in ("VIEW", "SEARCH", "EDIT", "FINISH")


# ---- SWE-Search


def passing(said: str) -> bool:
    """Whether the last thing that an agent was told is that all tests pass."""
    counts = re.findall(r"(\d+) of (\d+) tests pass", said)
    return bool(counts) and counts[-1][0] == counts[-1][1]


def valuer(said: str) -> str:
    last = said.rpartition("\nResult:\n")[2]
    value = 90 if passing(last) else -60 if "FAILED" in last or "did not work" in last else 0
    return json.dumps({"explanation": "passes" if value > 0 else "does not help", "value": value})


def test_a_bug_is_found_mended_and_given_back_as_a_patch(tmp_path: Path) -> None:
    for path, words in FILES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(words)
    programmer = Scripted(["SEARCH def add", "VIEW ops.py", FIX, "FINISH"])
    run = play(
        swe_search(iterations=4, tree=EditTree(w=1)).cast(
            programmer=programmer, valuer=valuer, discriminators=says(1), judge=says(1)
        ),
        Task(ISSUE, meta={"repository": str(tmp_path)}),
    )
    assert run.answer and "-    return a - b\n+    return a + b" in run.answer
    assert applied(run.answer + "\n", FILES)["ops.py"] == FILES["ops.py"].replace("a - b", "a + b")
    assert (tmp_path / "ops.py").read_text() == FILES["ops.py"]
    told = said_to(run, "programmer")
    assert "ops.py:1: def add(a, b):" in told[1] and "2 of 2 tests pass" in told[3]
    assert [voice for voice, _ in edges(run)] == ["programmer", "valuer"] * 4
    assert edges(run)[6] == ("programmer", ("1", "3", "5"))


def test_whoever_goes_on_from_a_state_again_is_shown_what_was_tried_there() -> None:
    wrong = FIX.replace("a + b", "b - a")
    run = play(
        swe_search(iterations=3, tree=EditTree(w=2, D=1), sandbox="subprocess").cast(
            programmer=Scripted([wrong, FIX]), valuer=valuer, discriminators="sim:fail=1", judge="sim:fail=1"
        ),
        BROKEN,
    )
    first, second = said_to(run, "programmer")
    assert "What else was tried from here" not in first
    assert "b - a" in second and "Value -60 of 100: does not help" in second
    assert edges(run)[2] == ("programmer", ("1", "2"))
    assert "+    return a + b" in run.answer


class Quick:
    """A sandbox that runs our own packages in this process, to make many runs quick."""

    async def run(
        self, code: str, *, files: Mapping[str, Any] = {}, stdin: str = "", limits: Limits = Limits()
    ) -> Outcome:
        names: dict[str, Any] = {}
        exec(files["repository/lib.py"], names)
        exec(files["repository/test_lib.py"].replace("from lib import *", ""), names)
        tests = [names[name] for name in names if name.startswith("test")]
        passed = len(tests)
        for test in tests:
            try:
                test()
            except (AssertionError, ArithmeticError):
                passed -= 1
        said = f"{passed} of {len(tests)} tests pass"
        ok = passed == len(tests)
        return Outcome(ok=ok, exit_code=1 - ok, stdout=said, stderr="", reason="done", wall_s=0.0)


LINES = ["x + 1", "x * 2", "x - 3", "x ** 2", "x % 7", "abs(x)"]
FIXES = ["x + 2", "x * 3", "x - 4", "x ** 3", "x % 5", "-abs(x)"]
SIGNS = "EDIT lib.py\n<<<<\n    return {old}\n====\n    return {new}\n>>>>"
EDITS = re.compile(SIGNS.format(old="(.+)", new="(.+)"))


def lib(lines: list[str]) -> str:
    return "".join(f"def f{i}(x):\n    return {line}\n\n\n" for i, line in enumerate(lines))


def package(i: int, faults: int, functions: int) -> Task:
    """Some functions of which some are wrong; a test for each of those, which all others must pass too."""
    wrong = sorted(Random(f"package {i}").sample(range(functions), faults))
    right = [FIXES[j] if j in wrong else LINES[j] for j in range(functions)]
    tests = ["from lib import *"]
    for j in wrong:
        others = [k for k in range(functions) if k == j or k not in wrong]
        facts = [f"f{k}({x}) == {eval(right[k], {'x': x})}" for k in others for x in (3, 9, 11)]
        tests.append(f"def test_{j}():\n    assert {' and '.join(facts)}")
    files = {"lib.py": lib(LINES[:functions]), "test_lib.py": "\n\n\n".join(tests) + "\n"}
    return Task(f"Package {i} is wrong.", target=lib(right), meta={"repository": files})


def repairer(listens: bool = True) -> Callable[[str], str]:
    """Looks; mends one function after another; takes an edit back that did not help, and tries none twice.

    It reads all that it is shown: its own way and, when it listens, what else was tried.
    """

    def act(said: str) -> str:
        way, _, others = said.partition("What you did so far:")[2].partition("What else was tried")
        if "VIEW" not in way:
            return "VIEW lib.py"
        if passing(way):
            return "FINISH"
        made = EDITS.findall(way)
        counts = [0, *(int(passed) for passed in re.findall(r"(\d+) of \d+ tests pass", way))]
        if made and made[-1][1] in FIXES and counts[-1] <= counts[-2]:
            return SIGNS.format(old=made[-1][1], new=made[-1][0])
        known = {new for _, new in made + (EDITS.findall(others) if listens else [])}
        functions = way.count("def f")
        here = [j for j in range(functions) if FIXES[j] not in {new for _, new in made}]
        j = Random(said).choice([j for j in here if FIXES[j] not in known] or here)
        return SIGNS.format(old=LINES[j], new=FIXES[j])

    return act


def appraiser(said: str) -> str:
    """Tells a step forward from one back; with a look at a file the search is a little further."""
    counts = re.findall(r"(\d+) of (\d+) tests pass", said.rpartition("\nResult:\n")[2])
    passed, of = map(int, counts[-1]) if counts else (0, 0)
    value = 20 if not of else 90 if passed == of else 40 if passed else -60
    return json.dumps({"explanation": "", "value": value})


def solved(
    tasks: list[Task], act: Callable[[str], str] = repairer(), sandbox: str = "quick", **knobs: Any
) -> float:
    """How many packages are repaired, each function as it should be."""
    cast = {"discriminators": "sim:fail=1", "judge": "sim:fail=1", "valuer": appraiser}
    team = swe_search(sandbox=sandbox, **knobs).cast(programmer=act, **cast)
    runs = play_all(team, tasks)
    files = [task.meta["repository"] for task in tasks]
    return sum(
        run.ok and applied(run.answer + "\n", there)["lib.py"].strip() == str(task.target).strip()
        for run, task, there in zip(runs, tasks, files, strict=True)
    ) / len(runs)


LINE = EditTree(w=1)


def test_where_a_wrong_edit_must_be_taken_back_a_tree_solves_more_than_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At equal moves, by an agent that can take edits back: on a line that costs a move."""
    monkeypatch.setitem(SANDBOXES, "quick", Quick)
    tasks = [package(i, faults=1, functions=6) for i in range(40)]
    tree = solved(tasks)
    assert tree - solved(tasks, tree=LINE) > noise(0.3, 40)
    assert 0 < solved(tasks, iterations=4) < tree
    assert tree - solved(tasks, repairer(listens=False)) > noise(0.3, 40)


def test_where_one_edit_builds_on_another_a_tree_solves_no_less_than_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(SANDBOXES, "quick", Quick)
    tasks = [package(i, faults=2, functions=4) for i in range(24)]
    assert solved(tasks) == solved(tasks, tree=LINE) == 1
    assert solved(tasks, tree=EditTree(alpha=40.0)) < 0.5  # few moves, and all of them are made early


@pytest.mark.slow
def test_ten_packages_are_repaired_in_a_real_sandbox() -> None:
    tasks = [package(i, faults=1 + i % 2, functions=4 + 2 * (i % 2 == 0)) for i in range(10)]
    tree, line = (solved(tasks, sandbox="bubblewrap", tree=tree) for tree in (EditTree(), LINE))
    assert tree == 1 and line < 1


def test_a_line_edited_again_and_again_is_mended_by_a_tree_as_by_a_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What was tried beside the way is not tried again further on."""
    monkeypatch.setitem(SANDBOXES, "quick", Quick)
    tasks = []
    for i in range(24):
        test = f"from lib import *\n\n\ndef test_0():\n    assert f0(3) == {i % 6}\n"
        files = {"lib.py": lib(["7"]), "test_lib.py": test}
        tasks.append(Task(f"Case {i} is wrong.", target=lib([str(i % 6)]), meta={"repository": files}))

    def act(said: str) -> str:
        way = said.partition("What you did so far:")[2].partition("What else was tried")[0]
        if passing(way):
            return "FINISH"
        here = ["7", *(new for _, new in EDITS.findall(way))][-1]
        tried = {new for _, new in EDITS.findall(said)}
        return SIGNS.format(old=here, new=Random(said).choice([d for d in "012345" if d not in tried]))

    assert solved(tasks, act) == solved(tasks, act, tree=LINE) == 1
    assert solved(tasks, act, tree=EditTree(w=3)) > 0.9


def test_discriminators_debate_different_patches_and_the_judge_decides() -> None:
    sly = FIX.replace("a + b", "5 if a == 2 else 8")
    knobs = {"iterations": 4, "tree": EditTree(w=2, alpha=100.0), "R": 2, "sandbox": "subprocess"}

    def programmer(said: str) -> str:
        if "What you did so far" in said:
            return "FINISH"
        return FIX if "What else was tried" in said else sly

    def by_move(said: str) -> str:
        return json.dumps({"explanation": "", "value": 10 if "FINISH" in said else 40})

    def chosen(judge: Any) -> Run:
        cast = {"programmer": programmer, "valuer": by_move, "judge": judge}
        crowd = [says("the first"), says("the honest one")]
        return play(swe_search(**knobs).cast(**cast, discriminators=crowd), BROKEN)

    run = chosen(lambda said: '{"best": 2}' if "a + b" in said.partition("[2]")[2] else '{"best": 1}')
    assert run.answer and "+    return a + b" in run.answer
    crowd = ["discriminators_1", "discriminators_2"]
    assert [call.voice for call in run.calls[8:]] == [*crowd, *crowd, "judge"]
    assert all("the honest one" in said_to(run, voice)[1] for voice in crowd)
    undecided = chosen(lambda _: "I cannot say.")
    assert undecided.answer and "5 if a == 2" in undecided.answer


def test_uct_has_a_bonus_for_early_and_a_penalty_for_late_depth() -> None:
    root = State(Workspace({}))
    child = State(Workspace({}), parent=root, depth=2, value=40)
    for _ in range(3):
        child.back_up()
    assert (root.visits, child.visits) == (3, 3)
    root.visits = 7
    tree = EditTree(C=2.0, alpha=5.0, beta=0.5, gamma=0.3)
    assert child.uct(tree) == pytest.approx(40 + 2 * sqrt(log(7) / 3) + 5 * exp(-0.5) - 0.3 * sqrt(2))
    assert root.uct(tree) == pytest.approx(5 * exp(0.5))  # what follows from a state takes nothing from it


@pytest.mark.parametrize("beta", [0.0, 1.0, 299.0, 301.0, 710.0, 1e308])
@pytest.mark.parametrize("alpha", [0.0, 10.0, 1e308])
def test_uct_is_defined_for_every_beta_and_a_steep_one_begins_anew(alpha: float, beta: float) -> None:
    tree = EditTree(alpha=alpha, beta=beta)
    root = State(Workspace({}))
    deep = State(Workspace({}), parent=root, depth=3, value=100)
    for state in (root, deep):
        state.back_up()
        assert state.uct(tree) == state.uct(tree)  # no NaN
    if beta > 290 or not alpha:
        assert next_state([root, deep], tree) is (root if alpha else deep)


def test_a_search_that_makes_no_sense_is_refused_before_it_begins() -> None:
    for wrong in ({"w": 0}, {"D": 1.5}, {"C": -1}, {"beta": float("nan")}, {"gamma": "much"}):
        with pytest.raises(BadInput, match=f"^{next(iter(wrong))}="):
            EditTree(**wrong)
    with pytest.raises(BadInput, match="tree='wide': expected EditTree"):
        swe_search(tree="wide")
    assert configure(swe_search, ['tree={"w": 1, "beta": 2}']).knobs["tree"] == EditTree(w=1, beta=2.0)
    with pytest.raises(BadInput, match="w=0"):
        configure(swe_search, ['tree={"w": 0}'])


def test_what_stands_when_a_voice_of_the_search_fails() -> None:
    dead, task = "sim:fail=1", BROKEN
    knobs: dict[str, Any] = {"iterations": 3, "tree": EditTree(w=1), "sandbox": "subprocess"}
    cast = {"programmer": Scripted([FIX, "FINISH"]), "valuer": dead, "discriminators": dead, "judge": dead}
    assert "+    return a + b" in play(swe_search(**knobs).cast(**cast), task).answer
    idle = play(swe_search(**knobs).cast(**{**cast, "programmer": lambda _: "VIEW ops.py"}), task)
    assert idle.error and idle.error.kind is FailureKind.NO_ANSWER
    once = Scripted([Line(error="timeout", match="", times=1), Line(FIX, match="")])
    assert "+    return a + b" in play(swe_search(**knobs).cast(**{**cast, "programmer": once}), task).answer
    none = play(swe_search(**knobs).cast(**{**cast, "programmer": dead}), task)
    assert none.error and none.error.kind is FailureKind.SERVER
