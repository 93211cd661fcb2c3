"""A voice or team served by the small protocol of `motet.models.remote`: one POST of JSON a reply.

with serving(agent_app(Performer(Agent("local"), name="poet"))) as address:
    print(Agent(f"agent:{address}"))
"""

import asyncio
from typing import TYPE_CHECKING, Annotated, Any, Literal

from msgspec import Meta, Struct

from motet.errors import BadInput, MissingExtra
from motet.remote.door import decoded
from motet.remote.performer import Performer
from motet.run import Run
from motet.types import FailureKind

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request


class Turn(Struct):
    """One message."""

    role: Literal["system", "user", "assistant"]
    text: str


class Asked(Struct):
    """What an agent is sent."""

    messages: list[Turn]
    schema: dict[str, Any] | None = None
    max_tokens: Annotated[int, Meta(ge=1)] | None = None

    def prompt(self) -> str:
        """The messages as one task: a single one as it is, several with who said them."""
        if len(self.messages) == 1:
            return self.messages[0].text
        return "\n\n".join(f"{turn.role}: {turn.text}" for turn in self.messages)


STATUS: dict[FailureKind, int] = {
    FailureKind.REFUSED: 403,
    FailureKind.RATE_LIMIT: 429,
    FailureKind.BUDGET: 429,
    FailureKind.BAD_REQUEST: 400,
    FailureKind.OVERFLOW: 413,
    FailureKind.TIMEOUT: 504,
}


def agent_app(performer: Performer) -> "Starlette":
    """An app that answers `POST /`.

    Raises:
        MissingExtra: starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import JSONResponse
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtra("starlette", "serve") from error

    async def answer(request: Request) -> JSONResponse:
        try:
            asked = decoded(await request.body(), Asked)
            if not asked.messages:
                raise BadInput("messages=[]: expected one or more")
            run = await _performed(performer, asked, request)
        except BadInput as error:
            return JSONResponse({"error": str(error)}, 400)
        if run.error:
            return JSONResponse({"error": str(run.error), "run": run.id}, STATUS.get(run.error.kind, 502))
        usage = {"input_tokens": run.usage.input_tokens, "output_tokens": run.usage.output_tokens}
        return JSONResponse({"reply": run.answer, "usage": usage, "run": run.id})

    return Starlette(routes=[Route("/", answer, methods=["POST"])])


async def _performed(performer: Performer, asked: Asked, request: "Request") -> Run:
    """A run that is cancelled when whoever asked hangs up."""
    run = performer.run(asked.prompt(), schema=asked.schema, max_tokens=asked.max_tokens)
    working = asyncio.create_task(run)

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        working.cancel()

    watching = asyncio.create_task(watch())
    try:
        return await working
    finally:
        watching.cancel()
