"""The embedded model itself, with its real weights."""

import asyncio
import json
import pickle
import subprocess
import sys
from typing import Any

import jsonschema
import pytest

from motet.errors import BadRequest, ContextOverflow, EmptyReply
from motet.models.embedded.model import Local
from motet.models.protocol import Model
from motet.tape.context import CALL, CallContext
from motet.types import Media, Message, Reply, Sampling, StopReason, Text, ToolCall, ToolResult, ToolSpec

ADD = ToolSpec(
    "add",
    "Adds two numbers.",
    {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
)
SEARCH = ToolSpec("search", "Searches.", {"type": "object", "properties": {"for": {"enum": ["x", "y"]}}})
QUESTION = [Message.say("user", "What is 3 plus 4?")]


@pytest.fixture(scope="module")
def local() -> Local:
    return Local(n_ctx=1024, slots=4)


def sample(model: Local, n: int = 1, messages: list[Message] = QUESTION, **knobs: Any) -> list[Reply]:
    return asyncio.run(model.sample(messages, n, Sampling(**{"max_tokens": 6, **knobs})))


def test_replies_carry_ids_and_what_was_spent(local: Local) -> None:
    assert isinstance(local, Model) and local.identity == "local@b179c9523d0e"
    first, second = sample(local, 2)
    assert first.tokens and second.tokens and first.tokens.tokenizer == "smollm2"
    assert first.tokens.ids != second.tokens.ids
    for reply in (first, second):
        assert (
            reply.tokens and len(reply.tokens.ids) == len(reply.tokens.logprobs) == reply.usage.output_tokens
        )
        assert all(logprob <= 0 for logprob in reply.tokens.logprobs)
    assert first.usage.input_tokens == len(first.tokens.prompt_ids) > second.usage.input_tokens == 0
    assert first.stop is StopReason.LENGTH


def test_equal_asks_at_once_are_each_charged_their_prompt(local: Local) -> None:
    async def main() -> list[list[Reply]]:
        return await asyncio.gather(*[local.sample(QUESTION, 1, Sampling(max_tokens=4)) for _ in range(3)])

    replies = [reply for [reply] in asyncio.run(main())]
    assert len({reply.tokens for reply in replies}) == 3
    assert len({reply.usage.input_tokens for reply in replies}) == 1
    assert [reply.usage.cached_tokens for reply in replies[1:]] == [replies[0].usage.input_tokens] * 2


def test_a_seed_repeats_and_the_call_goes_on_counting(local: Local) -> None:
    async def drawn(index: int, n: int) -> list[str]:
        CALL.set(CallContext(seed=5, index=index))
        return [reply.text for reply in await local.sample(QUESTION, n, Sampling(max_tokens=3))]

    both = asyncio.run(drawn(0, 2))
    assert [*asyncio.run(drawn(0, 1)), *asyncio.run(drawn(1, 1))] == both
    assert sample(local, seed=9, max_tokens=3)[0].text == sample(local, seed=9, max_tokens=3)[0].text


def test_a_schema_is_kept(local: Local) -> None:
    schema = {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 9},
            "age": {"type": "integer", "maximum": 120},
        },
        "required": ["name", "age"],
    }
    for reply in sample(local, 4, schema=schema, max_tokens=60):
        assert reply.stop is StopReason.END
        jsonschema.validate(json.loads(reply.text), schema)
    assert sample(local, schema=schema, max_tokens=2)[0].stop is StopReason.LENGTH


def test_a_schema_that_cannot_be_enforced_is_refused(local: Local) -> None:
    with pytest.raises(BadRequest, match="bogus"):
        sample(local, schema={"type": "bogus"}, max_tokens=200, temperature=0, stop=())


@pytest.mark.parametrize(("choice", "allowed"), [("required", {"add", "search"}), ("search", {"search"})])
def test_tool_calls_are_valid(local: Local, choice: str, allowed: set[str]) -> None:
    replies = sample(local, 4, tools=(ADD, SEARCH), tool_choice=choice, max_tokens=100)
    calls = [call for reply in replies for call in reply.message.tool_calls]
    assert {reply.stop for reply in replies} == {StopReason.TOOL_CALLS}
    assert {call.name for call in calls} <= allowed and len({call.id for call in calls}) == 4
    for call in calls:
        tool = {"add": ADD, "search": SEARCH}[call.name]
        jsonschema.validate(json.loads(call.arguments), tool.parameters)


def test_a_free_choice_is_a_call_or_an_answer(local: Local) -> None:
    for reply in sample(local, 2, tools=(SEARCH,), max_tokens=40, temperature=0.3):
        [part] = reply.message.parts
        if isinstance(part, ToolCall):
            assert part.name == "search" and reply.stop is StopReason.TOOL_CALLS
        else:
            assert isinstance(part, Text) and (reply.stop is StopReason.LENGTH or '"answer"' not in part.text)


def test_tools_change_the_prompt_unless_they_are_off(local: Local) -> None:
    def prompt(**knobs: Any) -> int:
        return sample(local, **{"max_tokens": 60, "tool_choice": "search", **knobs})[0].usage.input_tokens

    assert prompt(tools=(SEARCH,)) > prompt(tools=(SEARCH,), tool_choice="none") == prompt(tool_choice="none")
    with pytest.raises(BadRequest, match="expected auto, none, required or a tool"):
        sample(local, tools=(ADD,), tool_choice="sub")


def test_results_of_tools_are_read(local: Local) -> None:
    call = Message("assistant", (ToolCall("1", "add", '{"a": 3, "b": 4}'),))
    results = [Message("tool", (ToolResult("1", "add", text),)) for text in ("7", "8")]
    system = Message.say("system", "Be brief.")
    [reply] = sample(local, messages=[system, *QUESTION, call, *results], tools=(SEARCH,), tool_choice="none")
    assert reply.text


def test_what_a_text_model_cannot_take(local: Local) -> None:
    with pytest.raises(BadRequest, match=r"text only; got image \('image/png'\)"):
        sample(local, messages=[Message("user", (Media.of(b"", "image/png"),))])
    with pytest.raises(ContextOverflow, match=r"\d+ needed, 1024 available"):
        sample(local, messages=[Message.say("user", "word " * 1100)])


def test_a_stop_word_ends_the_reply(local: Local) -> None:
    [reply] = sample(local, temperature=0, max_tokens=30)
    word = reply.text.split()[1]
    [cut] = sample(local, temperature=0, max_tokens=30, stop=(word,))
    assert cut.stop is StopReason.STOP and word not in cut.text
    with pytest.raises(EmptyReply):
        sample(local, temperature=0, max_tokens=30, stop=(reply.text[:1],))


def test_what_is_heard_is_what_is_said(local: Local) -> None:
    """A listener changes nothing: the streamed reply has the same words and ids, its end included."""

    async def heard(**knobs: Any) -> tuple[Reply, str]:
        pieces: list[str] = []
        CALL.set(CallContext(seed=1, on_delta=pieces.append))
        messages = [Message.say("user", "Say OK.")]
        return (await local.sample(messages, 1, Sampling(max_tokens=60, temperature=0, **knobs)))[0], "".join(
            pieces
        )

    streamed, text = asyncio.run(heard())
    [plain] = sample(local, messages=[Message.say("user", "Say OK.")], max_tokens=60, temperature=0)
    assert streamed.text == text == plain.text
    assert streamed.tokens and plain.tokens and streamed.tokens.ids == plain.tokens.ids
    assert streamed.tokens.logprobs == pytest.approx(plain.tokens.logprobs, abs=0.05)
    structured, text = asyncio.run(heard(schema={"enum": ["yes", "no"]}))
    assert structured.text == text


def test_leaving_does_not_wedge_the_engine(local: Local) -> None:
    async def leave() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(local.sample(QUESTION, 4, Sampling(max_tokens=900, stop=())), 0.05)

    asyncio.run(leave())
    assert len(sample(local, 4)) == 4


def test_instances_share_an_engine_and_travel(local: Local) -> None:
    twin = pickle.loads(pickle.dumps(local))
    [reply] = sample(twin)
    assert reply.model == "local" and twin.identity == local.identity


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending", ["", "raise SystemExit(0)", "asyncio.run(asyncio.wait_for(ask(900), 0.2))"]
)
def test_a_process_ends_without_noise(ending: str) -> None:
    script = f"""
import asyncio
from motet.models.embedded.model import Local
from motet.types import Message, Sampling
model = Local(n_ctx=1024, slots=1)
async def ask(size):
    return await model.sample([Message.say("user", "Hi")], 1, Sampling(max_tokens=size, seed=1))
asyncio.run(ask(4))
try:
    {ending or "pass"}
except TimeoutError:
    pass
"""
    command = [sys.executable, "-X", "dev", "-W", "error", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "")
    assert [line for line in done.stderr.splitlines() if not line.startswith("Executing <")] == []


def test_slots_follow_the_load() -> None:
    from motet.models.embedded.pool import _PLACES

    model = Local(n_ctx=512)
    short = Sampling(max_tokens=4, temperature=0)

    def slots() -> int:
        (engine,) = [p.engine for (_, _, n_ctx, *_), p in _PLACES.items() if n_ctx == 512]
        assert engine is not None
        return engine.slots

    async def crowd() -> list[str]:
        replies = await asyncio.gather(
            *(model.sample([Message.say("user", f"Say {i}.")], 1, short) for i in range(6))
        )
        return [r[0].text for r in replies]

    asyncio.run(model.sample([Message.say("user", "Say 0.")], 1, short))
    assert slots() == 4
    assert len(asyncio.run(crowd())) == 6
    assert slots() == 8
