"""The door of a server: who may come in, with how much, and how it opens and closes."""

import asyncio
import hmac
import ipaddress
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from motet.errors import BadInput, MissingExtra

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY = 2**20  # bytes
DEMANDED = (
    "this server demands a token: send the header 'Authorization: Bearer TOKEN' "
    "(a voice of Motet by name: set MOTET_AGENT_TOKEN)"
)


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine and cannot be reached from another."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class Guard:
    """Lets requests through to an app when they are allowed, whole, and not too large.

    With a token every path but the public ones demands it. Without one only those who name this machine as
    the host come in, so that a page in a browser cannot reach the server under a name of its own.

    Args:
        app: what is behind the door.
        token: the secret, if there is one.
        public: paths that anybody may read.
    """

    def __init__(self, app: "ASGIApp", token: str = "", public: tuple[str, ...] = ()) -> None:
        self._app, self._token, self._public = app, token, public

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        """Serve one request."""
        from starlette.responses import JSONResponse

        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        problem = self._problem(scope["method"], scope["path"], headers)
        begun = False

        async def answer(message: "Message") -> None:
            nonlocal begun
            begun = True
            await send(message)

        if problem is None:
            try:
                return await self._app(scope, receive, answer)
            except asyncio.CancelledError:  # it closes and has waited for long enough, or nobody is listening
                problem = 503, "this server is closing"
        status, words = problem
        if not begun:
            await JSONResponse({"error": words}, status)(scope, receive, send)
        return None

    def _problem(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str] | None:
        if self._token:
            shown = headers.get("authorization", "")
            allowed = hmac.compare_digest(shown.encode(), f"Bearer {self._token}".encode())
            if not allowed and path not in self._public:
                return 401, DEMANDED
        elif not is_loopback(urlsplit(f"//{headers.get('host', '')}").hostname or ""):
            return 403, f"host {headers.get('host', '')!r}: without a token only this machine is served"
        if method in ("POST", "PUT", "PATCH"):
            size = headers.get("content-length", "")
            if not size.isdecimal():
                return 411, "a body needs the header Content-Length"
            if int(size) > LARGEST_BODY:
                return 413, f"the body has {size} bytes; at most {LARGEST_BODY} are taken"
            if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
                return 415, f"content-type {headers.get('content-type', '')!r}: expected application/json"
        return None


def decoded(body: bytes, shape: Any) -> Any:
    """A body as data of some shape.

    Raises:
        BadInput: it is no JSON, or does not fit.
    """
    try:
        return msgspec.json.decode(body, type=shape)
    except msgspec.DecodeError as error:
        raise BadInput(f"{body[:200]!r}: {error}") from error


@contextmanager
def serving(
    app: "ASGIApp", *, host: str = "127.0.0.1", port: int = 0, token: str = "", public: tuple[str, ...] = ()
) -> Iterator[str]:
    """Serve an app on a thread of its own for as long as the block lasts.

    Args:
        host: the address to bind to. port: 0 takes a free one.
        token: what a request must show; needed when `host` is not the loopback.
        public: paths that anybody may read.

    Yields:
        `http://HOST:PORT`.

    Raises:
        BadInput: the host can be reached by others and there is no token, or the port is taken.
        MissingExtra: uvicorn or starlette is not installed.
    """
    server = _server(Guard(app, token, public))
    listening = _listen(host, port, token)
    thread = threading.Thread(target=asyncio.run, args=(server.serve([listening]),), name="motet-door")
    try:
        thread.start()
        yield address_of(listening)
    finally:
        server.should_exit = True
        thread.join()
        listening.close()


async def serve(
    app: "ASGIApp", *, host: str = "127.0.0.1", port: int = 0, token: str = "", public: tuple[str, ...] = ()
) -> None:
    """Serve an app until it is cancelled or the process is told to stop; see `serving`."""
    server = _server(Guard(app, token, public))
    listening = _listen(host, port, token)
    try:
        await server.serve([listening])
    finally:
        listening.close()


def address_of(listening: socket.socket) -> str:
    """`http://HOST:PORT` of a bound socket."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _listen(host: str, port: int, token: str) -> socket.socket:
    if not is_loopback(host) and not token:
        raise BadInput(
            f"host {host!r} can be reached by others: give a token (`motet serve` reads MOTET_SERVE_TOKEN), "
            "or bind to 127.0.0.1"
        )
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise BadInput(f"cannot listen on {host}:{port}: {error.strerror}") from error


def _server(app: "ASGIApp") -> Any:
    try:
        import starlette  # noqa: F401
        import uvicorn
    except ImportError as error:
        raise MissingExtra(error.name or "uvicorn", "serve") from error
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, lifespan="off", timeout_graceful_shutdown=2
    )
    return uvicorn.Server(config)
