"""What methods say of themselves in a clause: who is read when somebody fails, and what a knob does."""

import asyncio
import re
from collections.abc import Callable
from typing import Any

import pytest
from method_runs import edges, play, said_to, says

from motet import Task
from motet.methods import agent_verse, generative_agents, hm_rag, master, mcts, patched_moa, self_moa
from motet.methods.aggregate.patched_moa import NONE
from motet.methods.plan.steps import LAST, MORE
from motet.models.scripted import Line, Scripted

# --- AgentVerse


def test_an_expert_that_fails_in_a_later_round_keeps_its_earlier_answer() -> None:
    fickle = Scripted([Line("Answer: 7", times=1), Line(error="server")])
    team = agent_verse(n=2, k=2, T=1, structure="horizontal").cast(
        recruiter="sim:fail=1", experts=[says(8), fickle], executor=says(8), evaluator=says(1)
    )
    run = play(team)
    assert edges(run)[5] == ("experts_1", ("4", "3")), "the sum: its own later answer, the other's first"
    assert "Answer: 7" in said_to(run, "experts_1")[-1]


def test_the_evaluator_judges_by_the_first_goal() -> None:
    judged = '{"notes": "Not yet.", "done": false}'
    team = agent_verse(n=1, T=2).cast(
        recruiter="sim:fail=1", experts=says(1), executor=says(2), evaluator=lambda _: judged
    )
    run = play(team)
    first, second = said_to(run, "evaluator")
    assert first == second
    assert "Not yet." in said_to(run, "experts_1")[-1]


# --- Patched MOA, self-MoA


def temperatures(run: Any) -> list[tuple[str, float | None]]:
    return [(call.voice, call.sampling.temperature) for call in run.calls]


def test_without_a_critique_the_writer_is_told_so_and_only_the_samples_are_hot() -> None:
    run = play(patched_moa(n=2, temperature=0.9).cast(solver=says(1), critic="sim:fail=1", writer=says(2)))
    assert edges(run)[-1] == ("writer", ("1", "2")) and NONE in said_to(run, "writer")[0]
    assert temperatures(run) == [("solver", 0.9), ("solver", 0.9), ("critic", 0.1), ("writer", 0.1)]


def test_a_mixture_of_one_samples_at_its_temperature() -> None:
    run = play(self_moa(n=2, temperature=0.4).cast(says(1)))
    assert temperatures(run)[:2] == [("proposer", 0.4)] * 2


# --- MASTER


def test_the_last_expansion_is_told_to_conclude_and_an_answer_is_evaluated_while_it_is_assessed() -> None:
    evaluating = asyncio.Event()

    async def assessor(prompt: str) -> str:
        assert "Assessment:" not in prompt
        if "`correct`" in prompt:
            evaluating.set()
            return '{"why": "No.", "correct": false}'
        await asyncio.wait_for(evaluating.wait(), 5)
        return '{"validation": "Fine.", "score": 0.5, "confidence": 0.5}'

    run = play(master(b=1, E=1).cast(solver=says(42), assessor=assessor))
    first, last = said_to(run, "solver")
    assert MORE in first and LAST in last and MORE not in last
    assert edges(run)[:3] == [("solver", ()), ("assessor", ("1",)), ("assessor", ("1",))]
    assert "Assessment: Fine. Of the answer: No." in last


# --- Tree search


def grades(*scores: dict[str, list[float]]) -> Callable[[str], str]:
    """Grades the talks of each first answer by a list, whose last number stays."""
    left = {name: list(some) for name, some in scores[0].items()}

    def judge(talk: str) -> str:
        name = re.findall(r"Assistant: (\w+)", talk)[0]
        return f'{{"score": {left[name].pop(0) if len(left[name]) > 1 else left[name][0]}}}'

    return judge


def descents(scores: dict[str, list[float]], **knobs: Any) -> tuple[list[str], str]:
    """The first answers of the talks that were graded, in order, and the answer."""
    words = iter(["a", "b"])
    team = mcts(n=2, depth=0, **knobs).cast(
        solver=lambda _: next(words, "more"), user=lambda _: "Go on.", judge=grades(scores)
    )
    run = play(team, Task("Say something."))
    return [re.findall(r"Assistant: (\w+)", talk)[0] for talk in said_to(run, "judge")], run.answer


def test_c_decides_whether_the_second_best_is_tried_again() -> None:
    scores = {"a": [1.0], "b": [0.8]}
    assert sorted(descents(scores, simulations=3, c=0.0)[0]) == ["a", "a", "b"]
    assert descents(scores, simulations=4, c=0.0)[0][2:] == ["a", "a"]
    assert descents(scores, simulations=4, c=5.0)[0][2:] == ["a", "b"]


def test_the_answer_is_the_one_visited_most_and_not_the_one_of_the_best_mean() -> None:
    went, answer = descents({"a": [0.6, 0.6, 0.0], "b": [1.0, 0.0]}, simulations=5, c=0.0)
    assert went.count("a") == 3 and answer == "a"


# --- Generative agents

LIFE = ["The cat is black.", "The dog is brown.", "The sea is green."]


def remembers(question: str, solver: Any = None, thinker: Any = "sim:fail=1", **knobs: Any) -> Any:
    team = generative_agents(observations=LIFE, **knobs).cast(
        rater=lambda _: '{"importance": 5}', thinker=thinker, solver=says(1)
    )
    return play(team, Task(question))


@pytest.mark.parametrize(("decay", "kept"), [(0.5, LIFE[2]), (1.0, LIFE[0])])
def test_where_only_recency_counts_the_latest_hour_is_remembered(decay: float, kept: str) -> None:
    run = remembers("What is blue?", k=1, alpha=(1.0, 0.0, 0.0), decay=decay)
    shown = said_to(run, "solver")[0]
    assert [text for text in LIFE if text in shown] == [kept]


def test_a_reflection_asks_about_all_that_is_recent_and_recalls_what_bears_on_each_question() -> None:
    insight = '{"insights": [{"text": "So it is.", "from": [1], "importance": 3}]}'
    thinker = Scripted([Line('{"questions": ["Which colour has the sea?"]}', match="`questions`"),
                        Line(insight, match="`insights`")])  # fmt: skip
    run = remembers("What?", thinker=thinker, k=1, q=1, threshold=15.0, alpha=(0.0, 0.0, 1.0))
    asked, reflected = said_to(run, "thinker")
    assert [text in asked for text in LIFE] == [True] * 3
    assert [text in reflected for text in LIFE] == [False, False, True]


# --- HM-RAG


def test_an_option_that_reads_unknown_can_be_voted_for() -> None:
    task = Task("What came first?", kind="choice", choices=("The hen", "The egg", "Unknown"), target="C")
    voices = {"decomposer": "sim:fail=1", "vector": says("C"), "graph": says("unknown"), "web": says("A")}
    run = play(hm_rag(documents=["Nobody knows."]).cast(expert=says("B"), **voices), task)
    assert run.answer == "C" and "expert" not in {call.voice for call in run.calls}
    free = Task("What came first?", target="the hen")
    voices |= {"vector": says("unknown"), "web": says("the hen")}
    asked = play(hm_rag(documents=["Nobody knows."]).cast(expert=says("the hen"), **voices), free)
    assert "expert" in {call.voice for call in asked.calls}
