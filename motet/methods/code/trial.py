"""Programs and their tests in a sandbox: all in one, or each test on its own.

A program that exits leaves its tests behind and seems to end well: what counts is a mark printed after them,
which no program knows beforehand. What a program does only when it is the main one is not done under tests.
"""

import ast
import re
import textwrap
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct
from msgspec.structs import replace

from motet.answers import extract
from motet.methods.code.source import not_main, parsed
from motet.methods.common import CODE, KEPT, dice
from motet.tools.sandbox import Limits, Outcome, Sandbox
from motet.types import Linked, Reply

ENDED = "The program ended before its tests: it must define what is asked for, and not exit."
UNREACHED = "was not reached"
LAST = 'print("\\n{mark}")'
CASE = """
try:
{test}
    print("\\n{mark} {i} passed")
except Exception as error:
    print("\\n{mark} {i}", type(error).__name__, error)
"""
STATEMENT = re.compile(r"(?m)^(?=[A-Za-z_@])")


class Trial(Struct, frozen=True):
    """A program and what became of it.

    Args:
        passed: how many tests it passes; -1 for a reply without a program.
        clean: it ran to its end and passed all tests.
        report: what went wrong, in words.
    """

    reply: Reply
    passed: int
    clean: bool
    report: str


async def with_tests(program: str, tests: str, box: Sandbox, limits: Limits) -> Outcome:
    """Run a program with tests after it; one that ends before they do has failed, however it ends.

    Raises:
        SandboxUnavailable: the sandbox cannot run it.
    """
    if not tests.strip():
        return await box.run(f"{program}\n", limits=limits)
    mark = _mark(program, tests)
    source = "\n\n".join((not_main(program), tests, LAST.format(mark=mark)))
    outcome = await box.run(f"{source}\n", limits=limits)
    if not outcome.ok or mark in outcome.stdout:
        return outcome
    return replace(outcome, ok=False, reason="error", stderr=f"{outcome.stderr}\n{ENDED}")


def asserts(reply: Reply) -> list[Linked]:
    """The `assert` statements of a reply's program, each on one line; what cannot be parsed is left out."""
    return [Linked(test, (reply,)) for test in _asserts_in(extract(CODE, reply.text) or "")]


@lru_cache
def _asserts_in(source: str) -> tuple[str, ...]:
    body = parsed(source)  # or, where something is wrong, what begins at the margin, each by itself
    body = body or [node for part in STATEMENT.split(source) for node in parsed(part)]
    return tuple(ast.unparse(found) for node in body for found in _asserts_of(node))


def _asserts_of(node: ast.stmt) -> Sequence[ast.stmt]:
    """The statement itself, or all of a function that takes nothing and only asserts."""
    match node:
        case ast.Assert():
            return [node]
        case ast.FunctionDef(
            args=ast.arguments(posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kwarg=None)
        ):
            said = node.body[1:] if ast.get_docstring(node) is not None else node.body
            return said if all(isinstance(one, ast.Assert) for one in said) else []
    return []


def _mark(program: str, tests: str) -> str:
    return f"[{dice('tests', program, tests).getrandbits(64):x}]"


async def tried(reply: Reply, tests: Sequence[Linked], box: Sandbox, limits: Limits) -> Trial:
    """Run a reply's program with each test.

    Raises:
        SandboxUnavailable: the sandbox cannot run it.
    """
    program = extract(CODE, reply.text)
    if program is None:
        return Trial(reply, -1, False, "There is no program in the reply.")
    mark = _mark(program, "\n".join(test.text for test in tests))
    cases = [
        CASE.format(test=textwrap.indent(test.text, "    "), mark=mark, i=i) for i, test in enumerate(tests)
    ]
    source = "\n".join((not_main(program) if tests else program, *cases))
    outcome = await box.run(f"{source}\n", limits=limits)
    said = dict(re.findall(rf"(?m)^{re.escape(mark)} (\d+) (.*)$", outcome.stdout))
    marks = [said.get(str(i), UNREACHED) for i in range(len(tests))]
    passed = marks.count("passed")
    lines = [f"{t.text}: {told}" for t, told in zip(tests, marks, strict=True) if told != "passed"]
    if outcome.ok and UNREACHED in marks:
        lines.append(ENDED)
    if not outcome.ok:
        lines.append(f"It ended early ({outcome.reason}).\n{outcome.stderr.strip()[-KEPT:]}")
    return Trial(reply, passed, outcome.ok and passed == len(tests), "\n".join(lines))
