"""The A2A protocol both ways: our agents before the SDK's client, the SDK's agents before our voice."""

import asyncio
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from a2a.client import A2AClientError, ClientConfig, create_client
from a2a.helpers import get_stream_response_text, new_task_from_user_message, new_text_message, new_text_part
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events import EventQueue
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes, create_rest_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import (
    AgentCapabilities,
    AgentCard,
    AgentInterface,
    AgentSkill,
    CancelTaskRequest,
    Role,
    SendMessageRequest,
    TaskState,
)
from method_runs import play
from starlette.applications import Starlette

import motet
from motet import Agent, Budget, Store
from motet.errors import BadInput, MissingExtra
from motet.methods import direct, self_consistency
from motet.models.a2a import A2A, USAGE
from motet.models.names import model
from motet.models.scripted import Line, Scripted
from motet.remote.a2a import CARD, PUBLIC, a2a_app
from motet.remote.door import serving
from motet.remote.performer import Performer
from motet.types import FailureKind, Usage


@motet.team
async def pair(task: Any, writer: Any, critic: Any) -> Any:
    """Writes an answer with a critic."""
    draft = await writer.ask(task)
    notes = await critic.ask("Notes?", draft)
    return await writer.ask("Again.", draft, notes)


def ours(singer: Any, token: str = "", **options: Any) -> Any:
    performer = Performer(singer, **{"store": Store.memory(), **options})
    return serving(a2a_app(performer, token=bool(token)), token=token, public=PUBLIC)


async def events(
    address: str, text: str, *, streaming: bool, headers: dict[str, str] | None = None
) -> list[Any]:
    """What the SDK's own client hears."""
    async with httpx.AsyncClient(headers=headers, trust_env=False) as http:
        client = await create_client(address, ClientConfig(streaming=streaming, httpx_client=http))
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        return [event async for event in client.send_message(request)]


def test_the_sdks_client_asks_our_team_and_gets_its_answer_as_a_task() -> None:
    cast = pair.cast(writer=Scripted(["Draft.", "Better."]), critic=lambda _: "Short.")
    store = Store.memory()
    with ours(cast, store=store) as address:
        (event,) = asyncio.run(events(address, "Write.", streaming=False))
    assert event.task.status.state == TaskState.TASK_STATE_COMPLETED
    assert get_stream_response_text(event) == "Better."


def test_a_streaming_client_is_told_who_answers_and_then_the_answer() -> None:
    cast = pair.cast(writer=Scripted(["Draft.", "Better."]), critic=lambda _: "Short.")
    with ours(cast) as address:
        heard = asyncio.run(events(address, "Write.", streaming=True))
    texts = [text for event in heard if (text := get_stream_response_text(event))]
    voices = ["singer/writer", "singer/critic", "singer/writer"]
    assert texts == [*(f"{voice} has answered" for voice in voices), "Better."]
    assert heard[-1].status_update.status.state == TaskState.TASK_STATE_COMPLETED


def test_the_card_says_who_it_is_where_and_what_it_demands() -> None:
    with ours(Agent(str.upper, instructions="Shouts.", name="crier"), token="open sesame") as address:
        card = httpx.get(address + CARD, trust_env=False).json()
        refused = httpx.post(address, json={}, trust_env=False)
    assert (card["name"], card["description"]) == ("crier", "Shouts.")
    assert [i["protocolVersion"] for i in card["supportedInterfaces"]] == ["1.0", "0.3"]
    assert card["url"].rstrip("/") == card["supportedInterfaces"][0]["url"].rstrip("/") == address
    assert card["capabilities"]["streaming"] and "token" in card["securitySchemes"]
    assert refused.status_code == 401


def test_a_token_opens_the_door_to_those_who_have_it() -> None:
    with ours(str.upper, token="open sesame") as address:
        (event,) = asyncio.run(
            events(address, "hey", streaming=False, headers={"authorization": "Bearer open sesame"})
        )
        assert get_stream_response_text(event) == "HEY"
        with pytest.raises(A2AClientError, match="401"):
            asyncio.run(events(address, "hey", streaming=False))


@pytest.mark.parametrize(
    ("singer", "options", "words"),
    [
        (Scripted([Line(error="timeout", match="")]), {}, "timeout"),
        (pair.cast("sim:skill=1"), {}, "bad_request"),
        (pair.cast(str.upper), {"budget": Budget(calls=1)}, "budget"),
    ],
)
def test_a_run_that_fails_is_a_failed_task_with_its_reason(singer: Any, options: Any, words: str) -> None:
    with ours(singer, **options) as address:
        (event,) = asyncio.run(events(address, "Write.", streaming=False))
    assert event.task.status.state == TaskState.TASK_STATE_FAILED
    assert words in event.task.status.message.parts[0].text


def test_our_voice_and_our_server_understand_each_other_whole_and_streamed() -> None:
    with ours(pair.cast(str.upper)) as address:
        solo = direct.cast(f"a2a:{address}")
        run = play(solo, motet.Task("hey"))
        assert "HEY" in run.answer
        assert [(call.voice, call.model) for call in run.calls] == [("solver", f"a2a:{address}")]
        heard: list[Any] = []
        assert play(solo, motet.Task("hey"), on_event=heard.append).answer == run.answer
        assert [event.text for event in heard if isinstance(event, motet.tape.Delta)] == [run.answer]


def test_clients_of_the_protocol_before_1_0_are_answered_too() -> None:
    parts = [{"kind": "text", "text": "hey"}]
    message = {"kind": "message", "role": "user", "parts": parts, "messageId": "1"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": message}}
    with ours(str.upper) as address:
        answer = httpx.post(address, json=body, trust_env=False).json()
        nonsense = httpx.post(
            address, json={"jsonrpc": "2.0", "id": 1, "method": "x"}, trust_env=False
        ).json()
    assert answer["result"]["status"]["state"] == "completed"
    assert answer["result"]["artifacts"][0]["parts"][0]["text"] == "HEY"
    assert nonsense["error"]["code"] == -32601


def test_a_task_that_is_cancelled_stops_its_run() -> None:
    store = Store.memory()

    async def never(_: str) -> str:
        await asyncio.sleep(30)
        return "late"

    async def cancelled(address: str) -> Any:
        async with httpx.AsyncClient(trust_env=False) as http:
            client = await create_client(address, ClientConfig(streaming=True, httpx_client=http))
            request = SendMessageRequest(message=new_text_message("Write.", role=Role.ROLE_USER))
            async for event in client.send_message(request):
                if event.HasField("task"):
                    await client.cancel_task(CancelTaskRequest(id=event.task.id))
            return event.status_update.status.state

    with ours(never, store=store) as address:
        assert asyncio.run(cancelled(address)) == TaskState.TASK_STATE_CANCELED
    (found,) = store.runs()
    tape = store.load(found.run)
    assert tape.ended and tape.ended.failure and tape.ended.failure.kind is FailureKind.CANCELLED


def send(address: str, *parts: Any) -> httpx.Response:
    """A message put together by hand, as other people's clients do."""
    message = {"messageId": "1", "role": "ROLE_USER", "parts": parts}
    body = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}}
    return httpx.post(address, json=body, headers={"A2A-Version": "1.0"}, trust_env=False)


def test_what_is_no_text_is_turned_down_and_nobody_is_asked(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []
    data = {"data": {"x": 1}}
    with ours(lambda prompt: asked.append(prompt)) as address:
        for parts in ([data], [{"text": ""}], [{"text": " \n"}], [{"text": "Look:"}, data]):
            status = send(address, *parts).json()["result"]["task"]["status"]
            assert status["state"] == "TASK_STATE_REJECTED"
            assert "expected a message of text" in status["message"]["parts"][0]["text"]
    assert asked == []
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_what_a_bug_says_stays_with_whoever_serves(caplog: pytest.LogCaptureFixture) -> None:
    def buggy(_: str) -> str:
        raise KeyError("/home/me/secret")

    store = Store.memory()
    with ours(buggy, store=store) as address:
        answer = send(address, {"text": "hey"})
    assert answer.json()["result"]["task"]["status"]["state"] == "TASK_STATE_FAILED"
    assert "secret" not in answer.text and "KeyError" not in answer.text and "broke down" in answer.text
    assert [record.name for record in caplog.records] == ["motet.remote.a2a"] and "secret" in caplog.text
    (found,) = store.runs()
    assert found.ended and found.ended.failure and found.ended.failure.kind is FailureKind.BUG


@pytest.mark.parametrize("cut", ["timeout", "budget", "cancellation"])
def test_a_run_that_nobody_waits_for_ends_there_too(cut: str) -> None:
    store, stopped = Store.memory(), list[str]()

    async def never(prompt: str) -> str:
        if "warm up" in prompt:
            return "Answer: warm"
        try:
            await asyncio.sleep(30)
            return "late"
        finally:
            stopped.append(prompt)

    async def run(address: str) -> None:
        await direct.cast(f"a2a:{address}").arun("warm up", store=Store.memory())
        team = direct.cast(A2A(address, timeout_s=0.5 if cut == "timeout" else 60))
        limit = Budget(seconds=0.5) if cut == "budget" else None
        asked = asyncio.create_task(team.arun(motet.Task("x"), budget=limit, store=Store.memory()))
        if cut == "cancellation":
            await asyncio.sleep(0.5)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
        else:
            error = (await asked).error
            assert error and error.kind == cut

    with ours(self_consistency(n=2).cast(never), store=store) as address:
        asyncio.run(run(address))
        for _ in range(20):  # it ends at once, and not only when its server does
            if not stopped:
                time.sleep(0.05)
        assert len(stopped) == 1
    tape = store.load(store.runs()[0].run)
    assert tape.ended and tape.ended.failure and tape.ended.failure.kind is FailureKind.CANCELLED
    assert [call.failure.kind for call in tape.calls if call.failure] == [FailureKind.CANCELLED] * 2


def test_what_a_team_spends_elsewhere_is_on_the_tape_of_whoever_asked() -> None:
    store, spent = Store.memory(), Usage(10, 2, cached_tokens=4)
    reply = Line("Answer: 7", match="", usage=spent)
    with ours(self_consistency(n=5).cast(Scripted([reply])), store=store) as address:
        team = direct.cast(f"a2a:{address}")
        whole, streamed = play(team), play(team, on_event=lambda _: None)
        short = play(team, budget=Budget(tokens=50))
    assert whole.usage == streamed.usage == short.usage == Usage(50, 10, cached_tokens=20, calls=1)
    with ours(pair.cast(Scripted([reply])), budget=Budget(calls=2)) as address:
        failed = play(direct.cast(f"a2a:{address}"))
    assert failed.error and failed.usage == Usage(20, 4, cached_tokens=8, calls=1)


# The SDK's own server, with agents written as its samples are.


async def hello(context: RequestContext, queue: EventQueue) -> None:
    await queue.enqueue_event(new_text_message(f"Hello, {context.get_user_input()}!"))


def ending(state: str, *pieces: str) -> Any:
    async def run(context: RequestContext, queue: EventQueue) -> None:
        assert context.message
        task = new_task_from_user_message(context.message)
        await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        await updater.start_work()
        for i, piece in enumerate(pieces):
            await updater.add_artifact([new_text_part(piece)], artifact_id="one", append=i > 0)
        words = updater.new_agent_message([new_text_part("How many legs?")])
        await updater.update_status(TaskState.Value(f"TASK_STATE_{state}"), None if pieces else words)

    return run


class Sample(AgentExecutor):
    def __init__(self, behave: Any) -> None:
        self.behave, self.cancelled = behave, 0

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        await self.behave(context, event_queue)

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        self.cancelled += 1
        await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()


@contextmanager
def sample_server(
    behave: Any, token: str = "", version: str = "1.0", binding: str = "JSONRPC", streaming: bool = True
) -> Iterator[str]:
    """A server made of the SDK's parts alone."""
    executor = behave if isinstance(behave, Sample) else Sample(behave)
    skill = AgentSkill(id="hello", name="hello", description="says hello", tags=["hello"])
    interface = AgentInterface(protocol_binding=binding, protocol_version=version)
    card = AgentCard(
        name="sample",
        description="a sample",
        version="1",
        supported_interfaces=[interface],
        capabilities=AgentCapabilities(streaming=streaming),
        default_input_modes=["text/plain"],
        default_output_modes=["text/plain"],
        skills=[skill],
    )
    handler = DefaultRequestHandler(executor, InMemoryTaskStore(), card)
    spoken = (
        create_rest_routes(handler)
        if binding == "HTTP+JSON"
        else create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)
    )
    app = Starlette(routes=[*create_agent_card_routes(card), *spoken])
    with serving(app, token=token) as address:
        card.supported_interfaces[0].url = address + "/"
        yield address


def ask(address: str, **options: Any) -> motet.Run:
    return play(direct.cast(f"a2a:{address}"), motet.Task("world"), **options)


def test_the_sdks_agent_is_a_voice_with_a_message_or_a_task() -> None:
    for version in ("1.0", "0.3"):
        with sample_server(hello, version=version) as address:
            assert ask(address).answer.startswith("Hello, world")
    with sample_server(ending("COMPLETED", "A spider", " has eight.")) as address:
        heard: list[Any] = []
        assert ask(address, on_event=heard.append).answer == "A spider has eight."
        assert [e.text for e in heard if isinstance(e, motet.tape.Delta)] == ["A spider", " has eight."]
        assert "A spider" in ask(address).answer
    with sample_server(ending("INPUT_REQUIRED")) as address:
        assert ask(address).answer == "How many legs?"


def working(pause_s: float, **said: Any) -> Any:
    """Says that it works, and answers after a while."""

    async def run(context: RequestContext, queue: EventQueue) -> None:
        assert context.message
        task = new_task_from_user_message(context.message)
        await queue.enqueue_event(task)
        updater = TaskUpdater(queue, task.id, task.context_id)
        await updater.start_work()
        await asyncio.sleep(pause_s)
        await updater.add_artifact([new_text_part("at"), new_text_part("last")], **said)
        await updater.complete()

    return run


@pytest.mark.parametrize(
    ("binding", "version"), [("JSONRPC", "1.0"), ("JSONRPC", "0.3"), ("HTTP+JSON", "1.0")]
)
def test_an_agent_that_does_not_stream_is_asked_after_until_it_is_done(binding: str, version: str) -> None:
    with sample_server(working(0.2), version=version, binding=binding, streaming=False) as address:
        heard: list[Any] = []
        run = ask(address, on_event=heard.append)
    assert (run.answer, run.usage) == ("at\nlast", Usage(calls=1))
    assert [event.text for event in heard if isinstance(event, motet.tape.Delta)] == ["at\nlast"]


@pytest.mark.parametrize("streaming", [True, False])
@pytest.mark.parametrize("binding", ["JSONRPC", "HTTP+JSON"])
def test_a_late_agent_is_told_to_stop(binding: str, streaming: bool) -> None:
    with sample_server(hello, binding=binding, streaming=streaming) as address:
        assert ask(address).ok  # so that everything is loaded
    sample = Sample(working(30))
    with sample_server(sample, binding=binding, streaming=streaming) as address:
        late = play(direct.cast(A2A(address, timeout_s=0.5)))
    assert late.error and late.error.kind is FailureKind.TIMEOUT
    assert sample.cancelled == 1


@pytest.mark.parametrize("usage", [{"input_tokens": "many"}, {"output_tokens": -5}, 7])
def test_a_usage_that_is_none_is_malformed(usage: Any) -> None:
    with sample_server(working(0, metadata={USAGE: usage})) as address:
        run = ask(address)
    assert run.error and run.error.kind is FailureKind.MALFORMED and USAGE in run.error.message


@pytest.mark.parametrize(
    ("behave", "kind"),
    [
        (ending("FAILED"), FailureKind.SERVER),
        (ending("REJECTED"), FailureKind.REFUSED),
        (ending("AUTH_REQUIRED"), FailureKind.AUTH),
        (ending("COMPLETED", " "), FailureKind.EMPTY),
    ],
)
def test_how_a_task_ends_is_a_typed_failure(behave: Any, kind: FailureKind) -> None:
    with sample_server(behave) as address:
        run = ask(address)
    assert run.error and run.error.kind is kind
    assert run.calls[0].failure == run.error


def test_what_goes_wrong_on_the_way_is_a_typed_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    with sample_server(hello, token="secret") as address:
        assert ask(address).error.kind is FailureKind.AUTH  # type: ignore[union-attr]
        assert "MOTET_AGENT_TOKEN" in str(ask(address).error)
        monkeypatch.setenv("MOTET_AGENT_TOKEN", "secret")
        assert ask(address).answer.startswith("Hello, world")
    gone = ask(address)
    assert gone.error and gone.error.kind is FailureKind.CONNECTION

    async def slow(context: RequestContext, queue: EventQueue) -> None:
        await asyncio.sleep(0.4)
        await hello(context, queue)

    with sample_server(slow) as address:
        late = play(direct.cast(A2A(address, timeout_s=0.2)), motet.Task("world"))
    assert late.error and late.error.kind is FailureKind.TIMEOUT


def test_names_that_are_no_address_and_a_missing_sdk(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a2a:somewhere", "a2a:ftp://127.0.0.1", "a2a:http://127.0.0.1:x", "a2a:http://a b"):
        with pytest.raises(BadInput, match="HOST:PORT"):
            model(name)
    monkeypatch.setitem(sys.modules, "a2a.client", None)
    with pytest.raises(MissingExtra, match=r"motet\[serve\]"):
        model("a2a:http://127.0.0.1:9")
    monkeypatch.setitem(sys.modules, "a2a.server.routes", None)
    with pytest.raises(MissingExtra, match=r"motet\[serve\]"):
        a2a_app(Performer(str.upper))
