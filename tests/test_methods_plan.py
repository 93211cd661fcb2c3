"""Search over steps: who is expanded, what failures do, and when verification and selection pay."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, log, sqrt
from random import Random
from statistics import fmean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import accuracy, edges, is_right, noise, play, play_all, said_to, says

import motet
from motet import Task
from motet.errors import BadInput, UnknownName
from motet.methods import master, plangen
from motet.methods.plan.bandit import Arm, Weights
from motet.methods.plan.searchers import shares
from motet.methods.plan.steps import LAST, MORE, concluded, path_text
from motet.methods.plan.tree import Node, best_leaf
from motet.models.scripted import Line, Scripted
from motet.types import FailureKind, Message, Reply, fill

OPEN = "\nTo be continued."

# ---- MASTER


def node(score: float, confidence: float, parent: Node | None = None) -> Node:
    made = Node(Reply(message=Message.say("assistant", "A step.")), parent, score, confidence)
    if parent:
        parent.children.append(made)
    return made


def test_uct_weighs_the_score_by_its_confidence_and_explores_where_it_is_low() -> None:
    sure = node(0.8, 0.9)
    assert sure.uct(5, 0.3) == pytest.approx(0.8 + 0.3 * sqrt(log(5) / 0.9))
    sure.rewards = [0.1, 0.3]
    assert sure.uct(5, 0.3) == pytest.approx((0.9 * 0.8 + 0.4) / 2.9 + 0.3 * sqrt(log(5) / 2.9))
    root = node(0.5, 0.5)
    doubted, known = node(0.6, 0.1, root), node(0.7, 0.9, root)
    assert best_leaf(root, 3, C=0) is known
    assert best_leaf(root, 3, C=0.3) is doubted
    assert best_leaf(root, 1, C=0.3) is known  # ln 1 = 0
    known.rewards = doubted.rewards = [0.2]
    assert known.uct(3, 0) > doubted.uct(3, 0)  # a failure tells more where one knew less


def assessed(said: str) -> str:
    last = said.rpartition("Plan ")[2]
    score = 0.2 if "Answer: 7" in last else 0.9 if last.startswith("A") else 0.6
    words = {"validation": "Checked.", "why": "w", "correct": "Answer: 42" in said}
    return json.dumps({**words, "score": score, "confidence": 0.9})


def test_a_failed_answer_lowers_its_ancestors_so_that_the_other_branch_is_tried() -> None:
    """The example of the paper's first figure."""
    steps = [f"Read.{OPEN}", f"Plan A.{OPEN}", f"Plan B.{OPEN}", "Answer: 7", f"Go on.{OPEN}", "Answer: 42"]
    run = play(master(b=2, E=3).cast(solver=Scripted([*steps, f"Go on.{OPEN}"]), assessor=assessed))
    assert run.answer == "Answer: 42"
    solver = [(call.id, call.parents) for call in run.calls if call.voice == "solver"]
    root, plan_a, plan_b = solver[0][0], solver[1][0], solver[2][0]
    assert [plan_a in parents for _, parents in solver[3:5]] == [True, True]
    assert [plan_b in parents for _, parents in solver[5:7]] == [True, True]
    assert all(root in parents for _, parents in solver[1:])
    assert not any(plan_a in parents for _, parents in solver[5:7])  # an agent hears those on its path alone
    assert "Checked." in said_to(run, "solver")[-1]


DOORS = "123"


def maze(i: int, hops: int) -> Task:
    right = " ".join(Random(f"maze {i}").choices(DOORS, k=hops))
    return Task(f"Maze {i}: which {hops} doors lead out?", target=right, meta={"hops": hops})


def doors(said: str, hops: int) -> list[str]:
    """The doors of a path; after a failure the last one is taken anew."""
    path: list[str] = []
    for door in re.findall(r"Door (\d)", said):
        path = [*path[: hops - 1], door]
    return path


def walker() -> Callable[[str], str]:
    """Reads the map; then takes a door at random, or all that are left when told so."""
    rng = Random(0)

    def walk(said: str) -> str:
        if "Nothing is done yet" in said:
            return f"I read the map.{OPEN}"
        hops = int(re.findall(r"which (\d) doors", said)[0])
        been = doors(said, hops)[: hops - 1]
        more = rng.choices(DOORS, k=hops - len(been) if "all the steps" in said else 1)
        words = "".join(f"Door {d}. " for d in more)
        return words + (f"\nAnswer: {' '.join([*been, *more])}" if len(been + more) == hops else OPEN)

    return walk


def guide(sight: float) -> Callable[[str], str]:
    """Sees this often whether the doors so far are right; knows a right answer when it is given one."""
    rng = Random(1)

    def look(said: str) -> str:
        number, hops = re.findall(r"Maze (\d+): which (\d) doors", said)[0]
        right = (maze(int(number), int(hops)).target or "").split()
        been = doors(said, int(hops))
        good = next((k for k in range(len(been)) if been[k] != right[k]), len(been)) / int(hops)
        correct = f"Answer: {' '.join(right)}" in said
        score = good if rng.random() < sight else rng.random()
        return json.dumps(
            {"validation": "v", "score": score, "confidence": 0.8, "why": "w", "correct": correct}
        )

    return look


def test_hard_questions_recruit_more_agents_and_an_assessor_that_sees_finds_the_way() -> None:
    n = 50

    def run(hops: int, sight: float = 1.0, **knobs: int) -> tuple[float, float]:
        runs = play_all(
            master(**knobs).cast(solver=walker(), assessor=guide(sight)), [maze(i, hops) for i in range(n)]
        )
        agents = fmean(sum(call.voice == "solver" for call in r.calls) for r in runs)
        return sum(map(is_right, runs)) / n, agents

    easy, few = run(1, b=3, E=5)
    seeing, many = run(3, b=3, E=5)
    blind, _ = run(3, sight=0.0, b=3, E=5)
    alone, _ = run(3, b=1, E=15)  # as many agents, all in one line
    assert easy > 0.95 and few < many / 2
    assert seeing - max(blind, alone) > noise(0.3, n)


@dataclass(eq=False)
class Seen:
    """A node of a search that plays on: its steps, how often it was visited, and what came of that."""

    steps: tuple[Reply, ...] = ()
    parent: "Seen | None" = None
    visits: int = 0
    worth: float = 0.0
    children: list["Seen"] = field(default_factory=list)

    def uct(self, c: float) -> float:
        if not self.visits or not self.parent:
            return inf
        return self.worth / self.visits + c * sqrt(log(self.parent.visits) / self.visits)


@motet.team
async def playing_on(task, solver, assessor, *, b=5, simulations=16, c=0.3, marks=True):
    """What MASTER does without: MCTS whose rewards are those of solutions played to their end (LATS, RAP).

    An end is worth its score or, without marks, 0: the search stops at the first that is right.
    """
    root, ends = Seen(), []
    for _ in range(simulations):
        leaf = root
        while leaf.children:
            leaf = max(leaf.children, key=lambda child: child.uct(c))
        if not (leaf.steps and concluded(leaf.steps[-1])):
            grown = await solver.ask_many(asked(task, leaf.steps, MORE), n=b if leaf.steps else 1)
            leaf.children = [Seen((*leaf.steps, step), leaf) for step in grown]
            leaf = leaf.children[0]
        steps = leaf.steps
        if not concluded(steps[-1]):
            steps = (*steps, await solver.ask(asked(task, steps, LAST)))
        prompt = fill("{task}\nSteps:\n{path}", task=task, path=path_text(steps))
        end = (await assessor.ask(prompt, schema=dict)).data
        if end["correct"]:
            return steps[-1]
        ends.append((end["score"], steps[-1]))
        while leaf:
            leaf.visits, leaf.worth = leaf.visits + 1, leaf.worth + marks * end["score"]
            leaf = leaf.parent
    return max(ends, key=lambda scored: scored[0])[1]


def asked(task: Task, steps: Sequence[Reply], wish: str) -> Any:
    path = path_text(steps) if steps else "Nothing is done yet."
    return fill("Question:\n{task}\n\n{path}\n\n{wish}", task=task, path=path, wish=wish)


def words(run: motet.Run) -> int:
    """Words read and written in a run: what stands for tokens here."""
    nodes = [run.tape.path(call.node) for call in run.calls]
    return sum(len(message.text.split()) for path in nodes for message in path)


def test_without_playing_on_a_search_finds_more_at_equal_tokens() -> None:
    """Also more than one line of steps (ReAct), which never goes back."""
    n = 150
    mazes = [maze(i, 4) for i in range(n)]

    def run(team: motet.Team) -> tuple[float, float]:
        runs = play_all(team.cast(solver=walker(), assessor=guide(1.0)), mazes)
        return sum(map(is_right, runs)) / n, fmean(map(words, runs))

    found, spent = run(master(b=5, E=5))
    rivals = [master(b=1, E=15), playing_on, playing_on(b=3, simulations=33), playing_on(marks=False)]
    for rival in rivals:
        its, took = run(rival)
        assert took > spent and found - its > noise(0.5, n)


def test_what_stands_when_agents_or_their_assessor_fail() -> None:
    unassessed = play(master.cast(solver=says(7), assessor="sim:fail=1"))
    assert (unassessed.answer, len(unassessed.calls)) == ("Answer: 7", 3)
    later = Scripted([Line(f"One.{OPEN}", match="Nothing is done"), Line(error="timeout", match="")])
    assert play(master.cast(solver=later, assessor=assessed)).answer == f"One.{OPEN}"
    never = play(
        master(E=1).cast(solver=Scripted(["Answer: 1", "Answer: 2", "Plan A. Answer: 3"]), assessor=no)
    )
    assert never.answer == "Plan A. Answer: 3"
    first = play(master.cast(solver="sim:fail=1", assessor=assessed))
    assert first.error and first.error.kind is FailureKind.SERVER
    with pytest.raises(BadInput, match="C=-1"):
        play(master(C=-1).cast("sim:skill=1"))


def no(said: str) -> str:
    return json.dumps(json.loads(assessed(said)) | {"correct": False})


# ---- PlanGEN

DAYS = 3


def meeting(i: int, easy: bool = False) -> Task:
    day, hour = Random(f"day {i}").randrange(DAYS), Random(f"hour {i}").randrange(DAYS)
    about = "on day 0" if easy else f"not before the hearing of case {i}"
    return Task(f"Meeting {i}, {about}: when?", target=f"day {0 if easy else day} hour {hour}")


def planner() -> Callable[[str], str]:
    """Guesses the day, then the hour, or both at once when told to conclude."""
    rng = Random(2)

    def guess(said: str) -> str:
        given = re.findall(r"\nPicked day (\d)\.", said.partition("The steps so far:")[2])
        day = "0" if "on day 0" in said else given[-1] if given else str(rng.randrange(DAYS))
        if not given and "Take the next step only" in said:
            return f"Hm.\nPicked day {day}.{OPEN}"
        return f"Answer: day {day} hour {rng.randrange(DAYS)}"

    return guess


def lister(said: str) -> str:
    i = int(re.findall(r"Meeting (\d+)", said)[0])
    return f"It must be: {meeting(i, 'on day 0' in said).target}"


def checker() -> Callable[[str], str]:
    """Scores by the constraints that it is shown; without them its scores mean nothing."""
    rng = Random(3)

    def check(said: str) -> str:
        wanted = re.findall(r"It must be: day (\d) hour (\d)", said)
        plan = said.rpartition("steps towards one:")[2].rpartition("Check it against")[0]
        days, hours = re.findall(r"day (\d)", plan), re.findall(r"hour (\d)", plan)
        if not wanted:
            return json.dumps({"feedback": "?", "reward": rng.randrange(-100, 95)})
        good = days[-1:] == [wanted[0][0]]
        reward = -60 if not good else 40 if not hours else 100 if hours[-1] == wanted[0][1] else -20
        return json.dumps({"feedback": "The day is " + ("right" if good else "wrong"), "reward": reward})

    return check


def selects(said: str) -> str:
    easy = "on day 0" in said
    return json.dumps({"best_of_n": float(easy), "tree_of_thoughts": float(not easy), "rebase": 0.0})


def team(algorithm: str, **knobs: Any) -> Any:
    cast = {"solver": planner(), "constrainer": lister, "verifier": checker(), "selector": selects}
    return plangen(algorithm=algorithm, **knobs).cast(**cast)


@pytest.mark.parametrize("algorithm", ["best_of_n", "tree_of_thoughts", "rebase"])
def test_constraints_make_every_search_solve_more(algorithm: str) -> None:
    tasks = [meeting(i) for i in range(40)]
    guided = accuracy(team(algorithm), tasks)
    unguided = accuracy(team(algorithm).cast(constrainer="sim:fail=1"), tasks)
    assert guided - unguided > noise(0.4, 40)


def test_the_selection_is_as_good_as_the_best_search_and_cheaper() -> None:
    tasks = [meeting(i, easy) for i in range(60) for easy in (True, False)]

    def played(algorithm: str) -> tuple[float, float]:
        runs = play_all(team(algorithm, r=3), tasks)
        calls = fmean(len(run.calls) for run in runs)
        return sum(map(is_right, runs)) / len(tasks), calls

    mixed, cost = played("mixture")
    fixed = {name: played(name) for name in ("best_of_n", "tree_of_thoughts", "rebase")}
    best = max(fixed.values())
    assert mixed > best[0] - noise(0.1, len(tasks))
    assert mixed > fixed["best_of_n"][0]
    assert cost < best[1] - 1


def test_a_plan_that_reaches_theta_ends_it_and_feedback_reaches_the_next_search() -> None:
    content = play(team("mixture").cast(verifier=lambda _: '{"feedback": "", "reward": 95}'), meeting(1))
    assert [c.voice for c in content.calls] == ["solver", "constrainer", "verifier"]
    assert edges(content)[2] == ("verifier", ("2", "1"))
    poor = team("best_of_n", r=1, n=2).cast(verifier=lambda _: '{"feedback": "Too late.", "reward": 3}')
    run = play(poor, meeting(1))
    assert [c.voice for c in run.calls[3:]] == ["solver"] * 2 + ["verifier"] * 2
    assert "Too late." in said_to(run, "solver")[1]
    assert edges(run)[3] == ("solver", ("1", "3"))


def test_a_search_grows_the_paths_its_verifier_prefers() -> None:
    def rank(said: str) -> str:
        return json.dumps({"feedback": "", "reward": 90 if "best" in said else -90})

    for algorithm in ("tree_of_thoughts", "rebase"):
        words = ["start", *(f"{word}{OPEN}" for word in ("poor", "best", "bad")), *"xyz"]
        cast = {"solver": Scripted(words), "verifier": rank}
        run = play(plangen(algorithm=algorithm, r=1, n=3, T_b=0.1).cast("sim:fail=1", **cast))
        assert run.answer == f"best{OPEN}\n\nx"
        assert len(run.calls) == 3 + 2 * 3 * 2


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=6), st.integers(0, 20), st.floats(0.05, 5))
def test_rebase_gives_out_its_whole_budget_and_more_of_it_to_better_paths(
    rewards: list[float], B: int, T_b: float
) -> None:
    counts = shares(rewards, B, T_b)
    assert sum(counts) == B and min(counts) >= 0
    ranked = [c for _, c in sorted(zip(rewards, counts, strict=True))]
    assert all(b >= a - 1 for a, b in pairwise(ranked))


def test_rebase_balances_by_temperature() -> None:
    assert shares([1.0, 0.0], 10, 0.01) == [10, 0]
    assert shares([1.0, 0.0], 10, 1000) == [5, 5]
    assert shares([0.5, 0.5 - 0.2 * log(3)], 8, 0.2) == [6, 2]


def test_the_bound_of_a_search_has_five_terms() -> None:
    arm = Arm()
    assert arm.ucb(0, 0.7, Weights()) == pytest.approx(0 + 0 + 0.7 + 0.5 / 1 + 0)
    arm.learn(0.25, bettered=False, after_failure=True)
    arm.learn(0.75, bettered=True, after_failure=True)
    expected = 1.0 / 2 + sqrt(2 * log(4) / 2) + 2.0 / 4 * 0.7 + 0.6 / 3 + 0.8 * 0.5
    assert arm.ucb(3, 0.7, Weights(2.0, 0.6, 0.8)) == pytest.approx(expected)


def test_what_stands_when_a_planning_voice_fails() -> None:
    for voice in ("verifier", "selector", "constrainer"):
        assert play(team("mixture").cast(**{voice: "sim:fail=1"}), meeting(2)).ok
    once = Scripted([Line("Answer: 42", match="Make a plan", times=1), Line(error="timeout", match="")])
    stands = play(team("rebase").cast(solver=once), meeting(2))
    assert stands.answer == "Answer: 42"
    first = play(team("mixture").cast(solver="sim:fail=1"), meeting(2))
    assert first.error and first.error.kind is FailureKind.NO_ANSWER
    with pytest.raises(UnknownName, match="mixture"):
        play(team("mixtur"), meeting(2))
    with pytest.raises(BadInput, match="T_b=0"):
        play(team("rebase", T_b=0), meeting(2))
