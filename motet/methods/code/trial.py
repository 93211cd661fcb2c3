"""How well programs do on many small tests: one sandbox run per program, each test on its own."""

import ast
import re
import textwrap
import warnings
from collections.abc import Sequence
from functools import lru_cache

from msgspec import Struct

from motet.answers import extract
from motet.methods.common import CODE, KEPT
from motet.tools.sandbox import Limits, Sandbox
from motet.types import Linked, Reply

MARK = "[test {i}]"
CASE = """
try:
{test}
    print("\\n{mark} passed")
except Exception as error:
    print("\\n{mark}", type(error).__name__, error)
"""


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


def asserts(reply: Reply) -> list[Linked]:
    """The `assert` statements of a reply's program, each on one line; what cannot be parsed has none."""
    return [Linked(test, (reply,)) for test in _asserts_in(extract(CODE, reply.text) or "")]


@lru_cache
def _asserts_in(source: str) -> tuple[str, ...]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a bad escape in a model's string is no concern of ours
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(ast.unparse(node) for node in body if isinstance(node, ast.Assert))


async def tried(reply: Reply, tests: Sequence[Linked], box: Sandbox, limits: Limits) -> Trial:
    """Run a reply's program with each test.

    Raises:
        SandboxUnavailable: the sandbox cannot run it.
    """
    program = extract(CODE, reply.text)
    if program is None:
        return Trial(reply, -1, False, "There is no program in the reply.")
    marks = [MARK.format(i=i) for i in range(len(tests))]
    cases = [
        CASE.format(test=textwrap.indent(test.text, "    "), mark=mark)
        for test, mark in zip(tests, marks, strict=True)
    ]
    outcome = await box.run(program + "\n" + "".join(cases), limits=limits)
    said = dict(re.findall(r"(?m)^(\[test \d+\]) (.*)$", outcome.stdout))
    passed = sum(said.get(mark) == "passed" for mark in marks)
    lines = [
        f"{test.text}: {said.get(mark, 'was not reached')}"
        for test, mark in zip(tests, marks, strict=True)
        if said.get(mark) != "passed"
    ]
    if not outcome.ok:
        lines.append(f"It ended early ({outcome.reason}).\n{outcome.stderr.strip()[-KEPT:]}")
    return Trial(reply, passed, outcome.ok and passed == len(tests), "\n".join(lines))
