"""Tools that voices may call, and the sandboxes that run what models write.

Heavy packages are imported when a tool that needs them is made.
"""

from motet.tools.calculator import calculator
from motet.tools.contract import check_tool
from motet.tools.mcp import mcp_tools
from motet.tools.python import python_tool
from motet.tools.sandbox import Limits, Outcome, Sandbox, default_sandbox, sandbox
from motet.tools.search import search_tool
from motet.tools.sql import sql_tool
from motet.tools.tool import FunctionTool, Tool, parse_arguments, tool

__all__ = [
    "FunctionTool",
    "Limits",
    "Outcome",
    "Sandbox",
    "Tool",
    "calculator",
    "check_tool",
    "default_sandbox",
    "mcp_tools",
    "parse_arguments",
    "python_tool",
    "sandbox",
    "search_tool",
    "sql_tool",
    "tool",
]
