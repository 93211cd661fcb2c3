import asyncio
import threading
import time

import pytest

from motet.errors import BadInput, MissingExtra, SchemaMismatch, UnknownName
from motet.evals.scorers import SCORERS, ByKind, Judge, Scorer, scorer
from motet.evals.scorers.judge import Verdict
from motet.evals.suites.reasoning_gym import EVALUATED, GymScorer, _inert
from motet.evals.worker import WORKER, JobFailed
from motet.tools.sandbox import Outcome
from motet.types import Message, Reply, Task


def mark(name, task, answer, **settings):
    return asyncio.run(scorer(name, **settings)(task, answer))


NUMBER = Task("?", target="0.3333333", kind="number", id="n1")
CODE = Task("Double it.", kind="code", tests="assert double(3) == 6\nassert double(0) == 0")


@pytest.mark.parametrize(
    ("name", "task", "right", "wrong"),
    [
        ("exact", Task("?", target="The Beatles"), "Answer: the beatles!", "Answer: the stones"),
        ("choice", Task("?", target="B", kind="choice", choices=("x", "y")), "I pick (B).", "A"),
        ("numeric", NUMBER, "Answer: 1/3", "Answer: 0.3334"),
        ("math", Task("?", target="\\frac{1}{2}x", kind="math"), "\\boxed{x/2}", "\\boxed{x}"),
        ("regex", Task("?", meta={"pattern": r"^\d{4}$"}), "the year\n1984", "the year 84"),
        ("tests", CODE, "```python\ndef double(n):\n    return 2 * n\n```", "def double(n):\n    return n"),
        ("by_kind", NUMBER, "Answer: 0.3333333", "Answer: 3"),
    ],
)
def test_right_scores_one_and_wrong_scores_nothing(name, task, right, wrong):
    assert mark(name, task, right).value == 1
    assert mark(name, task, wrong).value == 0


@pytest.mark.parametrize("task", [NUMBER, CODE, Task("?", target="x"), Task("?", target="x^2", kind="math")])
def test_no_answer_is_a_wrong_answer_that_is_named(task):
    score = asyncio.run(ByKind()(task, "   "))
    assert (score.value, score.answer) == (0, None) and "no answer" in score.detail


def test_a_tolerance_is_of_the_target_or_absolute():
    task = Task("?", target="200", kind="number")
    assert mark("numeric", task, "201", rel_tol=0.01).value == 1
    assert mark("numeric", task, "201", abs_tol=0.5).value == 0


@pytest.mark.parametrize(
    "cheat",
    [
        "import sys\nsys.exit(0)",
        "import os\nprint('all tests pass')\nos._exit(0)",
        "import sys\nprint(sys.stdin.read())\nsys.exit(0)",
        "import __main__, sys\nprint(*vars(__main__).values())\nsys.exit(0)",
        "print(open('candidate.py').read(), open('main.py').read())\nraise SystemExit",
        "def double(n):\n    return '''",
    ],
)
def test_a_program_cannot_pass_without_passing_its_tests(cheat):
    assert mark("tests", CODE, f"```python\n{cheat}\n```").value == 0


def test_a_passing_word_without_a_good_end_is_no_pass():
    class Broken:
        async def run(self, code, *, files, stdin):
            return Outcome(ok=False, exit_code=1, stdout=stdin, stderr="boom", reason="error", wall_s=0.1)

    score = mark("tests", CODE, "def double(n): return n", sandbox=Broken())
    assert score.value == 0 and score.detail == "error: boom"


def test_formulas_are_compared_off_the_main_thread_too():
    task, seen = Task("?", target="1/3", kind="math"), []
    thread = threading.Thread(target=lambda: seen.append(mark("math", task, "\\boxed{\\frac{2}{6}}").value))
    thread.start()
    thread.join()
    assert seen == [1]


def test_a_formula_that_never_ends_is_stopped_and_the_next_is_marked():
    task = Task("?", target="2", kind="math")
    mark("math", task, "\\boxed{\\frac{4}{2}}")  # the worker is warm from here on
    start = time.perf_counter()
    score = mark("math", task, "\\boxed{9^{9^{9^{9}}}}", timeout_s=0.2)
    assert score.value == 0 and "stopped" in score.detail and time.perf_counter() - start < 5
    assert mark("math", task, "\\boxed{\\frac{4}{2}}").value == 1


def test_math_without_its_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "math_verify", None)
    with pytest.raises(MissingExtra, match=r"motet\[suites\]"):
        mark("math", Task("?", target="1/3", kind="math"), "\\boxed{x}")


def test_what_a_job_raises_is_told():
    with pytest.raises(JobFailed, match="nowhere"):
        WORKER.do("reasoning_gym.entries", "nowhere", {"size": 1}, timeout_s=30)


@pytest.mark.parametrize(
    ("family", "text", "inert"),
    [
        ("countdown", "(3 + 4) * 5", True),
        ("countdown", "__import__('os').system('true')", False),
        ("countdown", "eval(chr(49))", False),
        ("countdown", "().__class__", False),
        ("simple_integration", "x**3/3 + sin(2*x) + C", True),
        ("simple_integration", "open(x)", False),
        ("n_queens", "[['Q', '_'], ['_', 'Q']]", True),
        ("n_queens", "Q _\n_ Q", True),
        ("n_queens", "[print(1)]", False),
        ("chain_sum", "print(1)", True),
    ],
)
def test_what_reasoning_gym_would_evaluate_holds_no_code(family, text, inert):
    assert _inert(family, text) is inert


def test_every_family_that_evaluates_answers_is_guarded():
    import inspect

    from reasoning_gym.factory import DATASETS

    risky = {
        name
        for name, (dataset, _) in DATASETS.items()
        if any(
            word in inspect.getsource(dataset.score_answer) for word in ("eval(answer", "parse_expr(answer")
        )
    }
    assert risky and risky <= set(EVALUATED)


def test_reasoning_gym_marks_by_its_own_rule():
    config = {"seed": 1, "size": 2, "min_numbers": 3, "max_numbers": 3}
    (entry, _) = WORKER.do("reasoning_gym.entries", "countdown", config, timeout_s=60)
    meta = {"family": "countdown", "config": config, "index": 0}
    task = Task(entry["question"], target=entry["answer"], meta=meta)
    other = "(" + entry["answer"] + ") + 0 * 1"
    assert asyncio.run(GymScorer()(task, f"Answer: {entry['answer']} ")).value == 1
    assert asyncio.run(GymScorer()(task, f"Answer: {other}")).value < 1
    assert asyncio.run(GymScorer()(task, "Answer: __import__('os')")).value == 0


class Partial:
    """A judge that always likes the first place."""

    async def ask(self, *parts, schema):
        assert schema["required"] == ["better"]
        return Reply(message=Message.say("assistant", ""), data={"better": "1"})


async def honest(prompt, schema):
    if "same" in schema["properties"]:
        return {"same": prompt.count("Paris") == 2}
    return {"better": "1" if prompt.index("Paris") < prompt.index("Rome") else "2"}


def test_a_judge_is_asked_in_both_orders():
    task = Task("What is the capital of France?", target="Paris")
    assert asyncio.run(Judge(honest).prefer(task, "Rome", "Paris")) == Verdict("b", "b", "b")
    assert asyncio.run(Judge(Partial()).prefer(task, "Rome", "Paris")) == Verdict("tie", "a", "b")
    assert asyncio.run(Judge(honest)(task, "It is Paris.")).value == 1
    assert asyncio.run(Judge(honest)(task, "It is Rome.")).value == 0


def test_a_judge_that_says_something_else_is_a_failure():
    async def rambling(prompt, schema):
        return {"better": "both"}

    with pytest.raises(SchemaMismatch, match="both"):
        asyncio.run(Judge(rambling).prefer(Task("?"), "a", "b"))


def test_names():
    assert all(isinstance(scorer(name), Scorer) for name in SCORERS if name != "judge")
    with pytest.raises(UnknownName, match="numeric"):
        scorer("numerical")
    with pytest.raises(BadInput, match="'n1'"):
        mark("numeric", Task("?", target="many", kind="number", id="n1"), "3")
    for name in ("exact", "tests", "regex"):
        with pytest.raises(BadInput, match="item 'i'"):
            mark(name, Task("?", id="i"), "x")
