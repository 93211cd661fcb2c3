"""Builders of data that models write themselves: Socratic-Zero's questions, AgentRefine's worlds."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import SUM, play

import motet
from motet.errors import BadInput
from motet.models.scripted import Line, Scripted
from motet.structured import parse
from motet.train.builders.agent_refine import Script, agent_refine, fault_of, synthesise
from motet.train.builders.socratic import curriculum, socratic, socratic_round, utility
from motet.types import Task

RIGHT, WRONG = "Answer: 42", "Answer: 41"
HARDER = json.dumps({"question": "What is 40 + 7?", "answer": "47"})

# Socratic-Zero


def socratic_run(attempts: list[str], teacher: list[str | Line], k: int = 2, q: int = 1) -> motet.Run:
    return play(socratic_round(k=k, q=q).cast(solver=Scripted(attempts), teacher=Scripted(teacher)))


def test_a_round_gives_pairs_to_the_solver_and_questions_to_the_generator():
    run = socratic_run([RIGHT, WRONG, "Answer: 47", "Answer: 48"], [HARDER])
    assert len(run.calls) == 2 + 1 + 1 * 2
    built = socratic([run.tape])
    assert [(p.chosen.text, p.rejected.text) for p in built.of("solver").dpo] == [
        (RIGHT, WRONG),
        ("Answer: 47", "Answer: 48"),
    ]
    assert "40 + 7" in built.dpo[1].prompt[-1].text
    (written,) = built.of("generator").sft
    assert written.messages[1].text == "What is 40 + 7?" and written.weight == pytest.approx(1.0)
    assert SUM.prompt in written.messages[0].text and built.counts["questions"] == 2


def test_utility_peaks_at_medium_difficulty():
    too_hard = socratic_run([WRONG, WRONG, "Answer: 1", "Answer: 2"], [HARDER])
    (weight,) = [e.weight for e in socratic([too_hard.tape]).sft]
    assert weight == utility(0.0) < 0.05 < utility(0.25) < utility(0.5) == 1.0
    assert utility(0.25) == pytest.approx(utility(0.75))


def test_what_is_mastered_leaves_the_curriculum():
    mastered = socratic_run([RIGHT, RIGHT], [])
    assert len(mastered.calls) == 2 and curriculum([mastered.tape]) == []
    learning = socratic_run([RIGHT, WRONG, "Answer: 47", "Answer: 48"], [HARDER])
    assert [t.prompt for t in curriculum([learning.tape])] == [SUM.prompt, "What is 40 + 7?"]
    assert curriculum([learning.tape])[1].target == "47"
    hard = socratic_run([WRONG, WRONG, "Answer: 1", "Answer: 2"], [HARDER])
    assert [t.prompt for t in curriculum([hard.tape])] == [SUM.prompt], (
        "a new one that is too hard is dropped"
    )


def test_a_teacher_that_fails_is_kept_with_the_reason():
    run = socratic_run([WRONG, RIGHT], [Line(error="timeout")])
    built = socratic([run.tape])
    assert run.ok and [r.reason for r in built.rejected] == ["it holds no question that was answered"]
    assert len(built.dpo) == 1 and not built.sft


# AgentRefine

PLAY: list[dict[str, Any]] = [
    {"by": "world", "text": "A locked door."},
    {"by": "player", "thought": "Push.", "action": "push door", "wrong": True},
    {"by": "world", "text": "You cannot push here."},
    {"by": "player", "thought": "Then open it.", "action": "open door"},
]


def script(turns: list[dict[str, Any]] = PLAY, actions: tuple[str, ...] = ("open", "look")) -> str:
    return json.dumps({"rules": "Get out.", "actions": actions, "play": turns})


FAULTY = script([PLAY[0], PLAY[3]])


def test_mistakes_are_context_and_mends_are_trained():
    run = play(synthesise.cast(Scripted([script()])), Task("a locksmith"))
    (only,) = agent_refine([run.tape]).sft
    assert [m.role for m in only.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert only.trained == (False, False, False, False, True)
    assert only.messages[-1].text == "Thought: Then open it.\nAction: open door"


def test_a_play_that_does_not_hold_is_sent_back_and_kept_as_rejected():
    run = play(synthesise(tries=2).cast(Scripted([FAULTY, script()])), Task("a locksmith"))
    assert run.ok and len(run.calls) == 2
    assert "fewer than 1 mistakes" in run.tape.path(run.calls[1].prompt)[-1].text
    built = agent_refine([run.tape])
    assert len(built.sft) == 1 and [r.reason for r in built.rejected] == ["there are fewer than 1 mistakes"]
    failed = play(synthesise(tries=2).cast(Scripted([FAULTY, FAULTY])), Task("a locksmith"))
    assert "no play held in 2 tries" in str(failed.error) and not agent_refine([failed.tape]).sft
    with pytest.raises(BadInput, match="tries is 0"):
        play(synthesise(tries=0).cast(Scripted([FAULTY])))


@pytest.mark.parametrize(
    ("turns", "fault"),
    [
        (PLAY[1:], "do not take turns"),
        (PLAY[:2], "does not end with a right turn"),
        ([*PLAY[:3], PLAY[3] | {"action": "fly away"}], "'fly' is no action here"),
        ([*PLAY[:3], PLAY[1] | {"action": "Push door", "wrong": False}], "'push' is no action here"),
        ([*PLAY[:3], PLAY[1], *PLAY[2:]], "repeats the mistake"),
        (PLAY, ""),
    ],
)
def test_the_checker_names_the_fault(turns: list[dict[str, Any]], fault: str):
    found = fault_of(parse(script(turns), Script))
    assert fault in found and bool(fault) == bool(found)


@given(st.lists(st.booleans(), min_size=1, max_size=6))
def test_the_loss_is_on_right_turns_alone(wrong: list[bool]):
    turns = []
    for i, bad in enumerate([*wrong, False]):
        turns += [{"by": "world", "text": "?"}]
        turns += [{"by": "player", "action": f"{'push' if bad else 'open'} {i}", "wrong": bad}]
    run = play(synthesise(tries=1).cast(Scripted([script(turns)])), Task("p"))
    built = agent_refine([run.tape])
    assert bool(built.sft) == any(wrong)
    for example in built.sft:
        assert [
            on for on, m in zip(example.trained, example.messages, strict=True) if m.role == "assistant"
        ] == [not bad for bad in [*wrong, False]]
