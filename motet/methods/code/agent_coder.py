"""AgentCoder: a programmer, a test designer who never sees the code, and a sandbox that runs both.

Paper: Huang et al. 2023, arXiv:2312.13010 (catalogue 2).
Idea: tests written by whoever wrote the code share its mistakes; tests written blind do not. What the tests
say goes back to the programmer until they pass.
Calls: at most 1 + r + min(1, r): without repairs no tests are written.
Deviates: program and tests run as one Python file, and a program that exits before its tests has not passed
them. The programmer is told how the run ended, with the last lines of its errors.
Failure: when the first program fails, the run fails. When a repair fails, the last program stands. When the
test designer fails, the program is only run. Without the sandbox the run fails before anything is asked.
"""

from motet.agent import Voice
from motet.answers import extract, instruction
from motet.combine import answered, ask_each
from motet.errors import ModelError
from motet.methods.code.trial import with_tests
from motet.methods.common import CODE, KEPT, at_least
from motet.teams import team
from motet.tools.sandbox import Limits, Outcome
from motet.tools.sandbox import sandbox as open_sandbox
from motet.types import Linked, Reply, Task, fill

PROGRAM = "{task}\n\nWork out the algorithm in a few sentences first. {form}"
TESTS = """\
A program is wanted for this:
{task}

Somebody else writes it; you will not see it. Write tests for it as Python `assert` statements that run after
the program, without importing it: the ordinary cases, the edge cases, and one with a large input. Only assert
what the text demands. Reply with one ```python block."""
REPAIR = """\
{task}

Your program:
{draft}

It was run with tests that it has not passed:
{report}

Find the mistake and mend it. {form}"""


@team
async def agent_coder(
    task: Task,
    programmer: Voice,
    tester: Voice,
    *,
    r: int = 5,
    sandbox: str = "bubblewrap",
    seconds: float = 10.0,
) -> Reply:
    """Write a program and, blind to it, its tests; mend the program by what they say, `r` times at most.

    `sandbox` names one of `motet.tools.sandbox`; a run of program and tests may take `seconds`.
    """
    at_least(0, r=r)
    box, form = open_sandbox(sandbox), instruction(CODE)
    limits = Limits.of(seconds)
    prompts = [fill(PROGRAM, task=task, form=form), fill(TESTS, task=task)]
    asked = [programmer, tester] if r else [programmer]
    first, *designed = await ask_each(asked, prompts[: len(asked)])
    (draft,) = answered([first])
    designs = tuple(reply for reply in designed if isinstance(reply, Reply))
    tests = "".join(extract(CODE, reply.text) or "" for reply in designs)
    for _ in range(r):
        program = extract(CODE, draft.text)
        outcome = await with_tests(program, tests, box, limits) if program else None
        if outcome and outcome.ok:
            break
        report = Linked(_report(outcome), designs)
        try:
            draft = await programmer.ask(fill(REPAIR, task=task, draft=draft, report=report, form=form))
        except ModelError:
            break
    return draft


def _report(outcome: Outcome | None) -> str:
    if outcome is None:
        return "There is no program in the reply."
    said = f"{outcome.stdout}\n{outcome.stderr}".strip()[-KEPT:]
    return said if outcome.reason == "error" else f"It was stopped: {outcome.reason}.\n{said}"
