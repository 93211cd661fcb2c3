"""Agents in other processes: the door, the small protocol, and a web of agents that team up."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest
from method_runs import play

from motet import Agent, Budget, Store, Task
from motet.errors import AuthFailed, BadInput, ConnectionLost, MalformedReply, MissingExtra, UnknownName
from motet.methods import direct, internet_of_agents, self_consistency
from motet.models._loops import PerLoop
from motet.models.names import model
from motet.models.remote import RemoteAgent, close
from motet.remote.agents import agent_app
from motet.remote.client import Web
from motet.remote.door import LARGEST_BODY, is_loopback, serve, serving
from motet.remote.performer import Performer
from motet.remote.web import Entry, Registry, web_app
from motet.tape import project_store
from motet.types import FailureKind, Message, Sampling

HERE = Path(__file__).parent
JSON = {"content-type": "application/json"}


def agent_of(singer: Any, token: str = "", **options: Any) -> Any:
    return serving(agent_app(Performer(singer, **{"store": Store.memory(), **options})), token=token)


def post(address: str, body: Any, **headers: str) -> httpx.Response:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return httpx.post(address, content=content, headers=JSON | headers, trust_env=False)


def asked(text: str) -> dict[str, Any]:
    return {"messages": [{"role": "user", "text": text}]}


# The door


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "localhost.example.org", "", "example.org")],
)
def test_which_hosts_are_this_machine(host: str, own: bool) -> None:
    assert is_loopback(host) is own


def test_a_server_that_others_can_reach_demands_a_token() -> None:
    app = agent_app(Performer(str.upper))
    with pytest.raises(BadInput, match="give a token"), serving(app, host="0.0.0.0"):
        pass
    with pytest.raises(BadInput, match="give a token"):
        asyncio.run(serve(app, host="0.0.0.0"))
    with serving(app) as address, pytest.raises(BadInput, match="cannot listen"):
        asyncio.run(serve(app, port=int(address.rpartition(":")[2])))


def test_the_token_and_nothing_else_opens_the_door() -> None:
    with agent_of(str.upper, token="sesame") as address:
        answers = [
            post(address, asked("hey"), authorization=shown)
            for shown in ("", "sesame", "Bearer sesam", "Bearer sesame")
        ]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 200]
    assert "Authorization: Bearer" in answers[0].json()["error"]


def test_an_agent_by_name_is_shown_the_token_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MOTET_AGENT_TOKEN", raising=False)
    with agent_of(str.upper, token="sesame") as address:
        refused = play(direct.cast(f"agent:{address}"))
        assert refused.error and refused.error.kind is FailureKind.AUTH
        assert "MOTET_AGENT_TOKEN" in refused.error.message
        for token, ok in [("wrong", False), ("sesame", True)]:
            monkeypatch.setenv("MOTET_AGENT_TOKEN", token)
            run = play(direct.cast(f"agent:{address}"))
            assert run.ok is ok and token not in json.dumps(run.record())
    # A web shows an agent its own token alone.
    with agent_of(str.upper, token="sesame") as address:
        assert not play(direct.cast(entry("x", address=f"agent:{address}").agent())).ok


@pytest.mark.parametrize(
    ("headers", "body", "status", "words"),
    [
        ({"host": "evil.example.org"}, asked("hey"), 403, "only this machine"),
        ({"content-type": "text/plain"}, asked("hey"), 415, "expected application/json"),
        ({}, b" " * (LARGEST_BODY + 1), 413, "at most"),
        ({}, b"{", 400, "truncated"),
        ({}, {"messages": []}, 400, "one or more"),
        ({}, {"messages": [{"role": "wizard", "text": "x"}]}, 400, "wizard"),
        ({}, {"messages": [{"role": "user", "text": 3}]}, 400, "Expected `str`"),
        ({}, {**asked("x"), "schema": 7}, 400, "object"),
    ],
)
def test_what_is_no_request_is_refused_with_a_reason(
    headers: Any, body: Any, status: int, words: str
) -> None:
    with agent_of(str.upper) as address:
        answer = post(address, body, **headers)
    assert answer.status_code == status
    assert words in answer.json()["error"]


def test_a_body_of_unknown_length_is_refused() -> None:
    with agent_of(str.upper) as address:
        answer = httpx.post(address, content=iter([b"{}"]), headers=JSON, trust_env=False)
    assert answer.status_code == 411


# One agent


def test_a_voice_in_another_process_is_a_voice_with_its_schema_and_history() -> None:
    def seer(prompt: str) -> str:
        return '{"best": 2}' if "best" in prompt else prompt

    with agent_of(seer) as address:
        run = play(direct.cast(Agent(f"agent:{address}", instructions="Be brief.")), Task("best of 2?"))
        assert run.answer == '{"best": 2}'
        assert run.calls[0].model == f"agent:{address}"

        async def talk() -> tuple[Any, str]:
            voice = Agent(f"agent:{address}")
            chat = voice.chat()
            first = await chat.ask("one")
            assert first.text == "one"
            data = (await voice.ask("best?", schema=dict[str, int])).data
            many = await voice.ask_many("three", n=3)
            assert [reply.text for reply in many] == ["three"] * 3
            return data, (await chat.ask("two")).text

        data, second = asyncio.run(talk())
    assert data == {"best": 2}
    assert second == "user: one\n\nassistant: one\n\nuser: two"


def test_a_server_keeps_its_runs_in_the_projects_store_beside_those_of_whoever_asks() -> None:
    with serving(agent_app(Performer(str.upper))) as address:
        team = self_consistency(n=8).cast(f"agent:{address}")
        runs = [team.run(Task(f"Answer: {i}")) for i in range(3)]
    assert all(run.ok for run in runs)
    kept = [tape.started.team for tape in project_store().runs(limit=100)]
    assert sorted(set(kept)) == ["self_consistency", "solo"]
    assert kept.count("solo") == 24


@pytest.mark.parametrize(
    ("singer", "options", "kind"),
    [
        ("sim:skill=1", {}, FailureKind.BAD_REQUEST),
        (lambda _: "", {}, FailureKind.SERVER),
        (str.upper, {"budget": Budget(calls=0)}, FailureKind.RATE_LIMIT),
    ],
)
def test_a_run_that_fails_there_is_a_failed_call_here(singer: Any, options: Any, kind: FailureKind) -> None:
    with agent_of(singer, **options) as address:
        run = play(direct.cast(f"agent:{address}"))
    assert run.error and run.error.kind is kind and run.calls[0].failure == run.error


@contextmanager
def raw_server(status: int, body: bytes, seen: list[Any], **headers: str) -> Iterator[str]:
    """A server that always answers the same."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            seen.append(dict(self.headers))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<html>", FailureKind.MALFORMED),
        (200, b'{"answer": "x"}', FailureKind.MALFORMED),
        (200, b'{"reply": " "}', FailureKind.EMPTY),
        (200, b'{"reply": "x", "usage": {"input_tokens": "many"}}', FailureKind.MALFORMED),
        (401, b"", FailureKind.AUTH),
        (429, b"", FailureKind.RATE_LIMIT),
        (404, b"", FailureKind.BAD_REQUEST),
        (500, b"", FailureKind.SERVER),
        (302, b"", FailureKind.BAD_REQUEST),
    ],
)
def test_what_a_foreign_agent_gets_wrong_is_typed(status: int, body: bytes, kind: FailureKind) -> None:
    with raw_server(status, body, []) as address:
        run = play(direct.cast(f"agent:{address}"))
    assert run.error and run.error.kind is kind


def test_a_token_is_shown_to_its_agent_and_follows_no_redirect() -> None:
    here: list[Any] = []
    there: list[Any] = []
    with raw_server(200, b'{"reply": "x"}', there) as far, raw_server(307, b"", here, location=far) as near:
        assert not play(direct.cast(RemoteAgent(near, token="secret"))).ok
    assert here[0]["authorization"] == "Bearer secret"
    assert there == []
    gone = play(direct.cast(f"agent:{near}"))
    assert gone.error and gone.error.kind is FailureKind.CONNECTION
    for name in ("agent:nowhere", "agent:file:///etc/passwd", "agent:http://me@127.0.0.1"):
        with pytest.raises(BadInput, match="HOST:PORT"):
            model(name)


def test_a_run_that_nobody_waits_for_ends_there_too() -> None:
    store, stopped = Store.memory(), list[str]()

    async def never(prompt: str) -> str:
        try:
            await asyncio.sleep(30)
            return "late"
        finally:
            stopped.append(prompt)

    with agent_of(never, store=store) as address:
        late = play(direct.cast(RemoteAgent(address, timeout_s=0.3)))
        assert late.error and late.error.kind is FailureKind.TIMEOUT
        for _ in range(20):  # it ends at once, and not only when its server does
            if not stopped:
                time.sleep(0.05)
        assert len(stopped) == 1
    tape = store.load(store.runs()[0].run)
    assert tape.ended and tape.ended.failure and tape.ended.failure.kind is FailureKind.CANCELLED


# The web


def entry(name: str, about: str = "does things", address: str = "agent:http://127.0.0.1:9") -> Entry:
    return Entry(name, about, address)


def test_agents_are_found_by_what_they_can_do() -> None:
    registry = Registry()
    for name, about in [("ann", "paints walls"), ("bob", "balances equations"), ("cy", "paints equations")]:
        registry.register(entry(name, about))
    assert [e.name for e in registry.find("an equation to balance", 2)] == ["bob", "cy"]
    assert [e.name for e in registry.find(k=2)] == ["ann", "bob"]
    registry.register(entry("ann", "balances equations, equations, equations"))
    registry.forget("bob")
    assert [e.name for e in registry.find("balance", 9)] == ["ann", "cy"]
    with pytest.raises(UnknownName):
        registry.forget("bob")


@pytest.mark.parametrize(
    "address",
    [
        "program:rm -rf /",
        "local",
        "sim:skill=1",
        "torch:/etc",
        "agent:file:///etc/passwd",
        "http://127.0.0.1:9",
        "agent:http://10.0.0.1:9",
        "a2a:http://example.org",
        "https://example.org/v1#m",
        "agent:http://127.0.0.1@example.org",
    ],
)
def test_an_address_is_a_server_on_this_machine_and_nothing_else(address: str) -> None:
    with pytest.raises(BadInput, match="address"):
        Registry().register(entry("x", address=address))


def test_the_server_checks_what_it_is_sent() -> None:
    with serving(web_app(Registry())) as address:
        fine = {"name": "ann", "about": "x", "address": "agent:http://127.0.0.1:9", "token": "secret"}
        assert post(f"{address}/agents", fine).status_code == 201
        for change, status in [
            ({"name": "../x"}, 400),
            ({"about": ""}, 400),
            ({"address": "program:ls"}, 400),
            ({"address": "agent:http://127.0.0.1:10"}, 409),
            ({"extra": 1}, 201),
        ]:
            assert post(f"{address}/agents", fine | change).status_code == status
        listed = httpx.get(f"{address}/agents?query=x&k=1", trust_env=False)
        assert listed.json() == [{"name": "ann", "about": "x", "address": "agent:http://127.0.0.1:9"}]
        assert httpx.get(f"{address}/agents?k=none", trust_env=False).status_code == 400
        wish = {"task": "x", "client": "ann"}
        assert "nobody to form a group" in post(f"{address}/groups", wish).json()["error"]
        assert post(f"{address}/groups", wish | {"client": "bob"}).status_code == 404
        assert post(f"{address}/groups", wish | {"t": 1000}).status_code == 400
        web = Web(address)
        with pytest.raises(BadInput, match="HTTP 409"):
            asyncio.run(web.register("ann", "x", "agent:http://127.0.0.1:10"))
        asyncio.run(web.forget("ann"))
        assert asyncio.run(web.find()) == []
    with pytest.raises(ConnectionLost):
        asyncio.run(web.find())
    with serving(web_app(Registry(anywhere=True)), token="t") as address, pytest.raises(AuthFailed):
        asyncio.run(Web(address).find())


@contextmanager
def processes(*programs: tuple[str, ...]) -> Iterator[list[str]]:
    """Python programs, started together; their addresses, once they say so."""
    started = [
        subprocess.Popen([sys.executable, *words], cwd=HERE, stdout=subprocess.PIPE, text=True)
        for words in programs
    ]
    try:
        yield [program.stdout.readline().strip() for program in started if program.stdout]
    finally:
        for program in started:
            program.kill()
            program.communicate()


@contextmanager
def four_processes() -> Iterator[str]:
    """A server, a boss who wants a builder, a builder who wants an abacus, and an abacus from elsewhere."""
    with processes(("remote_peer.py", "web")) as (server,):
        boss = ("remote_peer.py", "agent", server, "boss", "knows whom to ask", "builder")
        builder = ("remote_peer.py", "agent", server, "builder", "builds sums", "abacus")
        with processes(boss, builder, ("foreign_agent.py", server, "abacus", "adds numbers")):
            yield server


@pytest.mark.slow
def test_agents_in_four_processes_find_each_other_and_nest_their_groups() -> None:
    with four_processes() as server:
        web = Web(server)
        told = asyncio.run(web.work("What is 17 + 25?", "boss", D=2, k=1, t=4))
        assert told["answer"] == "Answer: 42" and told["error"] is None
        who = [message["who"] for message in told["messages"]]
        builder, abacus = ("agents_1", "agents_2") if who[2:5].count("agents_1") else ("agents_2", "agents_1")
        assert who[:2] == ["client", "client"]  # it searches, and takes the builder
        assert who.count(abacus) == 1 and who[-4:] == [builder, abacus, builder, builder]  # it concludes both
        states = [json.loads(m["text"])["state"] for m in told["messages"] if '"state"' in m["text"]]
        assert sorted(states) == ["async_task", "conclusion", "conclusion", "pause", "sync_task"]

        # The same from here: those who were found are voices, and their calls are on this process's tape.
        agents = asyncio.run(web.find("adds numbers", k=1))
        run = play(direct.cast(agents[0]), Task("17 + 25", target="42", kind="number"))
        assert run.answer.endswith("= 42") and run.calls[0].model.startswith("agent:http://127.0.0.1:")
        boss, *others = asyncio.run(web.find("knows whom to ask", k=3))
        run = play(internet_of_agents(D=2, k=1).cast(client=boss, agents=others))
        assert run.answer == "Answer: 42"
        assert len({call.model for call in run.calls}) == 3

        asyncio.run(web.register("ghost", "adds numbers", "agent:http://127.0.0.1:9"))
        asyncio.run(web.forget("abacus"))
        lost = asyncio.run(web.work("What is 17 + 25?", "boss", D=2, k=1, t=3))
        assert lost["run"] and "42" not in (lost["answer"] or "")


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    app = agent_app(Performer(str.upper))
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(MissingExtra, match=r"motet\[serve\]"), serving(app):
        pass
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    for make in (lambda: agent_app(Performer(str.upper)), lambda: web_app(Registry())):
        with pytest.raises(MissingExtra, match=r"motet\[serve\]"):
            make()


def test_a_server_cannot_put_the_token_on_the_tape_nor_earn_tokens() -> None:
    def answer(body: bytes, status: int = 200) -> RemoteAgent:
        agent = RemoteAgent("http://127.0.0.1:1", token="sesame")
        respond = httpx.MockTransport(lambda _: httpx.Response(status, content=body))
        agent._client = PerLoop(lambda: httpx.AsyncClient(transport=respond), close)
        return agent

    ask = [Message.say("user", "Hi.")]
    with pytest.raises(AuthFailed, match=r"no \[key\] here.*MOTET_AGENT_TOKEN"):
        asyncio.run(answer(b"no sesame here", 401).sample(ask, 1, Sampling()))
    with pytest.raises(MalformedReply, match=r"got .*\[key\]"):
        asyncio.run(answer(b"sesame").sample(ask, 1, Sampling()))
    with pytest.raises(MalformedReply, match="expected 0 or more"):
        spent = b'{"reply": "x", "usage": {"output_tokens": -9}}'
        asyncio.run(answer(spent).sample(ask, 1, Sampling()))
