"""A voice or team served as an agent of the A2A protocol, through the official SDK.

    with serving(a2a_app(Performer(team)), public=PUBLIC) as address: …

Its card is at `/.well-known/agent-card.json`; it takes messages of text at `/`, whole or streamed: a client
that streams is told of each voice as it answers, and then the answer. Each message is a task of its own, and
what it cost is in the metadata of its answer, under `motet/usage`. A task that is cancelled stops its run.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from motet import __version__
from motet.errors import BadInput, MissingExtra
from motet.models.a2a import USAGE
from motet.remote.performer import Performer
from motet.run import Run
from motet.tape import Called, Live

if TYPE_CHECKING:
    from starlette.applications import Starlette

CARD = "/.well-known/agent-card.json"
PUBLIC = (CARD,)
TEXT = "text/plain"
BROKEN = "the agent broke down on this task; whoever runs it can read why in its log"

log = logging.getLogger(__name__)


def a2a_app(performer: Performer, *, token: bool = False) -> "Starlette":
    """An app that serves a voice or team as an A2A agent (JSON-RPC).

    Args:
        token: whether the door demands one; the card says so.

    Raises:
        MissingExtra: the SDK is not installed.
    """
    try:
        from a2a.server.request_handlers import DefaultRequestHandler
        from a2a.server.request_handlers.response_helpers import agent_card_to_dict
        from a2a.server.routes import create_jsonrpc_routes
        from a2a.server.tasks import InMemoryTaskStore
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import JSONResponse
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtra("a2a-sdk[http-server]", "serve") from error
    handler = DefaultRequestHandler(
        _executor(performer),
        InMemoryTaskStore(),
        agent_card(performer, "/", token),
        validate_input_modes=True,
    )

    async def card(request: Request) -> JSONResponse:
        return JSONResponse(agent_card_to_dict(agent_card(performer, str(request.base_url), token)))

    return Starlette(
        routes=[Route(CARD, card), *create_jsonrpc_routes(handler, "/", enable_v0_3_compat=True)]
    )


def agent_card(performer: Performer, address: str, token: bool = False) -> Any:
    """What an agent says of itself: an `a2a.types.AgentCard`."""
    from a2a.types import (
        AgentCapabilities,
        AgentCard,
        AgentInterface,
        AgentSkill,
        HTTPAuthSecurityScheme,
        SecurityRequirement,
        SecurityScheme,
        StringList,
    )

    skill = AgentSkill(id="answer", name=performer.name, description=performer.about, tags=["text"])
    card = AgentCard(
        name=performer.name,
        description=performer.about,
        version=__version__,
        supported_interfaces=[
            AgentInterface(url=address, protocol_binding="JSONRPC", protocol_version=version)
            for version in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=True),
        default_input_modes=[TEXT],
        default_output_modes=[TEXT],
        skills=[skill],
    )
    if token:
        scheme = SecurityScheme(http_auth_security_scheme=HTTPAuthSecurityScheme(scheme="bearer"))
        card.security_schemes["token"].CopyFrom(scheme)
        card.security_requirements.append(SecurityRequirement(schemes={"token": StringList()}))
    return card


async def _tried(performer: Performer, text: str, hear: Callable[[Live], None]) -> Run | str:
    """A run, or why there is none, in words that whoever asked may read."""
    try:
        return await performer.run(text, on_event=hear)
    except BadInput as error:
        return str(error)
    except Exception:  # the boundary with whoever asks: what a bug says is for us alone
        log.exception("%s broke down on a task", performer.name)
        return BROKEN


def _executor(performer: Performer) -> Any:
    """The performer as an `AgentExecutor`."""
    from a2a.helpers import new_task, new_text_part
    from a2a.server.agent_execution import AgentExecutor, RequestContext
    from a2a.server.events import EventQueue
    from a2a.server.tasks import TaskUpdater
    from a2a.types import Message, TaskState

    class Executor(AgentExecutor):
        async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
            message, id_, about = context.message, context.task_id or "", context.context_id or ""
            assert message is not None
            if context.current_task is None:
                task = new_task(id_, about, TaskState.TASK_STATE_SUBMITTED, history=[message])
                await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, id_, about)

            def words(text: str, run: Run | None = None) -> Message:
                return updater.new_agent_message([new_text_part(text)], _spent(run) if run else None)

            text = context.get_user_input()
            if not text.strip() or any(part.WhichOneof("content") != "text" for part in message.parts):
                return await updater.reject(words("expected a message of text, and nothing else"))
            await updater.start_work()
            heard: asyncio.Queue[str] = asyncio.Queue()

            def hear(event: Live) -> None:
                if isinstance(event, Called) and event.node:
                    heard.put_nowait(f"{event.voice} has answered")

            working = asyncio.create_task(_tried(performer, text, hear))
            working.add_done_callback(lambda _: heard.put_nowait(""))
            try:
                while news := await heard.get():
                    await updater.start_work(words(news))
                run = await working
            finally:
                working.cancel()
            if isinstance(run, str):
                return await updater.failed(words(run))
            if run.error:
                return await updater.failed(words(str(run.error), run))
            await updater.add_artifact([new_text_part(run.answer)], name="answer", metadata=_spent(run))
            return await updater.complete()

        async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
            await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()

    return Executor()


def _spent(run: Run) -> dict[str, Any]:
    """What a run came to, as metadata."""
    return {USAGE: msgspec.to_builtins(run.usage)}
