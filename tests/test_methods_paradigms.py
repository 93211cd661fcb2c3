"""Debate with a judge, and discussion under four paradigms: who hears whom, and what goes wrong."""

import json
from typing import Any

import pytest
from method_runs import accuracy, edges, is_right, noise, play, play_all, said_to, says, sums

from motet import Run
from motet.errors import UnknownName
from motet.methods import (
    METHODS,
    debate,
    discussion,
    drift,
    judged_debate,
    message_shares,
    monopoly,
)
from motet.models.scripted import Line, Scripted

BLIND = "sim:skill=0.4,wrong=1,judge=0,follow=0"
FAILING = "sim:fail=1"


def picks(number: int) -> Any:
    return lambda _: json.dumps({"best": number})


def recruiter(said: str) -> str:
    n = int(said.partition("Which ")[2].split()[0])
    return json.dumps({"roles": [f"You are expert {i + 1}." for i in range(n)]})


def talk(panel: Any, **knobs: Any) -> Run:
    return play(discussion(**knobs).cast(recruiter=recruiter, panel=panel))


def heard(run: Run) -> list[str]:
    """For each message the calls that its expert was shown, besides the recruiter's."""
    assert run.calls[0].voice == "recruiter"
    assert all(call.parents[0] == "1" for call in run.calls[1:])
    return [" ".join(call.parents[1:]) for call in run.calls[1:]]


def test_a_judge_reads_the_last_answers_and_overrules_the_vote() -> None:
    run = play(judged_debate(n=3, r=1).cast(debaters=[says(7), says(7), says(42)], judge=picks(3)))
    assert run.answer == "Answer: 42"
    assert edges(run)[-1] == ("judge", ("4", "5", "6"))
    assert run.tape.ended and run.tape.ended.parents == ("6", "7")
    voted = play(judged_debate(n=3, r=1).cast(debaters=[says(7), says(7), says(42)], judge=FAILING))
    assert voted.answer == "7"
    alone = play(judged_debate(n=2, r=0).cast(debaters=[FAILING, says(42)], judge=picks(2)))
    assert [call.voice for call in alone.calls] == ["debaters_1", "debaters_2"]


def test_a_judge_who_sees_the_truth_beats_the_vote_and_a_blind_one_does_not() -> None:
    tasks = sums(60)
    vote = accuracy(debate(n=3, r=1).cast(BLIND), tasks)
    seeing = accuracy(judged_debate(n=3, r=1).cast(BLIND, judge="sim:judge=0.9"), tasks)
    blind = accuracy(judged_debate(n=3, r=1).cast(BLIND, judge="sim:judge=0"), tasks)
    assert seeing - vote > noise(0.5, len(tasks))
    assert abs(blind - vote) < noise(0.5, len(tasks))


def test_at_equal_calls_debate_gains_most_for_weak_models_on_hard_items() -> None:
    calls = 9
    scaled = {"debate": {"n": 3, "r": 2}, "self_consistency": {"n": 9}, "self_refine": {"r": 4}}
    assert {METHODS[name].most_calls(**knobs) for name, knobs in scaled.items()} == {calls}
    levels = {level: sums(50, skill=level) for level in ("easy", "hard")}
    sizes = {"small": "skill.easy=0.6,skill.hard=0.3", "large": "skill.easy=0.95,skill.hard=0.6"}
    notes = json.dumps({"notes": "Look again.", "done": False})
    right: dict[tuple[str, str, str], float] = {}
    for name, knobs in scaled.items():
        cast = {"critic": lambda _: notes} if name == "self_refine" else {}
        for size, skills in sizes.items():
            team = METHODS[name].team.configured(**knobs).cast(f"sim:{skills},wrong=2,judge=0.8", **cast)
            for level, tasks in levels.items():
                runs = play_all(team, tasks)
                assert {len(run.calls) for run in runs} == {calls}
                right[name, size, level] = sum(map(is_right, runs)) / len(runs)

    def gain(size: str, level: str) -> float:
        return right["debate", size, level] - right["self_consistency", size, level]

    assert gain("small", "hard") > noise(0.5, 50)
    assert gain("small", "hard") > max(gain("small", "easy"), gain("large", "hard"))
    assert abs(gain("large", "easy")) < noise(0.5, 50)


def persuadable(said: str) -> str:
    """Gives in to one who is certain, and stays so, unless it is a sceptic."""
    gives_in = "I am certain" in said and "sceptic" not in said
    return "I am certain.\nAnswer: 7" if gives_in else "Answer: 42"


def test_personas_stop_what_runs_through_a_team_of_equals() -> None:
    personas = ["You are kind.", "You are a sceptic.", "You are a sceptic."]
    cast = [says("7, I am certain"), persuadable, persuadable]
    equal, diverse = (play(debate(n=3, r=1, personas=p).cast(debaters=cast)) for p in ([], personas))
    assert (equal.answer, diverse.answer) == ("7", "42")
    starts = [said_to(diverse, f"debaters_{i}") for i in (1, 2, 3)]
    assert all(p.startswith(who) for who, prompts in zip(personas, starts, strict=True) for p in prompts)


@pytest.mark.parametrize(
    ("paradigm", "shown"),
    [
        ("memory", ["", "2", "2 3", "2 3 4", "2 3 4 5", "2 3 4 5 6"]),
        ("relay", ["", "2", "3", "2 4", "2 3 5", "3 4 6"]),
        ("report", ["", "2", "2", "2 3 4", "2 3 5", "2 4 5"]),
    ],
)
def test_each_expert_is_shown_what_its_paradigm_lets_it_hear(paradigm: str, shown: list[str]) -> None:
    run = talk([says(1), says(2), says(3)], paradigm=paradigm, T=2)
    assert [call.voice for call in run.calls[1:]] == ["panel_1", "panel_2", "panel_3"] * 2
    assert heard(run) == shown
    assert said_to(run, "panel_2")[0].startswith("You are expert 2.")


def test_in_a_debate_the_first_hears_only_the_last_round_of_the_others() -> None:
    run = talk([says(i) for i in range(4)], n=4, paradigm="debate", D=2, T=2)
    assert [call.voice[-1] for call in run.calls[1:9]] == list("12342341")
    assert heard(run)[:8] == ["", "2", "2 3", "2 4", "2 3 5", "2 3 4 6", "2 4 5 7", "2 6 7 8"]
    assert heard(talk([says(1), says(2)], n=2, T=3, visible=1))[-2:] == ["4 5", "4 5 6"]
    with pytest.raises(UnknownName, match="paradigm"):
        talk(says(1), paradigm="rumour")


def test_agreement_ends_the_talk_as_soon_as_enough_agree() -> None:
    agreed = [says(42), says(42), says(42), says(7)]
    assert len(talk(agreed[:3], T=9).calls) == 1 + 3
    assert len(talk(agreed, n=4, T=9).calls) == 1 + 3, "more than half of four"
    late = talk([says(42), says(42), says(7)], T=9)
    assert len(late.calls) == 1 + 4 * 3 + 1, "all of three, up to the fifth turn"
    assert late.answer == "42"


def test_an_expert_that_fails_is_silent_and_its_last_answer_stands() -> None:
    mute = Scripted([Line("Answer: 42", match="17", times=1), Line(error="timeout", match="17")])
    run = talk([mute, says(7), FAILING], T=2)
    assert heard(run) == ["", "2", "2 3", "2 3", "2 3", "2 3 6"]
    assert run.answer == "42"
    unled = play(discussion(T=1).cast(recruiter=FAILING, panel="sim:skill=1"))
    assert unled.ok and edges(unled)[1] == ("panel_1", ())


def test_one_who_talks_too_much_is_seen() -> None:
    def long(_: str) -> str:
        return "and so on " * 60 + "\nAnswer: 1"

    run = talk([says(2), long, says(3)], T=2)
    shares = message_shares(run.tape)
    assert max(shares, key=lambda voice: shares[voice]) == "panel_2"
    assert monopoly(run.tape) > 0.9
    assert monopoly(talk([says(1), says(2), says(3)], T=2).tape) == pytest.approx(0)
    assert monopoly(talk([says(1)], n=1).tape) == 1


def test_drift_is_seen_in_answers_and_in_words() -> None:
    stray = Scripted(["Sum them.\nAnswer: 42", "My cat likes carpets.\nAnswer: 9"])
    run = talk([stray, says(0)], n=2, T=2)
    first, second = drift(run.tape)
    assert (first.moved, first.strayed) == (0, 0)
    assert second.moved == 1 / 2
    assert second.strayed == pytest.approx(5 / 7)
    assert drift(play(debate.cast(FAILING)).tape) == []


def test_long_talks_of_those_who_spoil_drift_away_and_those_who_see_the_truth_gain() -> None:
    tasks = sums(50)
    spoilers = discussion.cast(recruiter=recruiter, panel="sim:skill=0.6,wrong=99,follow=0,spoil=0.3")
    runs = play_all(spoilers(T=4), tasks)
    moved = [[turn.moved for turn in drift(run.tape)] for run in runs]
    mean = [sum(m[k] for m in moved if len(m) > k) / sum(len(m) > k for m in moved) for k in range(4)]
    assert mean[0] == 0 and mean == sorted(mean)
    assert accuracy(spoilers(T=1), tasks) - accuracy(spoilers(T=4), tasks) > noise(0.5, 50)
    seeing = discussion.cast(recruiter=recruiter, panel="sim:skill=0.4,wrong=2,judge=0.8")
    assert accuracy(seeing(T=3), tasks) - accuracy(seeing(T=1), tasks) > noise(0.5, 50)
