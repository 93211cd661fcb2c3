"""A tool that runs Python in a sandbox."""

from motet.tools.sandbox import Limits, Outcome, Sandbox, default_sandbox
from motet.tools.tool import FunctionTool, tool

ENDINGS = {
    "error": "[exit code {exit_code}]",
    "timeout": "[stopped: it took more than {wall_s:.1f} s]",
    "memory": "[stopped: it needs more memory than it may use]",
    "output": "[stopped: it printed too much]",
}


def python_tool(
    sandbox: Sandbox | None = None,
    *,
    limits: Limits = Limits(),
    characters: int = 8_000,
) -> FunctionTool:
    """Make a tool named `python` that runs a program and tells what it printed.

    Args:
        sandbox: where it runs; `default_sandbox()` when None.
        limits: what a program may use up.
        characters: how much of the output the model is shown.

    Raises:
        SandboxUnavailable: there is no safe sandbox on this machine.
    """
    place = sandbox if sandbox is not None else default_sandbox()

    async def python(code: str) -> str:
        """Run a Python 3 program and read what it prints. Each run starts afresh, with no network.

        Args:
            code: the whole program; print() what you want to know.
        """
        return report(await place.run(code, limits=limits), characters)

    return tool(python)


def report(outcome: Outcome, characters: int) -> str:
    """Tell in words what a program printed and how it ended."""
    parts = [shorten(text.rstrip(), characters) for text in (outcome.stdout, outcome.stderr) if text.strip()]
    if not outcome.ok:
        parts.append(ENDINGS[outcome.reason].format(exit_code=outcome.exit_code, wall_s=outcome.wall_s))
    return "\n".join(parts) or "[it printed nothing; use print()]"


def shorten(text: str, characters: int) -> str:
    """Keep the beginning and the end of a long text, and say how much is left out."""
    left_out = len(text) - characters
    if left_out <= 0:
        return text
    half = characters // 2
    return f"{text[:half]}\n[… {left_out} characters left out …]\n{text[len(text) - half :]}"
