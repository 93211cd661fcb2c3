"""A real MCP server for the tests: over stdio, or over HTTP on the port given as its argument."""

import os
import sys

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("test", log_level="ERROR")


@server.tool()
def add(a: int, b: int) -> str:
    """Add two numbers."""
    return str(a + b)


@server.tool(name="get.lines")
def lines() -> list[str]:
    """Give two texts."""
    return ["one", "two"]


@server.tool()
def fail() -> str:
    """Fail."""
    raise ToolError("it is broken")


@server.tool()
def secret() -> str:
    """Tell two variables of the environment."""
    return f"{os.environ.get('OPENAI_API_KEY')} {os.environ.get('GIVEN')}"


if len(sys.argv) > 1:
    server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
else:
    server.run("stdio")
