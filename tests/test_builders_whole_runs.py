"""Builders that read whole runs: spans, transcripts, roles, mixes, critiques."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import play

import motet
from motet.agent import Agent
from motet.errors import BadInput
from motet.models.scripted import Line, Scripted
from motet.tape import Tape
from motet.tools import calculator
from motet.train.builders import BUILDERS, COLLECTORS, Example
from motet.train.builders.agent_tuning import agent_tuning
from motet.train.builders.critique import critique, multi_critique
from motet.train.builders.distill import Segment, distill, parse_transcript
from motet.train.builders.roles import roles
from motet.train.builders.structured import parse_spans, structured
from motet.types import Message, Task

ADD = {"name": "calculator", "arguments": {"expression": "17+25"}}


@motet.team
async def relay(task, solver, writer):
    worked = await solver.ask(task)
    return await writer.ask("Write it up.", worked)


@motet.team
async def alone(task, solver):
    return await solver.ask(task)


def tool_run(answer: str = "Answer: 42", first: str = "I shall add.") -> Tape:
    solver = Agent(Scripted([Line(first, tool_calls=[ADD]), "It is 42."]), "Be brief.", tools=[calculator])
    return play(relay.cast(solver=solver, writer=Scripted([answer]))).tape


def react(text: str, answer: str = "42") -> Tape:
    return play(alone.cast(Scripted([f"{text}\nAnswer: {answer}"]))).tape


# Structured distillation


@given(
    st.lists(st.sampled_from(["Thought: x", "Action: y", "[ACT] z", "hm", "", "  Reason: w"])).map("\n".join)
)
def test_spans_are_a_partition(text: str):
    spans = parse_spans(text)
    assert "".join(text[start:stop] for _, start, stop in spans) == text
    assert all(a[0] != b[0] for a, b in pairwise(spans))
    assert all(text[i:].startswith(("Action", "[ACT]")) for k, i, _ in spans if k == "act")


def test_structured_weighs_spans_and_goes_from_simple_to_complex():
    hard, easy = react("Thought: a\nAction: b\nThought: much to think about"), react("Action: b")
    built = structured([hard, easy, react("Action: c", "41")], reason=0.5, act=2.0)
    assert [e.runs[0] for e in built.sft] == [easy.run, hard.run]
    first, second = built.sft
    assert {(s.kind, s.weight) for s in second.spans} == {("reason", 0.5), ("act", 2.0)}
    said = second.messages[-1].text
    assert "".join(said[s.start : s.stop] for s in second.spans) == said and second.spans[0].message == 1
    assert first.trained == (False, True) and built.rejected[0].reason == "mark 0 is too low"


# Multi-agent distillation


def test_a_transcript_parses_back_to_the_same_calls():
    tape = tool_run()
    built = distill([tape])
    (only,) = built.sft
    assert parse_transcript(only.messages) == [
        Segment("solver", 1, (), 'I shall add.\n<tool name="calculator">{"expression":"17+25"}</tool>'),
        Segment("solver", 2, (1,), "It is 42."),
        Segment("writer", 3, (2,), "Answer: 42"),
    ]
    assert [m.role for m in only.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert only.trained == (False, False, True, False, True), "no loss on what tools said"
    assert only.messages[-1].text.endswith("<answer>\nAnswer: 42\n</answer>")
    assert built.counts["segments"] == len(tape.calls) == 3


def test_what_cannot_be_distilled_is_kept_with_the_reason():
    built = distill([tool_run("Answer: 41"), tool_run("</agent> Answer: 42"), tool_run()], most_calls=2)
    assert [r.reason for r in built.rejected] == ["mark 0 is too low"] + ["3 calls are more than 2"] * 2
    (tagged,) = distill([tool_run("</agent> Answer: 42")]).rejected
    assert tagged.reason == "a reply holds a tag of the transcript" and not built.sft


# Planner, caller, summariser


def test_roles_split_a_trajectory_without_loss_or_overlap():
    built = roles([tool_run(), tool_run("Answer: 3")], voice="solver")
    by_role = {e.voice: e for e in built.sft}
    whole = by_role.pop("backbone")
    assert whole.stage == "global" and {e.stage for e in by_role.values()} == {"local"}
    said = {
        role: [m.text for m, on in zip(e.messages, e.trained, strict=True) if on]
        for role, e in by_role.items()
    }
    assert said == {
        "planner": ["I shall add.\nNext: caller", "What is known is enough to answer.\nNext: summarizer"],
        "caller": ['Action: calculator\nAction Input: {"expression":"17+25"}'],
        "summarizer": ["It is 42."],
    }
    on = [m.text for m, t in zip(whole.messages, whole.trained, strict=True) if t]
    assert sorted(on) == sorted(text for texts in said.values() for text in texts)
    assert whole.messages[0].text == "Be brief." and by_role["caller"].messages[0].text.startswith("You call")
    assert [r.reason for r in built.rejected] == ["mark 0 is too low"]
    assert [r.reason for r in roles([tool_run()], voice="writer").rejected] == ["no tool was called"]


# AgentTuning

CHAT = Example((Message.say("user", "Hi."), Message.say("assistant", "Hello.")), (False, True))


@given(st.floats(0.05, 0.95), st.integers(1, 200))
def test_the_mix_has_its_share(eta: float, size: int):
    built = agent_tuning([react("a"), react("b")], general=[CHAT], eta=eta, size=size)
    assert len(built.sft) == size and built.counts.get("agent", 0) == round(eta * size)


def test_the_mix_keeps_good_runs_and_is_the_same_for_a_seed():
    tapes = [react("a"), react("b"), react("c", "41")]
    built = agent_tuning(tapes, general=[CHAT] * 3, eta=0.25, seed=1)
    assert (built.counts["agent"], built.counts["general"], built.counts["rejected"]) == (2, 6, 1)
    assert built == agent_tuning(tapes, general=[CHAT] * 3, eta=0.25, seed=1)
    assert built.sft != agent_tuning(tapes, general=[CHAT] * 3, eta=0.25, seed=2).sft
    assert {e.runs[0] for e in agent_tuning(tapes, eta=1).sft} == {tapes[0].run, tapes[1].run}
    for eta, said in ((0.2, "no general examples"), (0.0, "eta is 0")):
        with pytest.raises(BadInput, match=said):
            agent_tuning(tapes, eta=eta)


# MultiCritique

FAULTS = {"the sum is off", "the unit is missing", "a step is skipped"}
ESSAY = Task("Add 2 km and 3 km.", "5 km", meta={"response": "6"})


def critic(*units: str) -> Scripted:
    return Scripted([json.dumps({"units": units})])


def test_the_merged_critique_finds_more_planted_faults_than_any_critic():
    said = [
        ("the sum is off", "too polite"),
        ("the unit is missing", "the sum is off"),
        ("a step is skipped",),
    ]
    good = [i for i, unit in enumerate((u for units in said for u in units), 1) if unit in FAULTS]
    merged = Scripted([json.dumps({"good": good, "critique": sorted(FAULTS)})])
    run = play(multi_critique.cast(critics=[critic(*u) for u in said], aggregator=merged), ESSAY)
    assert len(run.calls) == 3 + 1 and run.calls[-1].parents == ("1", "2", "3")
    built = critique([run.tape])
    (only,) = built.sft
    found = {line.removeprefix("- ") for line in only.messages[1].text.splitlines()}
    assert found == FAULTS and all(len(FAULTS & set(units)) < len(FAULTS) for units in said)
    assert "5 km" not in only.messages[0].text, "the student sees no reference"
    assert "5 km" in run.tape.path(run.calls[0].prompt)[-1].text
    # F1: 2/6 for one of two units right of four good ones, 4/6 for two of two, 2/5 for one of one
    gaps = {(p.chosen.text[2:7], p.rejected.text[2:7]): round(p.gap, 3) for p in built.dpo}
    assert gaps == {("the u", "the s"): 0.333, ("the u", "a ste"): 0.267}
    assert built.counts["critiques"] == 3 and len(critique([run.tape], gap=0.05).dpo) == 3


def test_critiques_without_an_aggregate_are_rejected():
    failing = Scripted([Line(error="timeout")])
    run = play(multi_critique.cast(critics=[critic("x"), failing], aggregator=failing), ESSAY)
    assert [r.reason for r in critique([run.tape]).rejected] == ["there is no merged critique"]
    assert set(COLLECTORS) <= set(BUILDERS)
