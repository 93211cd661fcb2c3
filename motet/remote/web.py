"""The Internet of Agents' server: agents register and are found, and groups of them work on tasks.

After Chen et al. 2024, arXiv:2407.07061 (catalogue 172). Every message of a group passes through the server,
which keeps it on its tape; agents need to know nobody but the server. JSON over HTTP:

    POST   /agents           {"name", "about", "address", "token"?}   201; 409 when another has the name
    GET    /agents?query=&k= [{"name", "about", "address"}, …]        best first
    DELETE /agents/NAME                                               204
    POST   /groups           {"task", "client", "t"?, "D"?, "k"?}     {"run", "answer", "error", "messages"}

An address is a model's name: `agent:http://HOST:PORT` (a POST of JSON, see `motet.models.remote`),
`a2a:http://HOST:PORT`, or `http://HOST:PORT/v1#NAME`. Without a token, only agents here are taken.
"""

from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from motet.agent import Agent
from motet.budget import Budget
from motet.errors import BadInput, MissingExtra, UnknownName
from motet.methods.organise.internet_of_agents import internet_of_agents
from motet.methods.organise.roster import closest
from motet.models.protocol import Model
from motet.remote.door import decoded, is_loopback
from motet.remote.performer import own_store
from motet.run import Run
from motet.tape import Store

if TYPE_CHECKING:
    from starlette.applications import Starlette

MOST_AGENTS = 10_000
KEPT = 2_000  # characters of a message that are shown


class Entry(Struct, frozen=True, omit_defaults=True):
    """An agent as it registers.

    Args:
        name: by which it is known. about: what it can do. address: where it is asked.
        token: what it demands of the server; never shown to anybody else.
    """

    name: Annotated[str, Meta(pattern=r"^[A-Za-z][\w-]{0,63}$")]
    about: Annotated[str, Meta(min_length=1, max_length=500)]
    address: Annotated[str, Meta(max_length=500)]
    token: Annotated[str, Meta(max_length=500)] = ""

    def agent(self) -> Agent:
        """The agent as a voice."""
        return Agent(_model(self.address, self.token), instructions=f"{self.name}: {self.about}")

    def shown(self) -> dict[str, str]:
        """What others may know of it."""
        return {"name": self.name, "about": self.about, "address": self.address}


class Wish(Struct):
    """A task for a group."""

    task: Annotated[str, Meta(min_length=1)]
    client: str
    t: Annotated[int, Meta(ge=2, le=50)] = 6
    D: Annotated[int, Meta(ge=1, le=3)] = 1
    k: Annotated[int, Meta(ge=1, le=50)] = 5


def _model(address: str, token: str) -> Model:
    """A model at an address; the token is for it alone, and no key of ours is shown to it."""
    from motet.models.a2a import A2A
    from motet.models.openai_api import OpenAICompatible
    from motet.models.remote import RemoteAgent, checked_address

    kind, _, rest = address.partition(":")
    if kind == "agent":
        return RemoteAgent(rest, token=token)
    if kind == "a2a":
        return A2A(rest, token=token)
    base, hash_sign, name = address.partition("#")
    if kind not in ("http", "https") or not hash_sign or not name:
        raise BadInput(
            f"address {address!r}: expected agent:http://HOST:PORT, a2a:http://HOST:PORT or http://HOST:PORT/v1#NAME"
        )
    return OpenAICompatible(name, name=address, base_url=checked_address(base), api_key=token or None)


class Registry:
    """The agents that can be found, in memory: they register again with a server that begins anew.

    Args:
        anywhere: whether agents on other machines may register.
    """

    def __init__(self, *, anywhere: bool = False) -> None:
        self._anywhere = anywhere
        self._entries: dict[str, Entry] = {}

    def register(self, entry: Entry) -> None:
        """Take an agent in; the same name and address again change what is said of it.

        Raises:
            BadInput: the name is taken, the address is none, on another machine, or there is no room.
        """
        entry.agent()
        host = urlsplit(entry.address.removeprefix("agent:").removeprefix("a2a:")).hostname or ""
        if not self._anywhere and not is_loopback(host):
            raise BadInput(
                f"address {entry.address!r}: a server without a token takes agents on this machine"
            )
        known = self._entries.get(entry.name)
        if known and known.address != entry.address:
            raise BadInput(f"name {entry.name!r} is taken by an agent at {known.address}; choose another")
        if not known and len(self._entries) >= MOST_AGENTS:
            raise BadInput(f"{MOST_AGENTS} agents are registered; there is no room for {entry.name!r}")
        self._entries[entry.name] = entry

    def forget(self, name: str) -> None:
        """Let an agent go.

        Raises:
            UnknownName: there is none of this name.
        """
        self.named(name)
        del self._entries[name]

    def named(self, name: str) -> Entry:
        """The agent of a name.

        Raises:
            UnknownName: there is none.
        """
        if name not in self._entries:
            raise UnknownName("agent", name, self._entries)
        return self._entries[name]

    def find(self, query: str = "", k: int = 5) -> list[Entry]:
        """The `k` agents closest to a search; without a query the first."""
        entries = list(self._entries.values())
        return [entries[i] for i in closest(query, [f"{e.name} {e.about}" for e in entries], k)]

    def group(self, wish: Wish) -> Any:
        """The team for a task: the client, and all others to be found.

        Raises:
            UnknownName: there is no such client. BadInput: there is nobody else.
        """
        client = self.named(wish.client)
        others = [entry.agent() for entry in self._entries.values() if entry is not client]
        if not others:
            raise BadInput(f"{wish.client!r} is the only agent; there is nobody to form a group with")
        return internet_of_agents(t=wish.t, D=wish.D, k=wish.k).cast(client=client.agent(), agents=others)


def web_app(registry: Registry, *, budget: Budget | None = None, store: Store | None = None) -> "Starlette":
    """An app that serves a registry and its groups.

    Args:
        budget: hard limits of each group.
        store: where the tapes are kept; the project's when left out. No other thread may use it.

    Raises:
        MissingExtra: starlette is not installed.
    """
    try:
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import JSONResponse, Response
        from starlette.routing import Route
    except ImportError as error:
        raise MissingExtra("starlette", "serve") from error

    async def register(request: Request) -> Response:
        registry.register(entry := decoded(await request.body(), Entry))
        return JSONResponse(entry.shown(), 201)

    async def find(request: Request) -> Response:
        k = request.query_params.get("k", "5")
        if not k.isdecimal() or not 1 <= int(k) <= MOST_AGENTS:
            raise BadInput(f"k={k!r}: expected a whole number, 1 to {MOST_AGENTS}")
        return JSONResponse([e.shown() for e in registry.find(request.query_params.get("query", ""), int(k))])

    async def forget(request: Request) -> Response:
        registry.forget(request.path_params["name"])
        return Response(status_code=204)

    async def group(request: Request) -> Response:
        nonlocal store
        store = own_store() if store is None else store
        wish = decoded(await request.body(), Wish)
        return JSONResponse(report(await registry.group(wish).arun(wish.task, budget=budget, store=store)))

    async def refused(request: Request, error: Exception) -> Response:
        status = 404 if isinstance(error, UnknownName) else 409 if "is taken" in str(error) else 400
        return JSONResponse({"error": str(error)}, status)

    routes = [
        Route("/agents", register, methods=["POST"]),
        Route("/agents", find, methods=["GET"]),
        Route("/agents/{name}", forget, methods=["DELETE"]),
        Route("/groups", group, methods=["POST"]),
    ]
    return Starlette(routes=routes, exception_handlers={BadInput: refused})


def report(run: Run) -> dict[str, Any]:
    """What is told of a group's work: its answer or failure, and who said what."""
    said = [(call.voice, run.tape.path(call.node)[-1].text) for call in run.calls if call.node]
    return {
        "run": run.id,
        "answer": run.answer if run.ok else None,
        "error": str(run.error) if run.error else None,
        "messages": [{"who": who, "text": text[:KEPT]} for who, text in said],
    }
