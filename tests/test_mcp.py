"""Tools of real MCP servers, over stdio and over HTTP on loopback."""

import asyncio
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from motet.errors import BadInput, ToolError
from motet.tools import check_tool, mcp_tools
from motet.tools.mcp import check_url

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]


@pytest.fixture(scope="module")
def url():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    process = subprocess.Popen([*SERVER, str(port)], stderr=subprocess.DEVNULL)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            break
        except OSError:
            time.sleep(0.02)
    yield f"http://127.0.0.1:{port}/mcp"
    process.terminate()
    process.wait()


async def exercise(server, **given):
    async with mcp_tools(server, **given) as tools:
        by_name = {tool.spec.name: tool for tool in tools}
        assert sorted(by_name) == ["add", "fail", "get_lines", "secret"]
        add = by_name["add"]
        assert add.spec.description == "Add two numbers."
        assert add.spec.parameters["required"] == ["a", "b"]
        await check_tool(add, {"a": 2, "b": 3})
        assert await add({"a": 2, "b": 3}) == "5"
        assert await by_name["get_lines"]({}) == "one\ntwo"
        with pytest.raises(ToolError, match="broken"):
            await by_name["fail"]({})
        with pytest.raises(ToolError):
            await add({"a": "x"})
        return await by_name["secret"]({})


def test_over_stdio_secrets_stay_at_home(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert asyncio.run(exercise(SERVER, env={"GIVEN": "yes"})) == "None yes"


def test_over_http(url):
    asyncio.run(exercise(url, headers={"X-Test": "1"}))


def test_errors_of_the_block_stay_what_they_are():
    async def main():
        async with mcp_tools(SERVER):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        asyncio.run(main())


@pytest.mark.parametrize(
    "server", [["/no/such/program"], [sys.executable, "-c", "print(1)"], "http://127.0.0.1:1/mcp"]
)
def test_a_server_that_cannot_be_reached(server):
    async def main():
        async with mcp_tools(server, timeout_s=5):
            pass

    with pytest.raises(ToolError, match="MCP server"):
        asyncio.run(main())


def test_a_slow_tool_is_given_up():
    program = [sys.executable, "-c", SLOW]

    async def main():
        async with mcp_tools(program, timeout_s=2) as (tool,):
            tool._timeout_s = 0.05
            await tool({})

    with pytest.raises(ToolError, match="sleep"):
        asyncio.run(main())


SLOW = """
import asyncio
from mcp.server.mcpserver import MCPServer
server = MCPServer("slow", log_level="ERROR")
@server.tool()
async def sleep() -> str:
    await asyncio.sleep(30)
    return "late"
server.run("stdio")
"""


@pytest.mark.parametrize(
    "address", ["http://example.org/mcp", "ftp://localhost", "localhost", "https://", "http://1.2.3.4"]
)
def test_unsafe_addresses_are_refused(address):
    with pytest.raises(BadInput):
        check_url(address, allow_http=False)


@pytest.mark.parametrize(
    "address", ["https://example.org", "http://localhost:1/x", "http://127.9.9.9", "http://[::1]:80"]
)
def test_safe_addresses(address):
    check_url(address, allow_http=False)
    check_url("http://example.org", allow_http=True)


def test_an_empty_command():
    async def main():
        async with mcp_tools([]):
            pass

    with pytest.raises(BadInput, match="empty"):
        asyncio.run(main())
