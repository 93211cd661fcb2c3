"""Self-organised agents: agents that multiply with the size of a program, each keeping a small piece.

Paper: Ishibashi and Nishimura 2024, arXiv:2404.02183 (catalogue 5).
Idea: a mother is given a function to write. She writes a short skeleton that leaves functions open, and for
each (b at most) an agent is made, a child, or a mother again above depth D. The pieces are put together and
run with tests; by what the tests say each agent mends its own piece, the mother first, since a child sees of
her piece what calls its function, in r rounds at most. So the number of agents follows the program, and what
one of them reads stays nearly as it is: it grows with the calls in its mother's piece, b at most.
Calls: at most min(1, r) + (1 + r) * (b ** D - 1) / (b - 1): without mending no tests are written.
Deviates: the tests come from a voice that never sees code. Who is in the tree is settled in the first pass;
mending makes no more agents. A function past the b-th stays with the mother, open.
Failure: an agent that fails leaves its function open, or its piece as it was. When the root fails, the run
fails; without tests the program is only run. Without the sandbox the run fails before anything is asked.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from motet.agent import Voice
from motet.answers import extract, instruction
from motet.combine import answered, ask_each
from motet.concurrency import all_of
from motet.errors import BadInput
from motet.methods.code.agent_coder import TESTS
from motet.methods.code.trial import with_tests
from motet.methods.common import CODE, KEPT, at_least
from motet.methods.organise.pieces import Node
from motet.teams import Voices, team
from motet.tools.python import report
from motet.tools.sandbox import Limits
from motet.tools.sandbox import sandbox as open_sandbox
from motet.types import Failure, Linked, Reply, Task, fill

MOST_AGENTS = 10_000
MOTHER = """\
Write this in Python:
{spec}

It is called here:
{mother}

Keep your own part short: leave at most {b} helper functions open for others to write, each with its
signature, a docstring that says exactly what it does, and `pass` as its body. A simple part needs none.
{form}"""
CHILD = """\
Write this function in Python, complete:
{spec}

It is called here:
{mother}

{form}"""
MEND = """\
You wrote this part of a program:
{piece}

It is called here:
{mother}

The whole program was run with tests that it has not passed:
{report}

If your part is at fault, mend it; functions left open stay open. Give your whole part again. {form}"""


@team
async def self_organized(  # noqa: PLR0913 (the knobs of tree and sandbox)
    task: Task,
    agents: Voices,
    tester: Voice,
    *,
    D: int = 2,
    b: int = 4,
    r: int = 2,
    sandbox: str = "bubblewrap",
    seconds: float = 10.0,
) -> Linked | Reply:
    """Write a program by a tree of agents, `D` deep and `b` wide, that mend their pieces `r` times."""
    at_least(1, D=D)
    at_least(2, b=b)
    at_least(0, r=r)
    box, form = open_sandbox(sandbox), instruction(CODE)
    limits = Limits.of(seconds)
    if (most := (b**D - 1) // (b - 1)) > MOST_AGENTS:
        raise BadInput(f"D={D}, b={b}: up to {most} agents; expected {MOST_AGENTS} at most")
    seats = iter(agents.take(most))
    root = Node(next(seats), task)
    wish = fill(TESTS, task=task)
    grown: list[Any] = [_grow(root, seats, D, b, form), ask_each([tester][:r], [wish][:r])]
    (skeleton, levels), designed = await all_of(grown)
    designs = tuple(reply for reply in designed if isinstance(reply, Reply))
    tests = "".join(extract(CODE, reply.text) or "" for reply in designs)
    for _ in range(r):
        outcome = await with_tests(root.program(), tests, box, limits)
        if root.written and outcome.ok:
            break
        told = Linked(report(outcome, KEPT), designs)
        for level in levels:
            prompts = [fill(MEND, piece=n.own, mother=n.shown, report=told, form=form) for n in level]
            _keep(level, await ask_each([node.voice for node in level], prompts))
    replies = tuple(node.reply for level in levels for node in level if node.reply)
    return Linked(f"```python\n{root.program()}\n```", replies) if root.written else skeleton


def _brief(node: Node, levels: int, b: int, form: str) -> Linked:
    """What an agent is asked to write, with `levels` of the tree from here down."""
    if levels > 1:
        return fill(MOTHER, spec=node.spec, mother=node.shown, b=b, form=form)
    return fill(CHILD, spec=node.spec, mother=node.shown, form=form)


async def _grow(
    root: Node, seats: Iterator[Voice], D: int, b: int, form: str
) -> tuple[Reply, list[list[Node]]]:
    """Have the root write, and make an agent for each function left open, level by level.

    Returns:
        What the root said, and the levels; those of a level write at once.
    """
    (first,) = answered(await ask_each([root.voice], [_brief(root, D, b, form)]))
    root.keep(first)
    levels = [[root]]
    for depth in range(1, D):
        level = [node.bear(stub, next(seats)) for node in levels[-1] for stub in node.piece.stubs[:b]]
        if not level:
            break
        prompts = [_brief(node, D - depth, b, form) for node in level]
        _keep(level, await ask_each([node.voice for node in level], prompts))
        levels.append(level)
    return first, levels


def _keep(level: Sequence[Node], outcomes: Sequence[Reply | Failure]) -> None:
    for node, outcome in zip(level, outcomes, strict=True):
        if isinstance(outcome, Reply):
            node.keep(outcome)
