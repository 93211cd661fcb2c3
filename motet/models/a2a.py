"""A voice behind the A2A protocol: `a2a:http://HOST:PORT`, through the official SDK.

Messages of a call are sent as one A2A message of text. The agent answers with a message, or with a task whose
artifacts are the reply; a task that asks for more input is heard as its question. What is streamed is passed
on.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from motet.errors import (
    AuthFailed,
    EmptyReply,
    MalformedReply,
    MissingExtra,
    ModelError,
    ModelTimeout,
    Refused,
    ServerError,
)
from motet.models._loops import PerLoop
from motet.models.openai_api.errors import of_status, translate
from motet.models.remote import checked_address, close, http_client, side_by_side
from motet.models.turns import turns
from motet.tape.context import CALL
from motet.types import Message, Reply, Sampling, Usage

if TYPE_CHECKING:
    import httpx

UNWELL: dict[str, type[ModelError]] = {
    "FAILED": ServerError,
    "REJECTED": Refused,
    "CANCELED": Refused,
    "AUTH_REQUIRED": AuthFailed,
    "SUBMITTED": ServerError,
    "WORKING": ServerError,
}
JSON_ONLY = "Reply with JSON alone that fits this schema:\n{schema}"


class A2A:
    """An agent behind the A2A protocol.

    Args:
        address: where its card is: `http://HOST:PORT`.
        token: what it demands, if anything; sent to this address only.
        timeout_s: time for a whole reply, in seconds.

    Raises:
        BadInput: that is no address. MissingExtra: the SDK is not installed.
    """

    def __init__(self, address: str, *, token: str = "", timeout_s: float = 120.0) -> None:
        try:
            import a2a.client  # noqa: F401
        except ImportError as error:
            raise MissingExtra("a2a-sdk", "serve") from error
        self._address, self._token, self._timeout_s = checked_address(address), token, timeout_s
        self.name = self.identity = f"a2a:{self._address}"
        self._http: PerLoop[httpx.AsyncClient] = PerLoop(
            lambda: http_client(self._address, token, timeout_s), close
        )

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Send the messages `n` times, side by side.

        Raises:
            ModelError: the agent could not be reached, refused, failed, or answered nothing.
        """
        said = turns(messages, sampling)
        words = [turn["content"] if len(said) == 1 else f"{turn['role']}: {turn['content']}" for turn in said]
        if sampling.schema:
            words.append(JSON_ONLY.format(schema=msgspec.json.encode(sampling.schema).decode()))
        text = "\n\n".join(words)
        context = CALL.get()
        listener = context.on_delta if context else None
        listeners = [listener, *[None] * (n - 1)]
        return await side_by_side([self._once(text, each) for each in listeners])

    async def _once(self, text: str, listener: Callable[[str], None] | None) -> Reply:
        """The boundary with the SDK and the agent: what they raise becomes a ModelError."""
        from a2a.utils.errors import A2AError

        try:
            async with asyncio.timeout(self._timeout_s):
                heard = await self._exchange(text, listener)
        except TimeoutError:
            raise ModelTimeout(f"{self.name}: no complete reply within {self._timeout_s:g} s") from None
        except (A2AError, ValueError) as error:
            raise self._translated(error) from None
        said = heard.text(self.name)
        return Reply(message=Message.say("assistant", said), usage=Usage(calls=1), model=self.name)

    async def _exchange(self, text: str, listener: Callable[[str], None] | None) -> "_Heard":
        from a2a.client import ClientConfig, create_client
        from a2a.helpers import new_text_message
        from a2a.types import Role, SendMessageRequest

        http = await self._http.get()
        config = ClientConfig(streaming=listener is not None, httpx_client=http)
        client = await create_client(self._address, config)
        heard = _Heard(listener)
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        async for event in client.send_message(request):
            heard.take(event)
        return heard

    def _translated(self, error: Exception) -> ModelError:
        import httpx
        from a2a.client import A2AClientTimeoutError

        cause = error.__cause__
        words = f"{self.name}: {error}".replace(self._token or "\0", "[key]")
        if isinstance(error, A2AClientTimeoutError):
            return ModelTimeout(words)
        status = getattr(error, "status_code", None)
        if isinstance(cause, httpx.HTTPStatusError):
            status = cause.response.status_code
        if isinstance(status, int):
            return of_status(status, words)(words)
        found = translate(cause, self.name, self._token) if isinstance(cause, httpx.HTTPError) else None
        return found or (MalformedReply if isinstance(error, ValueError) else ServerError)(words)


class _Heard:
    """What an agent has said so far, and how its task stands."""

    def __init__(self, listener: Callable[[str], None] | None) -> None:
        self._listener = listener
        self._artifacts: dict[str, str] = {}
        self._said = ""
        self._state = ""

    def take(self, event: Any) -> None:
        """Hear one event: a message, a task as it stands, a change of it, or a piece of an artifact."""
        from a2a.helpers import get_artifact_text, get_message_text
        from a2a.types import TaskState

        match event.WhichOneof("payload"):
            case "message":
                self._said = get_message_text(event.message)
                self._tell(self._said)
            case "task":
                for artifact in event.task.artifacts:
                    self._artifacts[artifact.artifact_id] = get_artifact_text(artifact)
                    self._tell(self._artifacts[artifact.artifact_id])
            case "artifact_update":
                update = event.artifact_update
                before = self._artifacts.get(update.artifact.artifact_id, "") if update.append else ""
                piece = get_artifact_text(update.artifact, "")
                self._artifacts[update.artifact.artifact_id] = before + piece
                self._tell(piece)
        status = getattr(getattr(event, event.WhichOneof("payload")), "status", None)
        if status is not None:
            self._state = TaskState.Name(status.state).removeprefix("TASK_STATE_")
            self._said = get_message_text(status.message) if status.HasField("message") else ""

    def _tell(self, piece: str) -> None:
        if self._listener and piece:
            self._listener(piece)

    def text(self, name: str) -> str:
        """The whole reply.

        Raises:
            ModelError: the task failed, was turned down, or never ended; or nothing was said.
        """
        if kind := UNWELL.get(self._state):
            raise kind(f"{name}: the task is {self._state.lower()}: {self._said or 'no reason was given'}")
        text = "\n".join(self._artifacts.values()) or self._said
        if not text.strip():
            raise EmptyReply(f"{name} answered nothing")
        return text
