"""MetaGPT: an assembly line of roles with structured documents, a message pool, and code that is run.

Paper: Hong et al. 2023, arXiv:2308.00352 (catalogue 200).
Idea: a standard operating procedure, where each role hands on a document and not chat. Product manager,
architect, project manager, engineer and QA engineer publish to a shared pool and act once the documents they
subscribed to are there (`pool.Pool`). Executable feedback: program and tests are run in a sandbox, and the
report wakes the engineer, r times at most.
Calls: at most 4 + r + min(1, r): without repairs no tests are written.
Deviates: one file of code instead of a repository, so the design lists functions, not files. QA reads the
first program; its tests stay as they are while the engineer mends the program.
Failure: a document whose role fails is published as missing, and the others work without it. When the first
program fails, the run fails; when a repair fails, the last program stands; without QA the program is only
run. To compare: `documents=False` lets the first three write freely, r=0 leaves the feedback out.
"""

from collections.abc import Sequence
from typing import Annotated, cast

from msgspec import Meta, Struct

from motet.agent import Voice
from motet.answers import extract, instruction
from motet.errors import ModelError
from motet.methods.code.trial import with_tests
from motet.methods.common import CODE, KEPT, at_least
from motet.methods.organise.pool import Documents, Pool, Role
from motet.structured import Shape
from motet.teams import team
from motet.tools.python import report
from motet.tools.sandbox import Limits
from motet.tools.sandbox import sandbox as open_sandbox
from motet.types import Content, Linked, Reply, Task, fill

SECTION = "# {kind}\n{document}"
ROLE = "{have}\n\n{wish}"
PRD = "As product manager, write the product requirements: the goals and what the program must do."
DESIGN = "As architect, design it: list each function with its signature and what it does."
PLAN = "As project manager, list the steps of the work in order, one function or check a step."
CODING = "As engineer, write the program as designed; if a report shows a failure, mend it. {form}"
TESTING = """\
As QA engineer, write tests as Python `assert` statements that run after the program, without importing it.
Only assert what the requirement demands. {form}"""
REPORT = "{report}\n\nThese were the tests:\n{tests}"
MISSING = "(missing: {failure})"
Line = Annotated[str, Meta(min_length=1)]
Some = Annotated[list[Line], Meta(min_length=1)]


class Requirements(Struct):
    """The product manager's document."""

    goals: Some
    requirements: Some


class Function(Struct):
    """One function of a design."""

    signature: Line
    does: Line


class Design(Struct):
    """The architect's document."""

    functions: Annotated[list[Function], Meta(min_length=1)]


class Plan(Struct):
    """The project manager's document."""

    steps: Some


@team
async def meta_gpt(  # noqa: PLR0913 (five voices are the method)
    task: Task,
    product_manager: Voice,
    architect: Voice,
    project_manager: Voice,
    engineer: Voice,
    qa: Voice,
    *,
    r: int = 3,
    documents: bool = True,
    sandbox: str = "bubblewrap",
    seconds: float = 10.0,
) -> Reply:
    """Turn a requirement into documents, code and tests, and mend the code by running it, `r` times."""
    at_least(0, r=r)
    box, form = open_sandbox(sandbox), instruction(CODE)
    limits = Limits.of(seconds)
    coding, testing = fill(CODING, form=form), fill(TESTING, form=form)
    reports = iter(range(r))

    async def execute(have: Documents) -> Linked | None:
        if next(reports, None) is None:
            return None
        program, tests = (extract(CODE, str(have[kind])) for kind in ("code", "tests"))
        if program is None:
            return Linked("There is no program in the code.")
        outcome = await with_tests(program, tests or "", box, limits)
        return None if outcome.ok else fill(REPORT, report=report(outcome, KEPT), tests=have["tests"])

    shapes: list[Shape | None] = [Requirements, Design, Plan] if documents else [None] * 3
    roles = [
        _role("prd", ["requirement"], [], product_manager, PRD, shapes[0]),
        _role("design", ["prd"], ["requirement"], architect, DESIGN, shapes[1]),
        _role("plan", ["design"], ["prd"], project_manager, PLAN, shapes[2]),
        _role("code", ["plan", "report"], ["requirement", "design", "plan"], engineer, coding),
        _role("tests", ["plan"], ["requirement", "design", "code"], qa, testing),
        Role("report", frozenset({"code", "tests"}), frozenset({"code", "tests"}), execute),
    ]
    pool = Pool(roles if r else roles[:4], requirement=task)
    await pool.work()
    return cast("Reply", pool.documents["code"])


def _role(
    makes: str,
    watches: Sequence[str],
    needs: Sequence[str],
    voice: Voice,
    wish: Content,
    shape: Shape | None = None,
) -> Role:
    """A voice that reads what it watches and needs, and its own last version."""
    reads = {*watches, *needs, makes}

    async def act(have: Documents) -> Content | None:
        read = [fill(SECTION, kind=k, document=document) for k, document in have.items() if k in reads]
        try:
            return await voice.ask(fill(ROLE, have=read, wish=wish), schema=shape)
        except ModelError as error:
            if makes != "code":
                return Linked(MISSING.format(failure=error.failure))
            if makes in have:
                return None
            raise

    return Role(makes, frozenset(watches), frozenset(needs), act)
