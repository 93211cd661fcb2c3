"""Remote models against a real server that misbehaves."""

import asyncio
import json
import logging
import pickle
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from faulty_server import (
    Answer,
    FaultyServer,
    chunk,
    completion,
    events,
    hang,
    reset,
    say,
    send,
    status,
    streamed,
    unused_url,
)
from hypothesis import given
from hypothesis import strategies as st

from motet import errors
from motet.models.openai_api import client as remote
from motet.models.openai_api import http_model, openai_model
from motet.models.openai_api.reply import share, unique
from motet.models.openai_api.request import is_strict, request
from motet.models.openai_api.wire import decode
from motet.models.protocol import Model
from motet.models.providers import ProviderModel, provider_model
from motet.tape.context import CALL, CallContext
from motet.types import (
    Media,
    Message,
    Sampling,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    Usage,
)

ASK = [Message.say("user", "hello there")]
PLAIN = Sampling()


def draw(model, n=1, sampling=PLAIN, messages=ASK, listener=None):
    async def go():
        if listener:
            CALL.set(CallContext(on_delta=listener))
        return await model.sample(messages, n, sampling)

    return asyncio.run(go())


def drawn_from(script, n=1, sampling=PLAIN, **how):
    with FaultyServer(script) as server:
        return draw(http_model(server.name), n, sampling, **how), server


# ── what goes out and comes back ─────────────────────────────────────────────────────────────────


def test_one_model_object_serves_several_loops():
    with FaultyServer() as server:
        model = http_model(server.name)
        assert isinstance(model, Model)
        assert model.name == model.identity == server.name
        assert [draw(model)[0].text for _ in range(3)] == ["hello there"] * 3
        assert draw(pickle.loads(pickle.dumps(model)))[0].text == "hello there"
    assert server.prompts == {"hello there": 4}


def test_usages_of_several_replies_add_up():
    usage = {
        "prompt_tokens": 10, "completion_tokens": 7, "total_tokens": 17,
        "prompt_tokens_details": {"cached_tokens": 4}, "completion_tokens_details": {"reasoning_tokens": 3},
    }  # fmt: skip
    replies, server = drawn_from([send(completion("a", "bb", "", "c", usage=usage, refusal=None))], 2)
    assert [reply.text for reply in replies] == ["a", "bb"]
    assert sum((reply.usage for reply in replies), Usage()) == Usage(10, 7, 4, 3, 2)
    assert replies[1].usage.input_tokens == 0
    assert replies[0].version == "small-1"
    assert replies[0].cost is None
    assert server.requests[0].body["n"] == 2


def test_hidden_reasoning_is_counted_when_only_the_total_shows_it():
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 40}
    [reply], _ = drawn_from([send(completion("x", usage=usage))])
    assert reply.usage == Usage(10, 30, calls=1)


def test_listed_tokens_are_counted_when_the_server_forgets_a_choice():
    body = completion("a", "b", usage={"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12})
    for choice, size in zip(body["choices"], (2, 3), strict=True):
        choice["logprobs"] = {"content": [{"logprob": -0.5, "id": 3}] * size}
    replies, _ = drawn_from([send(body)], 2)
    assert [reply.usage.output_tokens for reply in replies] == [2, 3]


def test_missing_usage_is_zero_with_a_warning_and_no_price(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    with FaultyServer([send({**completion("x"), "usage": None})]) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        model = openai_model("gpt-5-mini")
        with pytest.warns(UserWarning, match="reports no usage"):
            [reply] = draw(model)
        draw(model)  # a second warning would be an error
    assert reply.usage == Usage(calls=1)
    assert reply.cost is None


def test_cost_follows_from_usage_and_address(monkeypatch):
    class Canned:
        secret = ""

        async def exchange(self, body, listener):
            return decode(json.dumps(completion("x")).encode(), "m")

        async def close(self):
            """Nothing is open."""

    monkeypatch.setattr(remote, "HTTPServer", lambda *args: Canned())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert draw(openai_model("gpt-5-mini"))[0].cost == pytest.approx((10 * 0.25 + 5 * 2) / 1e6)
    assert draw(openai_model("no-such-model"))[0].cost is None


def test_a_server_that_ignores_n_is_asked_for_the_rest():
    with FaultyServer([say("one")]) as server:
        model = http_model(server.name)
        replies = draw(model, 3, Sampling(seed=7))
        draw(model, 1)
        draw(model, 2)
    assert [reply.text for reply in replies] == ["one"] * 3
    assert sum((r.usage for r in replies), Usage()) == Usage(30, 15, calls=3)
    assert sorted(r.body["seed"] for r in server.requests[:3]) == [7, 8, 9]
    assert [r.body.get("n") for r in server.requests] == [3, None, None, None, None, None]


def test_every_knob_goes_out():
    tool = ToolSpec("add", "adds", {"type": "object"})
    knobs = Sampling(0.5, 0.9, 40, 0.1, 99, 3, ("END",), True, {"type": "object"}, (tool,), "add")
    _, server = drawn_from([say("x")], sampling=knobs)
    body = dict(server.requests[0].body)
    assert body.pop("messages") == [{"role": "user", "content": "hello there"}]
    assert body.pop("response_format")["json_schema"] == {
        "name": "reply", "schema": {"type": "object"}, "strict": False,
    }  # fmt: skip
    function = {"name": "add", "description": "adds", "parameters": {"type": "object"}}
    assert body == {
        "model": "small", "temperature": 0.5, "top_p": 0.9, "top_k": 40, "min_p": 0.1, "max_tokens": 99,
        "seed": 3, "stop": ["END"], "logprobs": True, "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": "add"}},
    }  # fmt: skip


def test_openai_itself_is_told_max_completion_tokens(monkeypatch):
    sent = {}
    server = remote.HTTPServer(remote.OFFICIAL, "sk-1", 1.0)

    def create(**fields):
        sent.update(fields["extra_body"])
        raise ConnectionError("no network in tests")

    monkeypatch.setattr(server._client.chat.completions.with_streaming_response, "create", create)
    with pytest.raises(ConnectionError):
        asyncio.run(server.exchange({"model": "m", "messages": [], "max_tokens": 5}, None))
    assert sent == {"max_completion_tokens": 5}


def test_a_conversation_with_tools_and_media():
    talk = [
        Message("user", (Text("look"), Media.of(b"\x89", "image/png"), Media.of(b"1", "audio/mpeg"))),
        Message("user", (Media.of(b"%PDF", "application/pdf", "a.pdf"),)),
        Message("assistant", (ToolCall("c1", "add", '{"a":1}'), ToolCall("c2", "add", "{}"))),
        Message("tool", (ToolResult("c1", "add", "2"), ToolResult("c2", "add", "0"))),
    ]
    turns = request("m", talk, 1, Sampling())["messages"]
    assert [turn["role"] for turn in turns] == ["user", "user", "assistant", "tool", "tool"]
    assert [part["type"] for part in turns[0]["content"]] == ["text", "image_url", "input_audio"]
    assert turns[0]["content"][1]["image_url"]["url"] == "data:image/png;base64,iQ=="
    assert turns[0]["content"][2]["input_audio"] == {"data": "MQ==", "format": "mp3"}
    assert turns[1]["content"][0]["file"]["filename"] == "a.pdf"
    assert turns[2]["content"] is None
    assert [call["id"] for call in turns[2]["tool_calls"]] == ["c1", "c2"]
    assert turns[4] == {"role": "tool", "tool_call_id": "c2", "content": "0"}


def test_media_without_bytes_cannot_be_sent():
    with pytest.raises(errors.BadRequest, match="not at hand"):
        request("m", [Message("user", (Media("image", "image/png", "abc"),))], 1, Sampling())


def test_strict_schemas_are_recognised():
    closed = {"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": False}
    assert is_strict(closed)
    assert not is_strict({**closed, "required": []})
    assert not is_strict({**closed, "properties": {"a": {"type": "object"}}})


def test_duplicate_tool_calls_become_unique():
    call = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    parsed = {"type": "function", "function": {"name": "add", "arguments": {"a": 2}}}
    [reply], _ = drawn_from([send(completion("", tool_calls=[call, call, parsed]))])
    assert [c.id for c in reply.message.tool_calls] == ["call_1", "call_1_2", "call_3"]
    assert json.loads(reply.message.tool_calls[2].arguments) == {"a": 2}
    assert reply.stop is StopReason.TOOL_CALLS


@pytest.mark.parametrize(
    "extra",
    [
        {"logprobs": {"content": [{"logprob": -0.5, "id": 3}, {"logprob": -1.0, "id": 4}]}},
        {"logprobs": {"content": [{"logprob": -0.5}, {"logprob": -1.0}]}, "token_ids": [3, 4]},
    ],
    ids=["llama.cpp", "vllm"],
)
def test_token_ids_where_the_server_says_them(extra):
    body = completion("ab")
    body["choices"][0] |= extra
    body["prompt_token_ids"] = [1, 2]
    [reply], _ = drawn_from([send(body)])
    assert (reply.tokens.prompt_ids, reply.tokens.ids, reply.tokens.logprobs) == (
        (1, 2),
        (3, 4),
        (-0.5, -1.0),
    )


def test_no_ids_no_tokens():
    body = completion("ab")
    body["choices"][0]["logprobs"] = {"content": [{"logprob": -0.5, "token": "ab"}]}
    [reply], _ = drawn_from([send(body)])
    assert reply.tokens is None


# ── streams ──────────────────────────────────────────────────────────────────────────────────────


def test_the_first_of_several_streams_is_told():
    heard = []
    replies, server = drawn_from([streamed("one two three", "uno due")], 2, listener=heard.append)
    assert {reply.text.strip() for reply in replies} == {"one two three", "uno due"}
    assert "".join(heard) == replies[0].text
    assert sum((reply.usage for reply in replies), Usage()) == Usage(10, 10, calls=2)
    assert server.requests[0].body["stream_options"] == {"include_usage": True}


def test_a_server_that_does_not_stream_is_still_heard():
    heard = []
    drawn_from([say("all at once")], listener=heard.append)
    assert heard == ["all at once"]


def test_streamed_tool_calls_and_line_separators():
    def call(index, id, name, arguments):
        return {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}

    script = events(
        chunk(content="a\u2028b"),
        chunk(tool_calls=[call(0, "x", "add", '{"a"')]),
        chunk(tool_calls=[call(0, None, None, ":1}")]),
        chunk(tool_calls=[call(0, "y", "sub", "{}")]),  # another id under the same index: another call
        chunk(finish="tool_calls") | {"usage": completion("x")["usage"]},
        "[DONE]",
    )
    [reply], _ = drawn_from([script], listener=lambda text: None)
    assert reply.text == "a\u2028b"
    assert reply.message.tool_calls == [ToolCall("x", "add", '{"a":1}'), ToolCall("y", "sub", "{}")]


@pytest.mark.parametrize(
    ("script", "error"),
    [
        (events(chunk(content="half")), errors.ConnectionLost),
        (events(chunk(content="half"), end="cut"), errors.ConnectionLost),
        (events(chunk(content="half"), end="reset"), errors.ConnectionLost),
        (events(chunk(content="half"), "{broken"), errors.MalformedReply),
        (events({"error": {"message": "overloaded", "code": 503}}), errors.ServerError),
        (events({"error": {"message": "slow down", "code": 429}}), errors.RateLimited),
        (events("[DONE]"), errors.MalformedReply),
    ],
)
def test_broken_streams(script, error):
    with pytest.raises(error):
        drawn_from([script], listener=lambda text: None)


# ── faults ───────────────────────────────────────────────────────────────────────────────────────

FAULTS = {
    "401": (status(401), errors.AuthFailed),
    "403": (status(403), errors.AuthFailed),
    "404": (status(404, "no such model"), errors.BadRequest),
    "400": (status(400, "temperature too high"), errors.BadRequest),
    "429": (status(429), errors.RateLimited),
    "500": (status(500), errors.ServerError),
    "503": (status(503), errors.ServerError),
    "html 502": (Answer((b"<html>",), 502, "text/html"), errors.ServerError),
    "overflow by code": (status(400, error_code="context_length_exceeded"), errors.ContextOverflow),
    "overflow by words": (
        status(400, "the request exceeds the available context size"),
        errors.ContextOverflow,
    ),
    "filter": (status(400, error_code="content_filter"), errors.Refused),
    "refusal": (send(completion("", refusal="I cannot help")), errors.Refused),
    "reset": (reset(), errors.ConnectionLost),
    "body cut short": (Answer((b'{"choices": [',), end="cut"), errors.ConnectionLost),
    "truncated JSON": (Answer((b'{"choices": [',)), errors.MalformedReply),
    "wrong shape": (send({"choices": "none"}), errors.MalformedReply),
    "wrong content type": (Answer((b"hello",), content_type="text/html"), errors.MalformedReply),
    "no choices": (send({"choices": []}), errors.MalformedReply),
    "nameless tool call": (send(completion("", tool_calls=[{"id": "a"}])), errors.MalformedReply),
    "error of status 200": (send({"error": {"message": "down", "code": 502}}), errors.ServerError),
    "empty": (say(""), errors.EmptyReply),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_have_types(fault):
    answer, expected = FAULTS[fault]
    with pytest.raises(errors.ModelError) as caught:
        drawn_from([answer])
    assert type(caught.value) is expected


def test_a_hanging_server_times_out():
    with FaultyServer([hang()]) as server, pytest.raises(errors.ModelTimeout, match=r"0\.05 s"):
        draw(http_model(server.name, timeout_s=0.05))


def test_a_server_that_is_down():
    with pytest.raises(errors.ConnectionLost):
        draw(http_model(f"{unused_url()}#small"))


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_retry_after(form):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    with pytest.raises(errors.RateLimited) as caught:
        drawn_from([status(429, retry_after="20" if form == "seconds" else date)])
    assert 15 <= caught.value.retry_after_s <= 20


def test_ten_megabytes_arrive_and_a_bound_holds(monkeypatch):
    big = say("x" * 10_000_000)
    [reply], _ = drawn_from([big])
    assert len(reply.text) == 10_000_000
    monkeypatch.setattr(remote, "MAX_REPLY_BYTES", 1000)
    with pytest.raises(errors.MalformedReply, match="longer than 1000 bytes"):
        drawn_from([big])


def test_one_failure_among_singles_is_raised_as_itself():
    with pytest.raises(errors.ServerError):
        drawn_from([say("a"), status(500)], 3)


# ── keys and names ───────────────────────────────────────────────────────────────────────────────


def test_a_missing_key_is_named(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(errors.AuthFailed, match="OPENAI_API_KEY"):
        draw(openai_model("gpt-5-mini"))


def test_a_key_is_sent_and_never_shown(monkeypatch, caplog):
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("MOTET_API_KEY", "sk-secret-1234")
    with FaultyServer([say("ok"), status(401, "bad key sk-secret-1234")]) as server:
        model = http_model(server.name)
        [reply] = draw(model)
        with pytest.raises(errors.AuthFailed) as caught:
            draw(model)
    assert server.requests[0].headers["authorization"] == "Bearer sk-secret-1234"
    shown = f"{model!r} {model.name} {model.identity} {reply!r} {caught.value!r} {caplog.text}"
    assert "sk-secret" not in shown
    assert b"sk-secret" not in pickle.dumps(model)


@pytest.mark.parametrize("address", ["http://h/v1", "ftp://h/v1#m", "http:///v1#m", "http://u:sk-1@h/v1#m"])
def test_bad_addresses(address):
    with pytest.raises(errors.BadInput) as caught:
        http_model(address)
    assert "sk-1" not in str(caught.value)


def test_extra_fields_are_part_of_the_identity():
    model = remote.OpenAICompatible("m", name="n", extra={"reasoning_effort": "low"})
    assert model.identity == 'n+{"reasoning_effort":"low"}'


# ── any-llm ──────────────────────────────────────────────────────────────────────────────────────


def test_a_provider_answers_and_streams(monkeypatch):
    with FaultyServer() as server:
        monkeypatch.setenv("VLLM_API_BASE", server.url)
        model = provider_model("vllm:small")
        assert [reply.text for reply in draw(model, 2, Sampling(max_tokens=5))] == ["hello there"] * 2
        heard = []
        assert draw(model, listener=heard.append)[0].text == "hello there" == "".join(heard)
        assert draw(model)[0].usage == Usage(10, 5, calls=1)
    assert model.name == "vllm:small"
    assert server.requests[0].body["n"] == 2


@pytest.mark.parametrize(
    "fault", ["401", "400", "429", "500", "overflow by code", "filter", "reset", "truncated JSON", "empty"]
)
def test_a_provider_fails_with_the_same_types(fault):
    answer, expected = FAULTS[fault]
    with FaultyServer([answer]) as server, pytest.raises(errors.ModelError) as caught:
        draw(ProviderModel("vllm", "small", api_base=server.url))
    assert type(caught.value) is expected
    assert len(server.requests) == 1


def test_a_provider_that_cannot_stream_is_still_heard():
    heard = []
    with FaultyServer([say("all at once")]) as server:
        draw(ProviderModel("llamafile", "small", api_base=server.url), listener=heard.append)
    assert heard == ["all at once"]
    assert "stream" not in server.requests[0].body


def test_provider_names_and_keys(monkeypatch):
    with pytest.raises(errors.UnknownName, match="anthropic"):
        provider_model("antropic:claude")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(errors.AuthFailed, match="ANTHROPIC_API_KEY"):
        draw(provider_model("anthropic:claude"))


# ── invariants ───────────────────────────────────────────────────────────────────────────────────


@given(st.integers(0, 10_000), st.lists(st.integers(0, 50), min_size=1, max_size=8))
def test_shares_add_up(total, weights):
    shares = share(total, weights)
    assert sum(shares) == total
    assert len(shares) == len(weights)
    assert min(shares) >= 0


@given(st.lists(st.sampled_from(["", "a", "a_2", "b", "call_1"]), max_size=8))
def test_ids_become_unique(ids):
    found = unique(ids)
    assert len(set(found)) == len(found) == len(ids)
    assert all(found)
