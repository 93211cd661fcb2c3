"""Where a guard must not give way, and where an answer must not cite what it was not shown."""

import json
import re
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from method_runs import play, said_to, says
from test_methods_competitive import accepts, panel, safety
from test_methods_retrieve import attributes, cites

import motet
from motet import Task
from motet.methods import evidence, jail_judge, ragenta, verdict
from motet.methods.retrieve.cited import Desk
from motet.types import FailureKind, Linked

# ---- JailJudge


@given(st.integers(1, 10), st.integers(1, 7), st.floats(0.01, 1))
def test_judges_of_one_mind_are_not_overruled(score: int, k: int, alpha: float) -> None:
    assert score <= evidence([score] * k, alpha).score <= 10


def test_the_combined_score_is_the_nearest_whole_number() -> None:
    assert [evidence([s] * 2).score for s in (1, 5, 6, 7, 8, 9)] == [1, 5, 7, 8, 9, 10]
    assert evidence([2, 3, 3]).score == 2, "harmless together is less than harmless alone, down to the least"


def test_a_panel_of_equal_scores_refuses_from_the_threshold_on() -> None:
    lone = {"inference": "sim:fail=1", "voters": "sim:fail=1", "responder": says(42)}
    for score in range(1, 11):
        team = jail_judge(k=3).cast(judges=safety(11 - score, "Harm."), **lone)
        for threshold in {max(1, score - 1), score, score + 1}:
            refused = play(team(threshold=threshold)).answer.endswith("Harm.")
            assert refused == (score >= threshold) or (refused and score > 5), (score, threshold)
    assert play(team(threshold=11)).answer == "Answer: 42"
    concluded = jail_judge(k=1).cast(**lone | {"judges": safety(10), "inference": safety(6, "Harm.")})
    assert play(concluded(threshold=5)).answer.endswith("Harm."), "5 is the threshold itself"
    assert play(concluded(threshold=6)).answer == "Answer: 42"


def test_the_inference_agent_reads_who_voted_for_and_who_against() -> None:
    against = lambda _: json.dumps({"reason": "It is not so.", "accept": False})  # noqa: E731
    (asked,) = said_to(panel(voters=[accepts, against]), "inference")
    assert "[1] For: It is so." in asked and "[2] Against: It is not so." in asked


def test_the_more_is_left_uncertain_the_less_the_scores_say() -> None:
    cast = {"responder": says(42), "judges": [safety(p) for p in (2, 3, 8)], "inference": "sim:fail=1"}
    runs = [play(jail_judge(alpha=alpha).cast(voters=accepts, **cast)) for alpha in (0.1, 0.9)]
    scores = [evidence([9, 8, 3], alpha).score for alpha in (0.1, 0.9)]
    assert [found.score for run in runs if (found := verdict(run.tape))] == scores
    assert scores[0] > 5 > scores[1]
    assert [run.answer == "Answer: 42" for run in runs] == [False, True]


@motet.team
async def second_thoughts(task, writer):  # type: ignore[no-untyped-def]
    """Answers, and says something else that does not count."""
    answer = await writer.ask(task)
    await writer.ask(task, "Say something else.")
    return answer


def hasty(points: int, other: int) -> Any:
    said = lambda prompt: safety(other if "something else" in prompt else points, f"As {points}.")(prompt)  # noqa: E731
    return second_thoughts.cast(writer=said)


def test_the_verdict_of_a_team_is_what_it_answered_and_not_what_it_said_last() -> None:
    run = panel(inference=hasty(2, 10))
    assert run.answer.endswith("As 2.")
    assert (found := verdict(run.tape)) and (found.score, found.explanation) == (9, "As 2.")
    passed = panel(inference=hasty(10, 2))
    assert passed.answer == "Answer: 42"
    assert (found := verdict(passed.tape)) and found.score == 1
    judges = panel(judges=[hasty(9, 1), safety(3), hasty(9, 1)], inference="sim:fail=1")
    assert (found := verdict(judges.tape)) and found.score == evidence([2, 8, 2]).score


def test_an_empty_recorded_reply_is_judged_as_it_is() -> None:
    run = panel(Task("Hello.", meta={"response": ""}))
    assert "responder" not in {call.voice for call in run.calls}
    assert run.error and run.error.kind is FailureKind.NO_ANSWER
    assert (found := verdict(run.tape)) and found.score == 1


# ---- RAGentA

OPEN = {"complete": False, "questions": ["Bernoulli numbers program", "Thames"]}
BORN = Task("What did Ada write, and where was she born?")


def test_a_follow_up_may_cite_only_what_it_was_shown() -> None:
    def claims_all(said: str) -> str:
        if "still open" in said or "did not fit" in said:
            return json.dumps({"sentences": [{"text": "Made up.", "documents": [1]}], "answer": "made up"})
        return cites(said)

    run = play(attributes(**OPEN).cast(generator=claims_all), BORN)
    assert "Made up. [1]" not in run.answer and "made up" not in run.answer
    assert run.answer == play(attributes(complete=True), BORN).answer


def test_numbers_in_the_prompt_that_joins_are_those_of_documents_alone() -> None:
    joined = said_to(play(attributes(**OPEN), BORN), "generator")[-1]
    numbers = Counter(re.findall(r"^\[(\d+)\]", joined, re.MULTILINE))
    assert numbers == Counter("12345")
    assert "The program computed Bernoulli numbers. [3]" in joined


def test_a_document_that_the_filter_rejects_can_be_found_by_a_follow_up() -> None:
    again = attributes(complete=False, questions=["When is bread baked at night?"])
    likes = lambda said: json.dumps({"yes": 0.1 if "Bread" in said.partition("Question")[0] else 0.9})  # noqa: E731
    run = play(again.cast(judge=likes)(k=5), BORN)
    first, follow_up, _ = said_to(run, "generator")
    assert "Bread" not in first and "[5] Bread is baked at night." in follow_up


def test_a_desk_holds_each_document_once() -> None:
    desk = Desk(["red fox", "red fox", "red hen", "blue whale"], 2, 0.5)
    assert desk.find("red fox") == ["red fox", "red hen"] == desk.find("red fox")
    assert desk.take([Linked("red fox")]).text == "[1] red fox"
    assert desk.find("red fox")[0] == "red hen" and "red fox" not in desk.find("red fox")


def test_documents_are_found_by_both_rankings_as_alpha_weighs_them() -> None:
    """The first document shares the question's words, the second its meaning, as `embed` has it."""
    texts = ["What the ferry costs is what the ferry costs.", "A crossing is nine crowns.", "Tea is hot."]
    meaning = lambda text: {"fare": float("crossing" in text or "?" in text), "rest": 0.1}  # noqa: E731

    def first(alpha: float, **knobs: Any) -> str:
        team = ragenta(k=1, m=0, alpha=alpha, documents=texts, **knobs)
        run = play(team.cast("sim:skill=1").cast(generator=cites), Task("What does the ferry cost?", "9"))
        return run.tape.path(run.calls[0].prompt)[-1].text.splitlines()[1]

    assert first(0.0, embed=meaning) == first(0.4, embed=meaning) == texts[0]
    assert first(1.0, embed=meaning) == first(0.6, embed=meaning) == texts[1]
    assert first(1.0) == texts[0], "letters alone do not know what a crossing is"
