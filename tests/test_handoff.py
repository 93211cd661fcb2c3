"""Hand-off: rows for TRL, verl, OpenRLHF and verifiers, from runs with marks and from tuning data."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from method_runs import SUM, play, says

import motet
from motet.agent import Agent
from motet.errors import BadInput, UnknownName
from motet.models.scripted import Line, Scripted
from motet.tape import Scored, Tape
from motet.tape.export import EXPORTERS, export
from motet.tools import calculator
from motet.train.builders import Built, Example, Label, Pair, Span
from motet.train.handoff import HANDOFFS, handoff
from motet.types import Message, ToolCall

CHAT = {"role", "content", "tool_calls", "name", "tool_call_id"}
FROM_RUNS = ("openrlhf", "trl-dpo", "trl-kto", "trl-sft", "verifiers", "verl")


@motet.team
async def pair_up(task, thinker, writer):
    return await writer.ask(task, await thinker.ask(task))


def run(thought: str, answer: str, mark: float) -> Tape:
    tape = play(pair_up.cast(thinker=Scripted([thought]), writer=Scripted([answer]))).tape
    tape.events.append(Scored("numeric", mark, 0.0))
    return tape


def rows(tapes: list[Tape], to: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in export(tapes, to).splitlines()]


def conversational(*columns: list[dict[str, Any]]) -> bool:
    """Whether these columns hold messages as chat templates take them."""
    return all(
        isinstance(messages, list)
        and messages
        and all(
            {"role", "content"} <= set(m) <= CHAT
            and m["role"] in ("system", "user", "assistant", "tool")
            and isinstance(m["content"], str)
            for m in messages
        )
        for messages in columns
    )


GOOD, BAD = run("25 it is", "Answer: 42", 1.0), run("no idea", "Answer: 41", 0.0)


# From runs


def test_trl_rows_hold_the_documented_columns():
    sft, kto, dpo = (rows([GOOD, BAD], f"trl-{kind}") for kind in ("sft", "kto", "dpo"))
    assert [r["completion"][0]["content"] for r in sft] == ["25 it is", "Answer: 42"]
    assert [r["label"] for r in kto] == [True, True, False, False]
    (only,) = dpo  # the writers were asked different things
    assert only["chosen"][0]["content"] == "25 it is" and only["rejected"][0]["content"] == "no idea"
    for row in (*sft, *kto):
        assert (
            conversational(row["prompt"], row["completion"]) and row["completion"][0]["role"] == "assistant"
        )
    assert conversational(only["prompt"], only["chosen"], only["rejected"])
    assert only["prompt"][-1] == {"role": "user", "content": SUM.prompt}


def test_a_mark_of_a_call_goes_before_that_of_its_run():
    tape = run("25 it is", "Answer: 42", 1.0)
    tape.events.append(Scored("style", 0.2, 0.0, call="1"))
    assert [r["voice"] for r in rows([tape], "trl-sft")] == ["writer"]


def test_a_reply_that_lost_the_vote_does_not_get_the_mark_of_the_run():
    tape = play(motet.methods.self_consistency(n=3).cast(Scripted(["42", "41", "42"]))).tape
    tape.events.append(Scored("numeric", 1.0, 0.0))
    said = [r["completion"][0]["content"] for r in rows([tape], "trl-sft")]
    assert len(said) == 2 and all("42" in text for text in said)
    assert len(rows([tape], "trl-kto")) == 2 and not rows([tape], "trl-dpo")


def test_rows_for_rl_have_the_gold_answer_and_only_prompts_that_answers_came_from():
    (verl,) = rows([GOOD, run("25 it is", "Answer: 40", 0.0)], "verl")
    assert set(verl) == {"data_source", "prompt", "ability", "reward_model", "extra_info"}
    assert verl["reward_model"] == {"style": "rule", "ground_truth": "42"} and conversational(verl["prompt"])
    assert verl["extra_info"]["voice"] == "writer" and verl["ability"] == "number"
    both = rows([GOOD, BAD, run("25 it is", "Answer: 40", 0.0)], "verifiers")
    assert [(r["example_id"], r["reward"], r["answer"]) for r in both] == [
        (0, 1.0, "42"), (1, 0.0, "42"), (0, 0.0, "42"),
    ]  # fmt: skip
    assert json.loads(both[0]["info"])["voice"] == "writer" and conversational(both[0]["completion"])
    (openrlhf,) = rows([GOOD, BAD], "openrlhf")
    assert conversational(openrlhf["input"], openrlhf["output"]) and openrlhf["label"] == "42"


def test_tools_are_as_chat_templates_want_them():
    wanted = {"name": "calculator", "arguments": {"expression": "17+25"}}
    agent = Agent(Scripted([Line("", tool_calls=[wanted]), "Answer: 42"]), tools=[calculator])
    tape = play(pair_up.cast(thinker=agent, writer=says(42))).tape
    tape.events.append(Scored("numeric", 1.0, 0.0))
    call, answer, _ = rows([tape], "trl-sft")
    (function,) = call["completion"][0]["tool_calls"]
    assert function["type"] == "function" and function["function"]["arguments"] == {"expression": "17+25"}
    assert answer["prompt"][-1] == {
        "role": "tool", "content": "42", "name": "calculator", "tool_call_id": function["id"]
    }  # fmt: skip


@pytest.mark.parametrize("to", FROM_RUNS)
def test_runs_without_marks_are_refused(to: str):
    with pytest.raises(BadInput, match="has a mark"):
        export([play(pair_up.cast(thinker=says(1), writer=says(42))).tape], to)
    assert to in EXPORTERS


def test_export_command_writes_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from motet.cli.export import command

    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    store = motet.Store(tmp_path / "tape.db")
    done = pair_up.cast(thinker=says(1), writer=says(42)).run(SUM, store=store)
    store.put_event(done.id, len(done.tape.events), Scored("numeric", 1.0, 0.0))
    store.close()
    alone = CliRunner().invoke(command, [done.id, "--to", "trl-dpo"])
    assert (alone.exit_code, alone.stdout) == (0, "") and "nothing of these runs" in alone.stderr
    out = tmp_path / "rows.jsonl"
    result = CliRunner().invoke(command, [done.id, "--to", "trl-sft", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert len(out.read_text().splitlines()) == 2


# From tuning data

USER, WRONG, AGAIN, RIGHT = (
    Message.say("user", "2+2?"),
    Message.say("assistant", "5"),
    Message.say("user", "No."),
    Message.say("assistant", "Thought: hm. Action: 4"),
)
MENDED = Example(
    (USER, WRONG, AGAIN, RIGHT), (False, False, False, True), 2.0, "learner", ("r1",), (Span(3, 0, 12, 0.5),)
)
BUILT = Built(
    (MENDED, Example((USER, RIGHT, AGAIN, WRONG), (False, True, False, True))),
    (Pair((USER,), RIGHT, WRONG, "v"),),
    (Label((USER,), WRONG, False),),
)


def handed(to: str, built: Built = BUILT) -> list[dict[str, Any]]:
    return [json.loads(line) for line in handoff(built, to).splitlines()]


def test_a_trained_message_is_a_row_and_a_masked_one_is_context():
    first, second, third = handed("trl-sft")
    assert [m["content"] for m in first["prompt"]] == ["2+2?", "5", "No."]
    assert first["completion"] == [{"role": "assistant", "content": RIGHT.text}]
    assert first["weight"] == 2.0 and first["spans"][0]["stop"] == 12
    assert [len(r["prompt"]) for r in (second, third)] == [1, 3]
    assert [(r["input"], r["output"]) for r in handed("openrlhf")] == [
        (r["prompt"], r["completion"]) for r in (first, second, third)
    ]


def test_pairs_and_labels():
    for to in ("trl-dpo", "openrlhf-dpo"):
        (pair,) = handed(to)
        assert conversational(pair["prompt"], pair["chosen"], pair["rejected"])
        assert pair["chosen"][0]["content"] == RIGHT.text
    assert [r["label"] for r in handed("trl-kto")] == [False, True, False]
    kto = handed("openrlhf-kto")
    assert [r["label"] for r in kto] == [0, 1, 0] and [m["role"] for m in kto[0]["output"]] == [
        "user", "assistant",
    ]  # fmt: skip


def test_verl_refuses_what_it_would_train_on_by_mistake():
    with pytest.raises(BadInput, match=r"'5' of run r1 is masked; hand it to trl-sft"):
        handoff(BUILT, "verl")
    (row,) = handed("verl", Built(BUILT.sft[1:]))
    assert conversational(row["messages"]) and len(row["messages"]) == 4


def test_handoff_writes_whole_files_and_refuses_nothing_to_hand(tmp_path: Path):
    text = handoff(BUILT, "trl-dpo", tmp_path / "deep" / "pairs.jsonl")
    assert (tmp_path / "deep" / "pairs.jsonl").read_text() == text
    with pytest.raises(UnknownName, match="did you mean"):
        handoff(BUILT, "trl_sft")
    for to in HANDOFFS:
        with pytest.raises(BadInput, match="they hold 3 rejected"):
            handoff(Built(counts={"rejected": 3}), to)


def test_an_example_has_a_mask_entry_for_each_message():
    with pytest.raises(BadInput, match="2 messages with 1 mask entries"):
        Example((USER, RIGHT), (True,))
    call = Message("assistant", (ToolCall("1", "calculator", "{}"),))
    assert handed("trl-sft", Built((Example((USER, call), (False, True)),)))[0]["completion"][0]["tool_calls"]
