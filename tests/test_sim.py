"""The simulated solver is what it says it is: these truths are what methods are tested against."""

import math
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

import motet
from motet import Store, Task
from motet.answers import extract
from motet.errors import BadInput, UnknownName
from motet.models.sim import Sim, right_answer, wrong_answer

N = 2000
STORE = Store.memory()


@motet.team
async def solo(task, solver):
    return await solver.ask(task)


@motet.team
async def duo(task, one, two):
    first, second = await motet.ask_all([one, two], task)
    return motet.fill("{a}|{b}", a=first, b=second)


@motet.team
async def shown(task, writers: motet.Voices, reader, *, n: int = 3):
    return await reader.ask("Which?", *await motet.ask_all(writers.take(n), task))


def tasks(n: int = N, **more) -> list[Task]:
    return [Task(f"{i} + 1?", target=str(i + 1), kind="number", **more) for i in range(n)]


def rights(team: motet.Team, items: list[Task]) -> float:
    """Share of right answers."""
    runs = [(task, team.run(task, store=STORE)) for task in items]
    return sum(extract(t, r.answer) == t.target for t, r in runs if r.ok) / len(items)


def near(p: float, n: int = N) -> object:
    """Within four standard errors of a proportion."""
    return pytest.approx(p, abs=4 * math.sqrt(max(p * (1 - p), 0.01) / n))


@pytest.mark.parametrize("p", [0.0, 0.3, 0.9, 1.0])
def test_it_is_right_as_often_as_its_skill_says(p: float) -> None:
    assert rights(solo.cast(Sim(skill=p)), tasks(500)) == near(p, 500)


def test_skills_go_by_the_item() -> None:
    team = solo.cast("sim:skill=0,skill.easy=1")
    assert rights(team, tasks(50, meta={"skill": "easy"})) == 1
    assert rights(team, tasks(50, meta={"skill": "hard"})) == 0


@pytest.mark.parametrize("rho", [0.0, 0.5, 1.0])
def test_voices_are_right_together_as_rho_says(rho: float) -> None:
    items, p = tasks(1000), 0.6
    team = duo.cast(one=Sim(skill=p, rho=rho, seed=1), two=Sim(skill=p, rho=rho, seed=2))
    both = 0
    for task in items:
        answers = [extract(task, a) for a in team.run(task, store=STORE).answer.split("|")]
        both += answers == [task.target] * 2
    assert both / len(items) == near(p * p + rho * p * (1 - p), len(items))


@pytest.mark.parametrize(("skew", "commonest"), [(0, 1 / 4), (1, 12 / 25)])
def test_wrong_answers_are_as_common_as_the_skew_says(skew: float, commonest: float) -> None:
    task, team = Task("?", target="1", kind="number"), solo.cast(Sim(skill=0, skew=skew))
    answers = Counter(team.run(task, store=STORE, seed=s).answer for s in range(1000))
    assert len(answers) == 4
    assert answers.most_common(1)[0][1] / 1000 == near(commonest, 1000)


def test_equal_calls_give_equal_replies_and_seeds_give_others() -> None:
    task, team = Task("?", target="1", kind="number"), solo.cast("sim:skill=0.5,wrong=50")
    answers = [team.run(task, store=STORE, seed=s).answer for s in (0, 0, *range(20))]
    assert answers[0] == answers[1] == answers[2]
    assert len(set(answers)) > 5


def test_deceivers_agree_on_one_wrong_answer() -> None:
    task = Task("?", target="1", kind="number")
    answers = {solo.cast(Sim(deceive=1, seed=s)).run(task, store=STORE).answer for s in range(10)}
    assert len(answers) == 1
    assert extract(task, answers.pop()) != "1"


def test_a_reader_follows_the_most_common_answer_or_recognises_the_right_one() -> None:
    liar, honest = Sim(deceive=1), Sim(skill=1)
    team = shown.cast(writers=[liar, liar, honest])
    assert rights(team.cast(reader=Sim(skill=0, follow=1)), tasks(50)) == 0
    assert rights(team.cast(reader=Sim(skill=0, follow=1, judge=1)), tasks(50)) == 1
    assert rights(team.cast(reader=Sim(skill=1, follow=0)), tasks(50)) == 1


def test_a_judge_picks_and_grades_by_schema() -> None:
    @motet.team
    async def judged(task, writers: motet.Voices, judge, *, n: int = 3):
        replies = await motet.ask_all(writers.take(n), task)
        pick = {"type": "object", "properties": {"best": {"type": "integer", "minimum": 1, "maximum": n}}}
        choice = await judge.ask(*replies, schema=pick)
        return replies[choice.data["best"] - 1]

    team = judged.cast(writers=[Sim(deceive=1), Sim(skill=1), Sim(deceive=1)])
    assert rights(team.cast(judge=Sim(judge=1)), tasks(50)) == 1
    assert rights(team.cast(judge=Sim(judge=0, follow=1)), tasks(50)) == 0


def test_it_fails_as_often_as_it_is_told() -> None:
    items = tasks(500)
    failed = sum(not solo.cast("sim:fail=0.3,failure=timeout").run(t, store=STORE).ok for t in items)
    assert failed / 500 == near(0.3, 500)


def test_it_needs_a_truth() -> None:
    run = solo.cast("sim:skill=1").run("no target")
    assert run.error is not None
    assert "target" in run.error.message


@pytest.mark.parametrize("name", ["sim:skil=1", "sim:skill", "sim:fail=0.1,failure=bored"])
def test_unknown_knobs_are_named(name: str) -> None:
    with pytest.raises(UnknownName):
        Sim.parse(name)


@pytest.mark.parametrize("name", ["sim:skill=high", "sim:skill=1.5"])
def test_values_are_checked(name: str) -> None:
    with pytest.raises(BadInput, match="skill"):
        Sim.parse(name)


KINDS = {
    "number": Task("?", target="7", kind="number"),
    "math": Task("?", target="x+1", kind="math"),
    "choice": Task("?", target="B", kind="choice", choices=("p", "q", "r")),
    "text": Task("?", target="Paris", kind="text"),
    "code": Task("?", tests="assert f() == 1", kind="code", meta={"solution": "def f():\n    return 1"}),
}


@pytest.mark.parametrize(("kind", "which"), list(product(KINDS, range(3))))
def test_wrong_answers_are_wrong_and_readable(kind: str, which: int) -> None:
    task = KINDS[kind]
    run = solo.cast(Sim(skill=1)).run(task, store=STORE)
    assert extract(task, run.answer) == right_answer(task)
    assert wrong_answer(task, which) != right_answer(task)


@given(st.builds(dict, skill=st.floats(0, 1), wrong=st.integers(1, 9), seed=st.integers(0, 9)))
def test_a_name_is_a_solver_and_back(knobs: dict) -> None:
    made = Sim(**knobs)
    if made.name != "sim:":
        assert Sim.parse(made.name).skills == made.skills
