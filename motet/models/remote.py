"""A voice in another process: `agent:http://HOST:PORT`, one POST of JSON a reply.

The protocol is small enough to be written by hand in any language. The agent is sent

    {"messages": [{"role": "user", "text": "…"}], "schema": {…} or null, "max_tokens": 100 or null}

and answers `{"reply": "…"}`, if it likes with `"usage": {"input_tokens": 1, "output_tokens": 1}`; or with a
status of 400 or more and `{"error": "…"}`. `motet.remote.agents` serves voices of Motet like this.
"""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from motet.errors import AuthFailed, BadInput, EmptyReply, MalformedReply, ModelTimeout, ServerError
from motet.models._loops import PerLoop
from motet.models.openai_api.errors import of_status, translate
from motet.models.turns import turns
from motet.types import Message, Reply, Sampling, Usage

if TYPE_CHECKING:
    import httpx

MAX_REPLY_BYTES = 16 * 2**20
TOKEN_HINT = "an agent by name is shown the token in MOTET_AGENT_TOKEN"


class Said(Struct):
    """What an agent answers."""

    reply: str
    usage: Any = {}


class RemoteAgent:
    """An agent in another process.

    Args:
        address: `http://HOST:PORT` with or without a path.
        token: what it demands, if anything; sent to this address only.
        timeout_s: time for a whole reply, in seconds.

    Raises:
        BadInput: that is no address.
    """

    def __init__(self, address: str, *, token: str = "", timeout_s: float = 120.0) -> None:
        self._address, self._token, self._timeout_s = checked_address(address), token, timeout_s
        self.name = self.identity = f"agent:{self._address}"
        self._client: PerLoop[httpx.AsyncClient] = PerLoop(
            lambda: http_client(self._address, token, timeout_s), close
        )

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Ask the agent `n` times, side by side.

        Raises:
            ModelError: it could not be reached, refused, or answered with something else.
        """
        said = [{"role": turn["role"], "text": turn["content"]} for turn in turns(messages, sampling)]
        wish = {"messages": said, "schema": sampling.schema, "max_tokens": sampling.max_tokens}
        body = msgspec.json.encode(wish)
        return await side_by_side([self._once(body) for _ in range(n)])

    async def _once(self, body: bytes) -> Reply:
        import httpx

        client = await self._client.get()
        try:
            async with asyncio.timeout(self._timeout_s):
                answer = await self._read(client, body)
        except TimeoutError:
            raise ModelTimeout(f"{self.name}: no complete reply within {self._timeout_s:g} s") from None
        except httpx.HTTPError as error:
            raise translate(error, self.name, self._token) or ServerError(f"{self.name}: {error}") from None
        if not answer.reply.strip():
            raise EmptyReply(f"{self.name} answered nothing")
        usage = usage_of_one(answer.usage, f"{self.name}: usage")
        return Reply(message=Message.say("assistant", answer.reply), usage=usage, model=self.name)

    async def _read(self, client: "httpx.AsyncClient", body: bytes) -> Said:
        data = b""
        headers = {"content-type": "application/json"}
        async with client.stream("POST", self._address, content=body, headers=headers) as response:
            async for chunk in response.aiter_bytes():
                data += chunk
                if len(data) > MAX_REPLY_BYTES:
                    raise MalformedReply(f"{self.name}: the reply is longer than {MAX_REPLY_BYTES} bytes")
        if response.status_code >= 300:
            words = hidden(data[:500].decode("utf-8", "replace"), self._token)
            kind = of_status(response.status_code, words)
            hint = f"; {TOKEN_HINT}" if kind is AuthFailed else ""
            raise kind(f"{self.name}: HTTP {response.status_code}: {words}{hint}")
        try:
            return msgspec.json.decode(data, type=Said)
        except msgspec.DecodeError as error:
            got = hidden(repr(data[:80]), self._token)
            raise MalformedReply(f"{self.name}: expected {{'reply': …}}, got {got}: {error}") from error


def usage_of_one(told: Any, what: str) -> Usage:
    """What one call came to, as another process tells it.

    Raises:
        MalformedReply: that is no usage.
    """
    try:
        usage = msgspec.convert(told, Usage, strict=False)
        if min(msgspec.structs.astuple(usage)) < 0:
            raise ValueError("expected 0 or more")
    except ValueError as error:
        raise MalformedReply(f"{what} is {told!r}: {error}") from error
    return msgspec.structs.replace(usage, calls=1)


def hidden(words: str, token: str) -> str:
    """The words without the token: what a server says goes on the tape."""
    return words.replace(token, "[key]") if token else words


async def side_by_side(asked: Sequence[Coroutine[Any, Any, Reply]]) -> list[Reply]:
    """Await all; the first failure cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in asked]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def checked_address(address: str) -> str:
    """An address as it is kept.

    Raises:
        BadInput: it is not `http://HOST:PORT` or the like.
    """
    try:
        parts = urlsplit(address)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0 and not parts.username
    except ValueError:
        fine = False
    if not fine or any(c.isspace() for c in address):
        raise BadInput(f"{address!r} is no address of an agent; expected http://HOST:PORT")
    return address.rstrip("/")


def http_client(address: str, token: str, timeout_s: float) -> "httpx.AsyncClient":
    """A client that shows the token to this address and to nobody else, and follows no redirect."""
    import httpx

    home = httpx.URL(address)

    async def show(request: httpx.Request) -> None:
        to = request.url
        if token and (to.scheme, to.host, to.port) == (home.scheme, home.host, home.port):
            request.headers["authorization"] = f"Bearer {token}"

    return httpx.AsyncClient(timeout=timeout_s, trust_env=False, event_hooks={"request": [show]})


async def close(client: "httpx.AsyncClient") -> None:
    """Close all connections."""
    await client.aclose()
