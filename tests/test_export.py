"""Exports, each checked with the format's own library or published schema."""

import json
from contextlib import suppress
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inspect_ai.log import read_eval_log, write_eval_log
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes

import motet
from motet.agent import Agent
from motet.errors import BadInput, ModelError, MotetError, UnknownName
from motet.models.scripted import Line, Scripted
from motet.tape import Scored, Store, Tape
from motet.tape.export import export, import_jsonl
from motet.tape.export.adp import SCHEMA_VERSION
from motet.tape.export.inspect import eval_log
from motet.tape.export.otel import send, spans
from motet.tools import calculator
from motet.types import Media, Sampling, Task

PICTURE = Media.of(b"the bytes of a picture", "image/png", "cat.png")


@motet.team
async def review(task, writer, critic, *, rounds: int = 1):
    draft = await writer.ask(task, PICTURE)
    notes = await critic.ask("What is wrong?", task, draft)
    with suppress(ModelError):
        await critic.ask("And the last word?", notes)
    return await writer.ask("Rewrite it.", task, draft, notes)


def perform(draft: str = "391, I think.") -> Tape:
    """A run with instructions, a tool, a picture, tokens, a failed call and marks."""
    wanted = {"name": "calculator", "arguments": {"expression": "17*23"}}
    said = Line("Answer: 391", ids=(5, 6, 7), logprobs=(-0.1, -0.2, -0.3))
    writer = Agent(
        Scripted([Line("Let me see.", tool_calls=[wanted]), draft, said], name="openai:gpt-x", cost=0.01),
        "Be careful.", tools=[calculator], sampling=Sampling(temperature=0.5, stop=("END",)),
    )  # fmt: skip
    critic = Scripted(["Show the steps.", Line(error="timeout")], name="http://localhost:8000/v1#qwen")
    task = Task("What is 17 * 23?", target="391", kind="number", id="item-1")
    tape = review.cast(writer=writer, critic=critic).run(task, seed=7, store=Store.memory()).tape
    tape.events.append(Scored("numeric", 1.0, tape.events[-1].at, detail="right"))
    tape.events.append(Scored("style", 0.25, tape.events[-1].at, call="3"))
    return tape


# jsonl


@settings(max_examples=20, deadline=None)
@given(st.text(min_size=1).filter(str.strip))
def test_jsonl_gives_the_same_tapes_back(draft: str):
    tapes = [perform(draft), perform()]
    assert import_jsonl(export(tapes, "jsonl").split("\n")) == tapes


def test_jsonl_goes_through_a_file_and_a_store(tmp_path: Path):
    run = motet.methods.self_consistency(n=3).cast("sim:skill=0.5").run(
        Task("2+2?", target="4", kind="number"), store=(store := Store.memory())
    )  # fmt: skip
    export([store.load(run.id)], "jsonl", tmp_path / "deep" / "runs.jsonl")
    (tape,) = import_jsonl(tmp_path / "deep" / "runs.jsonl")
    assert tape == run.tape and motet.Run(tape).record() == run.record()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], "line 1"),
        (['{"run": "r", "surprise": 1}'], "surprise"),
        (['{"run": "r"}'], "expected event, node or tokens"),
        (['{"run": "r", "event": {"type": "ended", "at": 1, "wall_s": 1}}'], "does not begin"),
    ],
)
def test_jsonl_says_what_is_wrong_with_a_line(lines: list[str], said: str):
    with pytest.raises(BadInput, match=said):
        import_jsonl(lines)


def test_jsonl_misses_messages_that_are_cut_off():
    lines = [line for line in export([perform()], "jsonl").split("\n") if '"node":' not in line[:60]]
    with pytest.raises(BadInput, match="not in the file"):
        import_jsonl(lines)


def test_jsonl_cannot_read_what_is_not_there(tmp_path: Path):
    with pytest.raises(BadInput, match="cannot be read"):
        import_jsonl(tmp_path / "nothing.jsonl")


# OpenTelemetry


def test_spans_reach_an_exporter_with_parents_and_links():
    exporter, tape = InMemorySpanExporter(), perform()
    send([tape], exporter)
    made = {span.name + f"/{i}": span for i, span in enumerate(exporter.get_finished_spans())}
    root, *calls, tool = made.values()
    names = [
        "invoke_workflow review",
        *["chat gpt-x"] * 2,
        *["chat qwen"] * 2,
        "chat gpt-x",
        "execute_tool calculator",
    ]
    assert [span.name for span in made.values()] == names
    assert root.parent is None and {s.parent.span_id for s in (*calls, tool)} == {root.context.span_id}
    used = {link.context.span_id for link in calls[4].links}
    assert used == {calls[1].context.span_id, calls[2].context.span_id}
    assert [link.context.span_id for link in tool.links] == [calls[0].context.span_id]
    assert all(span.start_time <= span.end_time for span in made.values())


def test_spans_keep_to_the_conventions():
    root, first, _, marked, failed, *_ = made = spans(perform())
    known = {v for v in vars(gen_ai_attributes).values() if isinstance(v, str)} | {"error.type"}
    names = {name for span in made for name in span.attributes if not name.startswith("motet.")}
    assert names <= known
    facts = first.attributes
    assert facts["gen_ai.provider.name"] == "openai" and facts["gen_ai.request.temperature"] == 0.5
    assert (
        facts["gen_ai.response.finish_reasons"] == ("tool_calls",) and facts["gen_ai.usage.input_tokens"] > 0
    )
    assert json.loads(facts["gen_ai.system_instructions"])[0]["content"] == "Be careful."
    (asked,) = json.loads(facts["gen_ai.input.messages"])
    assert asked["parts"][1] == {
        "type": "file", "modality": "image", "mime_type": "image/png", "file_id": PICTURE.digest
    }  # fmt: skip
    assert failed.attributes["error.type"] == "timeout" and failed.status.status_code.name == "ERROR"
    assert root.events[0].attributes["gen_ai.evaluation.score.value"] == 1.0
    assert marked.events[0].attributes["gen_ai.evaluation.name"] == "style"


def test_otlp_json_is_as_collectors_read_it():
    tape = perform()
    (resource,) = json.loads(export([tape], "otel"))["resourceSpans"]
    root, first, *_ = resource["scopeSpans"][0]["spans"]
    assert len(root["traceId"]) == 32 and len(root["spanId"]) == 16 and "parentSpanId" not in root
    assert first["parentSpanId"] == root["spanId"] and first["kind"] == 3
    assert isinstance(first["startTimeUnixNano"], str) and int(first["startTimeUnixNano"]) > 10**18
    facts = {a["key"]: a["value"] for a in first["attributes"]}
    assert facts["gen_ai.request.model"] == {"stringValue": "gpt-x"}
    assert facts["motet.cached"] == {"boolValue": False} and "intValue" in facts["gen_ai.usage.output_tokens"]
    assert facts["gen_ai.request.stop_sequences"] == {"arrayValue": {"values": [{"stringValue": "END"}]}}
    assert export([tape], "otel") == export([tape], "otel") and export([], "otel") == '{"resourceSpans":[]}\n'


# Agent Data Protocol: schema 1.5.0 of its repository, as JSON schema; its models forbid other fields.


def step(tag: str, required: dict, **optional: dict) -> dict:
    properties = {"class_": {"const": tag}, **required, **optional}
    return {"properties": properties, "required": ["class_", *required], "additionalProperties": False}


WORDS: dict = {"type": "string"}
ADP = {
    "properties": {
        "schema_version": {"const": "1.5.0"},
        "id": WORDS,
        "content": {
            "type": "array",
            "minItems": 1,
            "items": {
                "oneOf": [
                    step("message_action", {"content": WORDS}, description=WORDS, reasoning_content=WORDS),
                    step(
                        "api_action",
                        {"function": WORDS, "kwargs": {"type": "object"}},
                        description=WORDS,
                        tool_call_id=WORDS,
                    ),
                    step(
                        "text_observation",
                        {"content": WORDS, "source": {"enum": ["user", "agent", "environment"]}},
                        name=WORDS,
                        tool_call_id=WORDS,
                    ),
                ]
            },
        },
        "details": {"type": "object"},
    },
    "required": ["id", "content"],
    "additionalProperties": False,
}


def test_adp_trajectories_are_the_conversations_of_each_voice():
    made = [json.loads(line) for line in export([perform()], "adp").splitlines()]
    for trajectory in made:
        jsonschema.validate(trajectory, ADP)
    assert SCHEMA_VERSION == "1.5.0"
    assert [t["details"]["voice"] for t in made] == ["writer", "critic", "writer"]
    kinds = [(step["class_"], step.get("source", "")) for step in made[0]["content"]]
    assert kinds == [
        ("text_observation", "environment"), ("text_observation", "user"), ("text_observation", "user"),
        ("api_action", ""), ("text_observation", "environment"), ("message_action", ""),
    ]  # fmt: skip
    action, result = made[0]["content"][3:5]
    assert action["kwargs"] == {"expression": "17*23"} and action["description"] == "Let me see."
    assert action["tool_call_id"] == result["tool_call_id"] and result["content"] == "391"
    assert [t["details"]["used_by_answer"] for t in made] == [False, False, True]
    assert made[-1]["details"]["score"] == 1.0 and PICTURE.digest in made[0]["content"][2]["content"]


def test_adp_tool_calls_are_linked_one_to_one_also_when_a_model_repeats_its_ids():
    wanted = [{"id": "same", "name": "calculator", "arguments": {"expression": "1+1"}}]
    lines = [Line(tool_calls=wanted), Line(tool_calls=[*wanted, {"name": "nosuch"}]), "2"]
    agent = Agent(Scripted(lines), tools=[calculator])
    tape = motet.methods.direct.cast(agent).run("1+1?", store=Store.memory()).tape
    (trajectory,) = (json.loads(line) for line in export([tape], "adp").splitlines())
    jsonschema.validate(trajectory, ADP)
    ids = {"api_action": [], "text_observation": [], "message_action": []}
    for made in trajectory["content"]:
        ids[made["class_"]].append(made.get("tool_call_id"))
    assert len(set(ids["api_action"])) == 3 and ids["text_observation"][-3:] == ids["api_action"]


# Inspect


@pytest.mark.parametrize("name", ["log.json", "log.eval"])
def test_inspect_reads_its_log(tmp_path: Path, name: str):
    tape, path = perform(), tmp_path / name
    if name.endswith(".json"):
        export([tape], "inspect", path)
    else:
        write_eval_log(eval_log([tape]), path)
    log = read_eval_log(str(path))
    (sample,) = log.samples
    assert (log.status, log.eval.task, log.results.completed_samples) == ("success", "review", 1)
    assert sample.output.completion == "Answer: 391" and sample.target == "391"
    assert sample.scores["numeric"].value == 1.0 and log.results.scores[0].metrics["mean"].value == 1.0
    kinds = [event.event for event in sample.events]
    assert kinds.count("model") == 5 and kinds.count("tool") == 1 and kinds.count("score") == 2
    models = [event for event in sample.events if event.event == "model"]
    assert models[0].role == "writer" and models[0].output.message.tool_calls[0].function == "calculator"
    assert models[3].error.startswith("timeout") and models[4].metadata["parents"] == ["2", "3"]
    usage = tape.usage_by_voice()["writer"]
    assert sample.role_usage["writer"].total_tokens == usage.tokens
    assert sample.model_usage["openai:gpt-x"].total_cost == pytest.approx(0.03)


def test_inspect_keeps_a_failed_run_as_an_error(tmp_path: Path):
    failed = motet.methods.direct.cast(Scripted([Line(error="server")])).run("hm?", store=Store.memory())
    export([perform(), failed.tape], "inspect", tmp_path / "log.json")
    log = read_eval_log(str(tmp_path / "log.json"))
    assert [sample.error is None for sample in log.samples] == [True, False]
    assert (log.results.total_samples, log.results.completed_samples) == (2, 1)
    with pytest.raises(BadInput, match="at least one"):
        export([], "inspect")


# all of them


KEEPERS = ("adp", "inspect", "jsonl", "otel")
"""The formats of records; those of trainers have tests of their own (test_handoff.py)."""


@pytest.mark.parametrize("form", (*KEEPERS, "trl-kto", "trl-sft"))
def test_no_format_carries_the_bytes_of_media(form: str):
    text = export([perform()], form)
    assert PICTURE.digest in text and "the bytes of a picture" not in text and "dGhlIGJ5" not in text


@pytest.mark.parametrize("form", KEEPERS)
def test_an_unfinished_run_can_be_exported(form: str):
    tape = perform()
    cut = Tape(tape.run, tape.events[:2], tape.nodes, tape.tokens)
    assert tape.run in export([cut], form) or form == "otel"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(MotetError, match="cannot write"):
        export([perform()], "jsonl", tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    with pytest.raises(UnknownName, match="otel"):
        export([], "otle")
