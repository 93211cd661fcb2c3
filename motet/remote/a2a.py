"""A voice or team served as an agent of the A2A protocol, through the official SDK.

    with serving(a2a_app(Performer(team)), public=PUBLIC) as address: …

Its card is at `/.well-known/agent-card.json`; it takes messages of text at `/`, whole or streamed: a client
that streams is told of each voice as it answers, and then the answer. Each message is a task of its own.
"""

import asyncio
from typing import TYPE_CHECKING, Any

from motet import __version__
from motet.errors import MissingExtra, MotetError
from motet.remote.performer import Performer
from motet.tape import Called, Live

if TYPE_CHECKING:
    from starlette.applications import Starlette

CARD = "/.well-known/agent-card.json"
PUBLIC = (CARD,)
TEXT = "text/plain"


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


def _executor(performer: Performer) -> Any:
    """The performer as an `AgentExecutor`."""
    from a2a.helpers import new_task_from_user_message, new_text_part
    from a2a.server.agent_execution import AgentExecutor, RequestContext
    from a2a.server.events import EventQueue
    from a2a.server.tasks import TaskUpdater

    class Executor(AgentExecutor):
        async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
            assert context.message is not None
            task = context.current_task or new_task_from_user_message(context.message)
            if context.current_task is None:
                await event_queue.enqueue_event(task)
            updater = TaskUpdater(event_queue, task.id, task.context_id)
            await updater.start_work()
            heard: asyncio.Queue[str] = asyncio.Queue()

            def hear(event: Live) -> None:
                if isinstance(event, Called) and event.node:
                    heard.put_nowait(f"{event.voice} has answered")

            working = asyncio.create_task(performer.run(context.get_user_input(), on_event=hear))
            working.add_done_callback(lambda _: heard.put_nowait(""))
            try:
                while words := await heard.get():
                    await updater.start_work(updater.new_agent_message([new_text_part(words)]))
                run = await working
            except MotetError as error:
                return await updater.failed(updater.new_agent_message([new_text_part(str(error))]))
            finally:
                working.cancel()
            if run.error:
                return await updater.failed(updater.new_agent_message([new_text_part(str(run.error))]))
            await updater.add_artifact([new_text_part(run.answer)], name="answer")
            return await updater.complete()

        async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
            await TaskUpdater(event_queue, context.task_id or "", context.context_id or "").cancel()

    return Executor()
