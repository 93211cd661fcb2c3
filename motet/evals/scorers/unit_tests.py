"""The program must pass the task's unit tests, in a sandbox. The form of HumanEval (arXiv:2107.03374).

Success is a secret word printed after the tests: it comes by stdin, which the program finds empty, so
neither printing, nor `sys.exit(0)`, nor reading its own file passes for it. (A program that goes through
the interpreter's frames can still cheat: it shares a process with its tests.)
"""

import secrets
from dataclasses import dataclass, field

from motet.answers import extract
from motet.errors import BadInput
from motet.evals.scorers.protocol import NO_ANSWER, Score
from motet.tools.sandbox import Sandbox, default_sandbox
from motet.types import Task

HARNESS = """\
import runpy, sys

def main(word):
    runpy.run_path("candidate.py", run_name="candidate")
    print("\\n" + word)

main(sys.stdin.read())
"""


@dataclass(frozen=True)
class UnitTests:
    """Marks 1 when `task.tests`, put after the program, run to their end."""

    sandbox: Sandbox | None = field(default=None)
    name: str = "tests"

    async def __call__(self, task: Task, answer: str) -> Score:
        if not task.tests:
            raise BadInput(f"item {task.id!r} has no tests; a code item needs Python source in `tests`")
        code = extract(task, answer)
        if code is None:
            return NO_ANSWER
        word = secrets.token_hex(16)
        files = {"candidate.py": f"{code}\n\n{task.tests}\n"}
        done = await (self.sandbox or default_sandbox()).run(HARNESS, files=files, stdin=word)
        if done.ok and done.stdout.rstrip().rpartition("\n")[2] == word:
            return Score(1.0, "all tests pass", code)
        last = done.stderr.strip().rpartition("\n")[2] or "it ended before its tests did"
        return Score(0.0, f"{done.reason}: {last}", code)
