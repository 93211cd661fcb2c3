"""Models behind any server that speaks OpenAI's chat completions."""

import asyncio
import os
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Protocol
from urllib.parse import urlsplit

import msgspec

from motet.errors import AuthFailed, BadInput, MalformedReply, ModelTimeout
from motet.models._loops import PerLoop
from motet.models.openai_api.errors import translate
from motet.models.openai_api.reply import replies, words
from motet.models.openai_api.request import request
from motet.models.openai_api.stream import Listener, Stream, read_events
from motet.models.openai_api.wire import Completion, decode
from motet.models.prices import price
from motet.models.wrappers.ratelimit import Gate
from motet.tape.context import CALL
from motet.types import Message, Reply, Sampling, Usage

MAX_REPLY_BYTES = 64 * 2**20
STREAMED: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
OFFICIAL = "https://api.openai.com/v1"


class Server(Protocol):
    """The far end, as seen from one event loop."""

    @property
    def secret(self) -> str:
        """The API key, which must not get into any message."""
        ...

    async def exchange(self, body: dict[str, Any], listener: Listener | None) -> Completion:
        """Send a request in OpenAI's shape; stream it to `listener`, where there is one."""
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


class OpenAICompatible:
    """A model behind a server that speaks OpenAI's chat completions. It does not retry: see `Retry`.

    A server that gives fewer choices than asked (many know no `n`) is asked again for the rest, one by
    one and side by side, with seeds counted up. A server that reports no usage leaves it at 0 tokens
    with a warning, and the cost at None: nothing is estimated. When the caller listens
    (`CALL.get().on_delta`) replies are streamed; of several, the first is told. `Reply.tokens` is None
    unless the server says the sampled ids (llama.cpp does with `logprobs`, vLLM with
    `extra={"return_token_ids": True}`).

    Args:
        model: the server's name for the model.
        name: the name by which Motet knows it.
        base_url: e.g. `http://127.0.0.1:8080/v1`; None is OpenAI's own.
        api_key: the key, or a function that finds it when the first call is made.
        timeout_s: time for a whole reply, in seconds.
        gate: limits of rate and concurrency; each HTTP request passes it.
        extra: further fields of the request, e.g. `{"reasoning_effort": "low"}`.
    """

    def __init__(
        self,
        model: str,
        *,
        name: str,
        base_url: str | None = None,
        api_key: str | Callable[[], str | None] | None = None,
        timeout_s: float = 120.0,
        gate: Gate | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        self._model, self._name, self._base_url, self._api_key = model, name, base_url or OFFICIAL, api_key
        self._timeout_s, self._gate, self._extra = timeout_s, gate, dict(extra or {})
        self._servers: PerLoop[Server] = PerLoop(self._connect, _close)
        self._price_as = self._base_url
        self._one_by_one = False
        self._warned = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._name!r})"

    @property
    def name(self) -> str:
        """The name by which Motet knows it."""
        return self._name

    @property
    def identity(self) -> str:
        """The name, and the further fields of the request if there are any."""
        if not self._extra:
            return self._name
        return f"{self._name}+{msgspec.json.encode(self._extra, order='deterministic').decode()}"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`."""
        context = CALL.get()
        listener = context.on_delta if context else None
        drawn = [] if self._one_by_one else await self._ask(messages, n, sampling, listener)
        if missing := range(len(drawn), n):
            self._one_by_one = True
            seeds = [None if sampling.seed is None else sampling.seed + i for i in missing]
            listeners = [listener, *[None] * (n - 1)]
            singles = [
                self._ask(messages, 1, sampling.but(seed=seed), listeners[i])
                for i, seed in zip(missing, seeds, strict=True)
            ]
            drawn += await _side_by_side(singles)
        return drawn

    def _connect(self) -> Server:
        key = self._api_key() if callable(self._api_key) else self._api_key
        return HTTPServer(self._base_url, key, self._timeout_s)

    async def _ask(
        self, messages: Sequence[Message], n: int, sampling: Sampling, listener: Listener | None = None
    ) -> list[Reply]:
        """Make one request."""
        body = request(self._model, messages, n, sampling) | self._extra
        server = await self._servers.get()
        async with self._gate.enter() if self._gate else nullcontext() as leave:
            completion = await self._exchange(server, body, listener)
            drawn = [self._priced(reply, completion) for reply in replies(completion, n, self._name)]
            if leave:
                leave.spent(sum((reply.usage for reply in drawn), Usage()))
        return drawn

    async def _exchange(self, server: Server, body: dict[str, Any], listener: Listener | None) -> Completion:
        """The boundary with other people's servers and clients: what they raise becomes a ModelError."""
        try:
            async with asyncio.timeout(self._timeout_s) as deadline:
                return await server.exchange(body, listener)
        except Exception as error:
            if deadline.expired():
                raise ModelTimeout(f"{self._name}: no complete reply within {self._timeout_s:g} s") from None
            failure = translate(error, self._name, server.secret)
            if failure is None:
                raise
            raise failure from None

    def _priced(self, reply: Reply, completion: Completion) -> Reply:
        if completion.usage is None and not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._name} reports no usage: its replies count 0 tokens and have no cost", stacklevel=2
            )
        return msgspec.structs.replace(reply, cost=price(self._model, self._price_as, reply.usage))


class HTTPServer:
    """A server reached through the official client.

    Args:
        base_url: of the API.
        key: the API key.
        timeout_s: of connecting and of each read, in seconds.
    """

    def __init__(self, base_url: str, key: str | None, timeout_s: float) -> None:
        from openai import AsyncOpenAI

        self.secret = key or ""
        self._official = urlsplit(base_url).hostname == "api.openai.com"
        self._client = AsyncOpenAI(base_url=base_url, api_key=key or "none", timeout=timeout_s, max_retries=0)

    async def exchange(self, body: dict[str, Any], listener: Listener | None) -> Completion:
        """See `Server.exchange`."""
        fields = body | (STREAMED if listener else {})
        model, messages = fields.pop("model"), fields.pop("messages")
        if self._official and "max_tokens" in fields:
            fields["max_completion_tokens"] = fields.pop("max_tokens")
        opened = self._client.chat.completions.with_streaming_response.create(
            model=model, messages=messages, extra_body=fields
        )
        async with opened as response:
            kind = response.headers.get("content-type", "nothing")
            chunks = _bounded(response.iter_bytes(), model)
            if "event-stream" in kind:
                return await read_events(chunks, Stream(model, listener), model)
            data = b"".join([chunk async for chunk in chunks])
        if "json" not in kind:
            start = data[:80].decode("utf-8", "replace")
            raise MalformedReply(f"{model}: expected JSON or an event stream, got {kind!r}: {start!r}")
        return told(decode(data, model), listener)

    async def close(self) -> None:
        """See `Server.close`."""
        await self._client.close()


def told(completion: Completion, listener: Listener | None) -> Completion:
    """Tell the listener, if any, a reply that came in one piece."""
    if listener and completion.choices and (said := completion.choices[0].message):
        listener(words(said.content))
    return completion


async def _close(server: Server) -> None:
    await server.close()


async def _bounded(chunks: AsyncIterator[bytes], model: str) -> AsyncIterator[bytes]:
    """Pass bytes on, up to a limit that no honest reply reaches."""
    size = 0
    async for chunk in chunks:
        size += len(chunk)
        if size > MAX_REPLY_BYTES:
            raise MalformedReply(f"{model}: the reply is longer than {MAX_REPLY_BYTES} bytes")
        yield chunk


async def _side_by_side(requests: Sequence[Coroutine[Any, Any, list[Reply]]]) -> list[Reply]:
    """Await all; the first failure cancels the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(each) for each in requests]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [reply for task in tasks for reply in task.result()]


def key_from(variable: str) -> str:
    """Read an API key from the environment.

    Raises:
        AuthFailed: the variable is not set; it is named.
    """
    if key := os.environ.get(variable):
        return key
    raise AuthFailed(f"there is no API key: set the environment variable {variable}")


def openai_model(model: str, *, timeout_s: float = 120.0, gate: Gate | None = None) -> OpenAICompatible:
    """`openai:MODEL`: the key is read from OPENAI_API_KEY when the first call is made.

    OPENAI_BASE_URL, where it is set, is the address.

    Args:
        model: e.g. `gpt-5-mini`.
        timeout_s: time for a whole reply, in seconds.
        gate: limits of rate and concurrency; at most 64 requests in flight unless it says otherwise.
    """
    return OpenAICompatible(
        model,
        name=f"openai:{model}",
        base_url=os.environ.get("OPENAI_BASE_URL"),
        api_key=partial(key_from, "OPENAI_API_KEY"),
        timeout_s=timeout_s,
        gate=gate or Gate(64),
    )


def http_model(address: str, *, timeout_s: float = 120.0, gate: Gate | None = None) -> OpenAICompatible:
    """`http://HOST:PORT/v1#NAME`: a model of any OpenAI-compatible server.

    The key, where the server wants one, is read from MOTET_API_KEY when the first call is made.

    Args:
        address: the base URL, and after `#` the server's name for the model.
        timeout_s: time for a whole reply, in seconds.
        gate: limits of rate and concurrency; at most 64 requests in flight unless it says otherwise.

    Raises:
        BadInput: the address is not of that form, or holds a password.
    """
    url = urlsplit(address)
    if url.username or url.password or url.query:
        raise BadInput("a model's address must hold no password and no query; put the key into MOTET_API_KEY")
    if url.scheme not in ("http", "https") or not url.hostname or not url.fragment:
        raise BadInput(f"{address!r} is no model's address; expected the form http://HOST:PORT/v1#NAME")
    return OpenAICompatible(
        url.fragment,
        name=address,
        base_url=url._replace(fragment="").geturl(),
        api_key=partial(os.getenv, "MOTET_API_KEY"),
        timeout_s=timeout_s,
        gate=gate or Gate(64),
    )
