"""The other end of `motet.remote.web`: register with a server, find agents, have a group work on a task."""

from typing import Any
from urllib.parse import quote

import msgspec

from motet.agent import Agent
from motet.errors import AuthFailed, BadInput, ConnectionLost, ServerError
from motet.models.remote import checked_address, http_client
from motet.remote.web import Entry


class Web:
    """A server of agents.

    Args:
        address: `http://HOST:PORT`. token: what the server demands, if anything.
        timeout_s: time for an answer, in seconds; a group's work is one answer.

    Raises:
        BadInput: that is no address.
    """

    def __init__(self, address: str, *, token: str = "", timeout_s: float = 600.0) -> None:
        self._address, self._token, self._timeout_s = checked_address(address), token, timeout_s

    async def register(self, name: str, about: str, address: str, *, token: str = "") -> None:
        """Make an agent known; `token` is what the agent itself demands.

        Raises:
            BadInput: the server does not take it; its words say why.
        """
        entry = Entry(name, about, address, token)
        await self._ask("POST", "/agents", msgspec.json.encode(entry))

    async def forget(self, name: str) -> None:
        """Let an agent go."""
        await self._ask("DELETE", f"/agents/{quote(name, safe='')}")

    async def find(self, query: str = "", k: int = 5) -> list[Agent]:
        """The agents closest to a search, as voices to cast with."""
        found = await self._ask("GET", f"/agents?query={quote(query)}&k={k}")
        return [entry.agent() for entry in msgspec.convert(found, list[Entry])]

    async def work(self, task: str, client: str, **knobs: int) -> dict[str, Any]:
        """Have an agent work on a task with those it finds; see `POST /groups`."""
        wish = {"task": task, "client": client, **knobs}
        return msgspec.convert(await self._ask("POST", "/groups", msgspec.json.encode(wish)), dict[str, Any])

    async def _ask(self, method: str, path: str, body: bytes | None = None) -> Any:
        import httpx

        headers = {"content-type": "application/json"} if body else {}
        try:
            async with http_client(self._address, self._token, self._timeout_s) as client:
                answer = await client.request(method, self._address + path, content=body, headers=headers)
        except httpx.HTTPError as error:
            raise ConnectionLost(f"{self._address}: {type(error).__name__}: {error}") from error
        words = f"{self._address}{path}: HTTP {answer.status_code}: {answer.text[:500]}"
        if answer.status_code in (401, 403):
            raise AuthFailed(words)
        if answer.status_code >= 500:
            raise ServerError(words)
        if answer.status_code >= 400:
            raise BadInput(words)
        return answer.json() if answer.content else None
