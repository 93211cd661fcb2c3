"""Tools of a Model Context Protocol server, through the official package `mcp`.

What a server says, its descriptions as well as its answers, is data from outside: use servers you trust.
"""

import ipaddress
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from motet.errors import BadInput, MissingExtra, ToolError
from motet.types import ToolSpec

if TYPE_CHECKING:
    from mcp import Client, types
    from mcp.client import Transport

MOST_PAGES = 100  # of a list of tools, so that a server cannot list for ever
TIMEOUT = 30.0


class McpTool:
    """One tool of a server; it works as long as the connection is open."""

    def __init__(self, client: "Client", tool: "types.Tool", timeout_s: float) -> None:
        self._client = client
        self._remote_name = tool.name
        # Servers may use characters in names that models' servers refuse.
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", tool.name)[:64]
        self._spec = ToolSpec(name, tool.description or tool.name, tool.input_schema)
        self._timeout_s = timeout_s

    @property
    def spec(self) -> ToolSpec:
        """The tool as a model sees it."""
        return self._spec

    async def __call__(self, arguments: dict[str, Any]) -> str:
        """Call the tool on the server; the texts of its answer are joined by line breaks."""
        from mcp import MCPError

        try:
            result = await self._client.call_tool(
                self._remote_name, arguments, read_timeout_seconds=self._timeout_s
            )
        except MCPError as error:
            raise ToolError(f"{self._spec.name}: {error}; called with {arguments!r}") from error
        text = _text(result)
        if result.is_error:
            raise ToolError(text or f"{self._spec.name} failed without a word; called with {arguments!r}")
        return text

    def __repr__(self) -> str:
        return f"<mcp tool {self._spec.name}>"


@asynccontextmanager
async def mcp_tools(
    server: str | Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    timeout_s: float = 30.0,
    allow_http: bool = False,
) -> AsyncIterator[list[McpTool]]:
    """Connect to a server and offer its tools while the block lasts.

        async with mcp_tools(["python", "server.py"]) as tools: ...
        async with mcp_tools("https://example.org/mcp", headers={"Authorization": "Bearer …"}) as tools: ...

    Args:
        server: the words of a command, spoken to over stdio, or a URL, spoken to over streamable HTTP.
        env: more environment variables for the command; it otherwise sees little but PATH and HOME.
        headers: more HTTP headers for the URL.
        timeout_s: seconds one request may take.
        allow_http: also take an unencrypted URL of another machine.

    Raises:
        BadInput: the URL is neither https nor on this machine, or the command is empty.
        MissingExtra: the package mcp is not installed.
        ToolError: the server cannot be reached, or does not speak the protocol.
    """
    try:
        import httpx2
        from mcp import Client, MCPError
    except ImportError as error:
        raise MissingExtra("mcp", "tools") from error
    failed = None
    async with AsyncExitStack() as stack:
        try:
            transport = await _transport(server, env, headers, allow_http, stack)
            client = await stack.enter_async_context(Client(transport, read_timeout_seconds=timeout_s))
            found = await _list(client)
        except (OSError, MCPError, httpx2.HTTPError, ExceptionGroup) as error:
            causes = "; ".join(str(cause) for cause in _leaves(error))
            raise ToolError(f"cannot talk to the MCP server {server!r}: {causes}") from error
        try:
            yield [McpTool(client, tool, timeout_s) for tool in found]
        except Exception as error:  # boundary: the task groups of mcp would wrap what the block raises
            failed = error
    if failed is not None:
        raise failed


def _leaves(error: Exception) -> list[Exception]:
    if isinstance(error, ExceptionGroup):
        return [leaf for inner in error.exceptions for leaf in _leaves(inner)]
    return [error]


async def _transport(
    server: str | Sequence[str],
    env: Mapping[str, str] | None,
    headers: Mapping[str, str] | None,
    allow_http: bool,
    stack: AsyncExitStack,
) -> "Transport":
    import httpx2
    from mcp import StdioServerParameters, stdio_client
    from mcp.client.streamable_http import streamable_http_client

    if isinstance(server, str):
        check_url(server, allow_http)
        http = await stack.enter_async_context(httpx2.AsyncClient(headers=headers, timeout=TIMEOUT))
        return streamable_http_client(server, http_client=http)
    if not server:
        raise BadInput("the command of the MCP server is empty; expected e.g. ['python', 'server.py']")
    return stdio_client(StdioServerParameters(command=server[0], args=[*server[1:]], env=dict(env or {})))


def check_url(url: str, allow_http: bool) -> None:
    """Refuse a URL over which anybody could read along.

    Raises:
        BadInput: it is neither https nor http on this machine.
    """
    parts = urlsplit(url)
    if parts.scheme == "https" and parts.hostname:
        return
    if parts.scheme == "http" and parts.hostname and (allow_http or _loopback(parts.hostname)):
        return
    raise BadInput(
        f"MCP server {url!r}: expected https://…, or http:// on this machine; "
        "pass allow_http=True to speak unencrypted to another, or a list of words to start a command"
    )


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


async def _list(client: "Client") -> "list[types.Tool]":
    found: list[types.Tool] = []
    cursor = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def _text(result: "types.CallToolResult") -> str:
    parts = []
    for part in result.content:
        match part.type:
            case "text":
                parts.append(part.text)
            case "resource":
                parts.append(
                    getattr(part.resource, "text", f"[{part.resource.mime_type} at {part.resource.uri}]")
                )
            case "resource_link":
                parts.append(f"[{part.mime_type or 'something'} at {part.uri}]")
            case _:
                parts.append(f"[{part.type}, {part.mime_type}]")
    if not parts and result.structured_content is not None:
        return msgspec.json.encode(result.structured_content).decode()
    return "\n".join(parts)
