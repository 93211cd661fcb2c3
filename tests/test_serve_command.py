"""`motet serve`: real processes that serve, and real runs that ask them."""

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from motet.cli import main
from motet.methods import direct
from motet.remote.client import Web
from motet.remote.door import serving
from motet.remote.web import Registry, web_app
from motet.tape import project_store
from motet.types import FailureKind

TEAM = '''
import asyncio
import motet

@motet.team
async def slow(task, singer):
    """Thinks for long."""
    await singer.ask("begun")
    await asyncio.sleep(60)
'''
MOTET = [sys.executable, "-c", "from motet.cli import main; main()"]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a team of the user's own; nothing of the outside's tokens."""
    monkeypatch.chdir(tmp_path)
    for name in ("MOTET_AGENT_TOKEN", "MOTET_SERVE_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "mine.py").write_text(TEAM)
    vote = {"match": ".", "reply": "Answer: 42", "usage": {"input_tokens": 10, "output_tokens": 2}}
    (tmp_path / "votes.jsonl").write_text(json.dumps(vote) + "\n")
    (tmp_path / "notes.jsonl").write_text(
        '{"match": ".", "reply": "{\\"notes\\": \\"\\", \\"done\\": true}"}\n'
    )
    return tmp_path


def motet(*words: str) -> Result:
    return CliRunner().invoke(main, list(words))


@contextmanager
def served(*words: str, stop: int = signal.SIGTERM, **env: str) -> Iterator[dict[str, Any]]:
    """`motet serve … --json` in a process of its own, which has to end well."""
    process = subprocess.Popen(
        [*MOTET, "serve", *words, "--port", "0", "--json"],
        text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **env},
    )  # fmt: skip
    assert process.stdout is not None and process.stderr is not None
    try:
        said = ""
        while not said.endswith("}\n") and (line := process.stdout.readline()):
            said += line
        yield json.loads(said or process.stderr.read())
        process.send_signal(stop)
        rest, errors = process.communicate(timeout=10)
        assert (process.returncode, rest) == (0, ""), errors
        assert "Traceback" not in errors
    finally:
        process.kill()
        process.communicate()


def kept() -> list[tuple[str, Any]]:
    """The runs on the project's tape, newest first: the team, and the failure that ended each."""
    return [(tape.started.team, tape.ended and tape.ended.failure) for tape in project_store().runs(limit=50)]


@pytest.mark.parametrize(("protocol", "stop"), [("a2a", signal.SIGINT), ("agent", signal.SIGTERM)])
def test_a_served_team_is_a_voice_of_a_run_in_another_process(protocol: str, stop: int):
    vote = ("self_consistency", "--set", "n=3", "--model", "scripted:votes.jsonl", "--protocol", protocol)
    with served(*vote, "--name", "voter", stop=stop) as made:
        assert made["voice"] == f"{protocol}:{made['address']}"
        assert (made["name"], made["serves"], made["token"]) == ("voter", "self_consistency", False)
        voices = ("--voice", f"writer={made['voice']}", "--voice", "critic=scripted:notes.jsonl")
        asked = [*MOTET, "run", "self_refine", "6 * 7?", *voices, "--json"]
        done = subprocess.run(asked, capture_output=True, text=True)
    run = json.loads(done.stdout)
    assert (done.returncode, run["answer"]) == (0, "42")
    (written,) = [call for call in run["calls"] if call["agent"] == "writer"]
    spent = {name: written["usage"].get(name) for name in ("input_tokens", "output_tokens", "calls")}
    assert spent == {"input_tokens": 30, "output_tokens": 6, "calls": 1}
    assert sorted(kept()) == [("self_refine", None), ("solo", None)]


def test_stopping_a_server_stops_what_it_is_doing():
    with served("mine.py:slow", "--model", "scripted:votes.jsonl", "--protocol", "agent") as made:
        body = {"messages": [{"role": "user", "text": "Go."}]}
        with socket.create_connection(("127.0.0.1", int(made["address"].rpartition(":")[2]))) as line:
            sent = json.dumps(body)
            head = f"host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(sent)}"
            line.sendall(f"POST / HTTP/1.1\r\n{head}\r\n\r\n{sent}".encode())
            until(lambda: kept() == [("solo", None)])
    ((_, failure),) = kept()
    assert failure.kind is FailureKind.CANCELLED


def until(true: Any) -> None:
    for _ in range(100):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it never came true")


def test_a_token_is_read_from_the_environment_and_shown_by_voices_of_the_same_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    with served("direct", "--model", "scripted:votes.jsonl", MOTET_SERVE_TOKEN="open sesame") as made:
        assert made["token"] is True
        refused = direct.cast(made["voice"]).run("6 * 7?")
        assert refused.error and refused.error.kind is FailureKind.AUTH
        assert "MOTET_AGENT_TOKEN" in refused.error.message
        monkeypatch.setenv("MOTET_AGENT_TOKEN", "open sesame")
        assert direct.cast(made["voice"]).run("6 * 7?").answer == "Answer: 42"
    project_store().flush()
    files = [file for file in (tmp_path / "motet-home").rglob("*") if file.is_file()]
    assert files and not any(b"sesame" in file.read_bytes() for file in files)


def test_a_served_team_joins_a_web_of_agents_and_leaves_it():
    with serving(web_app(Registry())) as web:
        with served("mine.py:slow", "--model", "scripted:votes.jsonl", "--join", web) as made:
            assert made["joined"] == web
            (found,) = asyncio.run(Web(web).find("thinking"))
            assert found.instructions == "slow: Thinks for long."
            assert found.model.name == made["voice"]
        assert asyncio.run(Web(web).find()) == []


def test_what_cannot_be_served_is_refused_with_a_reason():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        one = ("direct", "--model", "sim:skill=1")
        for words, reason in [
            ((*one, "--port", port), f"cannot listen on 127.0.0.1:{port}"),
            ((*one, "--host", "0.0.0.0"), "MOTET_SERVE_TOKEN"),
            (("nothing",), "no method is called"),
            ((*one, "--set", "n=3"), "no knob"),
            ((*one, "--join", "nowhere"), "HOST:PORT"),
            (("web", "--model", "local", "--join", "http://127.0.0.1:9"), "--model, --join"),
        ]:
            result = motet("serve", *words, "--json")
            assert result.exit_code == 2, result.output
            assert reason in json.loads(result.stdout)["error"]["message"]
    gone = motet("serve", *one, "--port", "0", "--join", "http://127.0.0.1:9")
    assert gone.exit_code == 1 and "127.0.0.1:9" in gone.stderr and gone.stdout == ""


def test_people_are_told_how_to_ask_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(threading.Event, "wait", lambda *_: True)
    monkeypatch.setenv("MOTET_SERVE_TOKEN", "open sesame")
    shown = motet("serve", "direct", "--model", "sim:skill=1", "--port", "0", "--host", "0.0.0.0").stdout
    assert re.search(rf"--voice writer=a2a:http://{socket.gethostname()}:\d+\n", shown)
    assert "MOTET_AGENT_TOKEN" in shown and "sesame" not in shown
    assert "--join http://127.0.0.1:" in motet("serve", "web", "--port", "0").stdout
