"""A real chat-completions server on the loopback, which misbehaves as it is told.

    with FaultyServer([status(500), say("hello")]) as server:
        http_model(server.name)          # the first request fails, all later ones are told "hello"
        server.requests[0].prompt        # what was asked

A script is a list of answers (the last one repeats) or a function from request to answer; without one
the server repeats the last prompt. Requests are counted when they arrive, answered or not.
"""

import json
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request that arrived: its headers have lower-case names."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def prompt(self) -> str:
        """The words of the last message."""
        content = self.body["messages"][-1]["content"]
        return content if isinstance(content, str) else json.dumps(content)


@dataclass(frozen=True)
class Answer:
    """What to send back.

    Args:
        pieces: sent one after another.
        delay_s: wait before answering.
        end: after the pieces: `close` properly, `cut` the body short, `reset` the connection, `hang`.
    """

    pieces: tuple[bytes, ...]
    status: int = 200
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    end: str = "close"


Script = Callable[[Request], Answer] | Sequence[Answer]


def completion(*texts: str, usage: Mapping[str, Any] | None = None, **message: Any) -> dict[str, Any]:
    """A completion with one choice a text; `message` goes into each, e.g. `tool_calls`."""
    spent = {"prompt_tokens": 10, "completion_tokens": 5 * len(texts), "total_tokens": 10 + 5 * len(texts)}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "small-1",
        "choices": [
            {"index": i, "finish_reason": "stop", "message": {"role": "assistant", "content": text} | message}
            for i, text in enumerate(texts)
        ],
        "usage": spent if usage is None else usage,
    }  # fmt: skip


def send(body: Mapping[str, Any], **how: Any) -> Answer:
    """Answer with this JSON."""
    return Answer((json.dumps(body).encode(),), **how)


def say(*texts: str, **how: Any) -> Answer:
    """Answer with these texts, one a choice."""
    return send(completion(*texts), **how)


def status(code: int, message: str = "no", *, error_code: str = "", **headers: str) -> Answer:
    """Answer with an error; `retry_after="2"` becomes a header."""
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return send({"error": {"message": message, "code": error_code or None}}, status=code, headers=sent)


def events(*payloads: Mapping[str, Any] | str, end: str = "close") -> Answer:
    """Answer with server-sent events."""
    lines = (p if isinstance(p, str) else json.dumps(p, ensure_ascii=False) for p in payloads)
    return Answer(
        tuple(f"data: {line}\n\n".encode() for line in lines), content_type="text/event-stream", end=end
    )


def chunk(index: int = 0, finish: str | None = None, **delta: Any) -> dict[str, Any]:
    """One piece of a streamed choice."""
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "small-1",
        "choices": [choice],
    }


def streamed(*texts: str) -> Answer:
    """Answer with these texts, one a choice, word by word and interleaved."""
    words = [(i, word) for i, text in enumerate(texts) for word in text.split(" ")]
    usage = {"choices": [], "usage": completion(*texts)["usage"]}
    base = chunk() | usage
    pieces = [chunk(i, content=word + " ") for i, word in sorted(words, key=lambda pair: len(pair[1]))]
    return events(*pieces, *(chunk(i, "stop") for i in range(len(texts))), base, "[DONE]")


def hang() -> Answer:
    """Never answer."""
    return Answer((), end="hang")


def reset(*pieces: bytes) -> Answer:
    """Cut the connection, after sending these pieces of an event stream."""
    return Answer(pieces, content_type="text/event-stream", end="reset")


def echo(request: Request) -> Answer:
    """Repeat the last prompt, as often as asked."""
    texts = [request.prompt] * int(request.body.get("n") or 1)
    if request.body.get("stream"):
        return events(
            *(chunk(i, content=text) for i, text in enumerate(texts)),
            *(chunk(i, "stop") for i in range(len(texts))),
            chunk() | {"choices": [], "usage": completion(*texts)["usage"]},
            "[DONE]",
        )
    return say(*texts)


class _HTTP(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def shutdown_request(self, request: Any) -> None:
        self.close_request(request)  # without a farewell, which would come before a reset


class FaultyServer:
    """The server; it runs in threads of its own while the `with` block lasts.

    Args:
        script: answers in order, or a function from request to answer.
        latency_s: added to every answer, in seconds.
    """

    def __init__(self, script: Script = echo, *, latency_s: float = 0.0) -> None:
        self.requests: list[Request] = []
        self._script, self._latency_s = script, latency_s
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._http = _HTTP(("127.0.0.1", 0), self._handler())

    @property
    def url(self) -> str:
        """The base URL of the API."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    @property
    def name(self) -> str:
        """A model of this server, as Motet names it."""
        return f"{self.url}#small"

    @property
    def prompts(self) -> Counter[str]:
        """How often each prompt was asked."""
        return Counter(request.prompt for request in self.requests)

    def __enter__(self) -> "FaultyServer":
        threading.Thread(target=self._http.serve_forever, args=(0.005,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._over.set()
        self._http.shutdown()
        self._http.server_close()

    def answer(self, request: Request) -> Answer:
        """Count a request and choose the answer to it."""
        with self._lock:
            position = len(self.requests)
            self.requests.append(request)
        if callable(self._script):
            return self._script(request)
        return self._script[min(position, len(self._script) - 1)]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # headers and body in one packet: no wait for an acknowledgement between them

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                answer = server.answer(Request(self.path, headers, body))
                time.sleep(server._latency_s + answer.delay_s)
                try:
                    server._send(self, answer)
                except ConnectionError:
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                """Keep quiet."""

        return Handler

    def _send(self, http: BaseHTTPRequestHandler, answer: Answer) -> None:
        if answer.end == "hang":
            self._over.wait()
            http.close_connection = True
            return
        size = sum(len(piece) for piece in answer.pieces)
        http.send_response(answer.status)
        http.send_header("content-type", answer.content_type)
        http.send_header("content-length", str(size if answer.end == "close" else size + 1000))
        for name, value in answer.headers.items():
            http.send_header(name, value)
        http.end_headers()
        for piece in answer.pieces:
            http.wfile.write(piece)
        http.wfile.flush()
        if answer.end != "close":
            http.close_connection = True
        if answer.end == "reset":
            time.sleep(0.01)  # let the client read what was sent before the reset throws it away
            http.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def unused_url() -> str:
    """A base URL where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}/v1"
