"""A voice behind the A2A protocol: `a2a:http://HOST:PORT`, through the official SDK.

Messages of a call are sent as one A2A message of text, over JSON-RPC or HTTP+JSON, whichever the agent's card
prefers (gRPC is not spoken). The agent answers with a message, or with a task whose artifacts are the reply;
a task that asks for more input is heard as its question. What is streamed is passed on; a task that is still
under way is asked after until the time is up. A task that nobody waits for any longer is cancelled, once the
agent has said by what id it is known.

The protocol has no word for tokens: an agent of Motet says what it spent in the metadata of its answer; what
any other spends is unknown.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
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
from motet.models.remote import (
    TOKEN_HINT,
    checked_address,
    close,
    hidden,
    http_client,
    side_by_side,
    usage_of_one,
)
from motet.models.turns import turns
from motet.tape.context import CALL
from motet.types import Message, Reply, Sampling, Usage

if TYPE_CHECKING:
    import httpx
    from a2a.client import Client

BINDINGS = ["JSONRPC", "HTTP+JSON"]
USAGE = "motet/usage"
"""The key of the metadata that says what a reply came to: the fields of `Usage`."""
UNDER_WAY = ("SUBMITTED", "WORKING")
UNWELL: dict[str, type[ModelError]] = {
    "FAILED": ServerError,
    "REJECTED": Refused,
    "CANCELED": Refused,
    "AUTH_REQUIRED": AuthFailed,
}
SOONEST_S, LATEST_S = 0.1, 2.0  # between questions after a task
CANCEL_S = 2.0  # for an agent to take notice that its task is cancelled
JSON_ONLY = "Reply with JSON alone that fits this schema:\n{schema}"


class A2A:
    """An agent behind the A2A protocol.

    Args:
        address: where its card is: `http://HOST:PORT`.
        token: what it demands, if anything; sent to this address only.
        timeout_s: time for a whole reply, in seconds; its task is cancelled then.

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

        heard = _Heard(listener)
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._exchange(text, heard)
        except TimeoutError:
            raise ModelTimeout(f"{self.name}: no complete reply within {self._timeout_s:g} s") from None
        except (A2AError, ValueError) as error:
            raise self._translated(error) from None
        return self._reply(heard)

    async def _exchange(self, text: str, heard: "_Heard") -> None:
        """Send a message and hear all that is said to it; whatever cuts this short cancels the task."""
        from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
        from a2a.helpers import new_text_message
        from a2a.types import GetTaskRequest, Role, SendMessageRequest, StreamResponse

        http = await self._http.get()
        config = ClientConfig(httpx_client=http, supported_protocol_bindings=BINDINGS)
        factory = ClientFactory(config)
        card = await A2ACardResolver(http, self._address).get_agent_card()
        config.polling = not card.capabilities.streaming  # either way the task's id is known at once
        client = factory.create(card)
        request = SendMessageRequest(message=new_text_message(text, role=Role.ROLE_USER))
        pause_s = SOONEST_S
        try:
            async for event in client.send_message(request):
                heard.take(event)
            while heard.under_way:
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, LATEST_S)
                heard.take(StreamResponse(task=await client.get_task(GetTaskRequest(id=heard.task))))
        finally:
            if heard.under_way:
                await asyncio.shield(_cancel(client, heard.task))

    def _reply(self, heard: "_Heard") -> Reply:
        """The whole reply.

        Raises:
            ModelError: the task failed or was turned down, or nothing was said.
        """
        if kind := UNWELL.get(heard.state):
            words = f"the task is {heard.state.lower()}: {heard.said or 'no reason was given'}"
            raise kind(f"{self.name}: {hidden(words, self._token)}", usage=heard.usage(self.name))
        usage = heard.usage(self.name)
        if not heard.text.strip():
            raise EmptyReply(f"{self.name} answered nothing", usage=usage)
        return Reply(message=Message.say("assistant", heard.text), usage=usage, model=self.name)

    def _translated(self, error: Exception) -> ModelError:
        import httpx
        from a2a.client import A2AClientTimeoutError

        cause = error.__cause__
        words = f"{self.name}: {hidden(str(error), self._token)}"
        if isinstance(error, A2AClientTimeoutError):
            return ModelTimeout(words)
        status = getattr(error, "status_code", None)
        if isinstance(cause, httpx.HTTPStatusError):
            status = cause.response.status_code
        if isinstance(status, int):
            kind = of_status(status, words)
            return kind(f"{words}; {TOKEN_HINT}" if kind is AuthFailed else words)
        found = translate(cause, self.name, self._token) if isinstance(cause, httpx.HTTPError) else None
        return found or (MalformedReply if isinstance(error, ValueError) else ServerError)(words)


async def _cancel(client: "Client", task: str) -> None:
    """Have the agent stop, if it still can be told."""
    from a2a.types import CancelTaskRequest
    from a2a.utils.errors import A2AError

    with suppress(A2AError, ValueError, TimeoutError):
        async with asyncio.timeout(CANCEL_S):
            await client.cancel_task(CancelTaskRequest(id=task))


class _Heard:
    """What an agent has said so far, and how its task stands."""

    def __init__(self, listener: Callable[[str], None] | None) -> None:
        self._listener = listener
        self._artifacts: dict[str, str] = {}
        self._usage: object = None
        self.task = self.said = self.state = ""

    def take(self, event: Any) -> None:
        """Hear one event: a message, a task as it stands, a change of it, or a piece of an artifact."""
        from a2a.helpers import get_message_text

        match event.WhichOneof("payload"):
            case "message":
                self.state, self.said = "", get_message_text(event.message)
                self._note(event.message)
                self._tell(self.said)
            case "task":
                self.task = event.task.id
                for artifact in event.task.artifacts:
                    self._take_artifact(artifact, append=False)
                self._stand(event.task.status)
            case "status_update":
                self.task = event.status_update.task_id
                self._stand(event.status_update.status)
            case "artifact_update":
                self._take_artifact(event.artifact_update.artifact, event.artifact_update.append)

    def _take_artifact(self, artifact: Any, append: bool) -> None:
        from a2a.helpers import get_artifact_text

        piece = get_artifact_text(artifact, "" if append else "\n")
        before = self._artifacts.get(artifact.artifact_id, "")
        self._artifacts[artifact.artifact_id] = before + piece if append else piece
        self._note(artifact)
        self._tell(piece if append else piece.removeprefix(before))

    def _stand(self, status: Any) -> None:
        from a2a.helpers import get_message_text
        from a2a.types import TaskState

        self.state = TaskState.Name(status.state).removeprefix("TASK_STATE_")
        self.said = get_message_text(status.message)
        self._note(status.message)

    def _note(self, said: Any) -> None:
        """Keep what it says that it spent."""
        if USAGE in said.metadata:
            told = said.metadata[USAGE]
            self._usage = dict(told) if isinstance(told, Mapping) else told

    def _tell(self, piece: str) -> None:
        if self._listener and piece:
            self._listener(piece)

    @property
    def under_way(self) -> bool:
        """Whether a task is known that has not come to rest."""
        return bool(self.task) and self.state in UNDER_WAY

    @property
    def text(self) -> str:
        """The reply so far."""
        return "\n".join(self._artifacts.values()) or self.said

    def usage(self, name: str) -> Usage:
        """What was spent, as one call; no tokens when the agent did not say.

        Raises:
            MalformedReply: what it says is no usage.
        """
        return usage_of_one(self._usage or {}, f"{name}: {USAGE}")
