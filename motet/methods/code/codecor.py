"""CodeCoR: four agents that prune what they make, and the program that passes most tests.

Paper: Pan et al. 2025, arXiv:2501.07811 (catalogue 56).
Idea: a mistake of one agent spoils the work of all that follow. So each agent makes a pool and drops what is
poor in it: the prompter ways to think of the task, the tester tests, the repairer advice. The programmer
writes one program for each way; all are run with all tests; those that fail are written again by the advice.
The program that passes most tests is the answer.
Calls: at most 3 * n + 2 + r * (2 * n + 1): n ways, n sets of tests, a pruning of each pool, a program for
each way; in each round advice for each program that fails, its pruning, and a program for each advice.
Deviates: the pool of programs is pruned by the sandbox alone (a reply that does not run counts last), not by
a model. Tests are single `assert` statements; what cannot be parsed and repetitions are dropped before the
tester is asked. A pool that would lose everything is kept whole.
Failure: when all programs fail to be written, the run fails. Without ways the task alone is the prompt;
without tests programs are only run. A pruning that fails drops nothing; when no advice comes, the best
program stands. Without the sandbox the run fails before anything is asked.
"""

from collections.abc import Sequence

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.concurrency import all_of
from motet.errors import ModelError, NoAnswer
from motet.methods.code.pool import survivors
from motet.methods.code.trial import Trial, asserts, tried
from motet.methods.common import CODE, at_least
from motet.teams import team
from motet.tools.sandbox import Limits
from motet.tools.sandbox import sandbox as open_sandbox
from motet.types import Linked, Reply, Task, fill

THINK = """\
A program is wanted for this:
{task}

Do not write it. Say step by step how to think about it: input, output, algorithm, edge cases."""
TEST = """\
A program is wanted for this:
{task}

Somebody else writes it. Write tests for it: `assert` statements, each on its own and of one line, for
ordinary cases and edge cases. Only assert what the text demands. Reply with one ```python block."""
PROGRAM = "{task}\n\n{way}\n\nWrite the program. {form}"
ADVISE = """\
A program for this fails:
{task}

{program}

What its tests say:
{report}

Say what is wrong with it and how to repair it. Do not write the program."""
REPAIR = "{task}\n\nYour program:\n{program}\n\nAdvice on its repair:\n{advice}\n\nWrite it anew. {form}"
WAYS, TESTS, ADVICE = (
    "ways to think about it",
    "tests for it",
    "pieces of advice on repairing programs for it",
)


@team
async def codecor(  # noqa: PLR0913 (four voices are the method)
    task: Task,
    prompter: Voice,
    tester: Voice,
    programmer: Voice,
    repairer: Voice,
    *,
    n: int = 3,
    r: int = 2,
    sandbox: str = "bubblewrap",
    seconds: float = 10.0,
    temperature: float = 0.7,
) -> Reply:
    """Write programs from a pool of `n` ways to think, and repair them in `r` rounds; the best by tests wins.

    `sandbox` names one of `motet.tools.sandbox`; a run of a program with all tests may take `seconds`.
    """
    at_least(1, n=n)
    at_least(0, r=r)
    box, form = open_sandbox(sandbox), instruction(CODE)
    limits = Limits.of(seconds)

    async def written(prompts: Sequence[Linked]) -> list[Trial]:
        replies = answered(await ask_each([programmer] * len(prompts), prompts))
        return await all_of([tried(reply, tests, box, limits) for reply in replies])

    ways, tests = await all_of([_ways(prompter, task, n, temperature), _tests(tester, task, n, temperature)])
    pool = failing = await written([fill(PROGRAM, task=task, way=way, form=form) for way in ways])
    for _ in range(r):
        if any(trial.clean for trial in pool):
            break
        try:
            advised = await _advice(repairer, task, failing)
            failing = await written(
                [
                    fill(REPAIR, task=task, program=trial.reply, advice=advice, form=form)
                    for trial, advice in advised
                ]
            )
        except NoAnswer:
            break
        pool = [*pool, *failing]
    return max(pool, key=lambda trial: (trial.passed, trial.clean)).reply


async def _ways(prompter: Voice, task: Task, n: int, temperature: float) -> list[Linked]:
    try:
        replies = await prompter.ask_many(fill(THINK, task=task), n=n, temperature=temperature)
    except ModelError:
        return [Linked("")] * n
    ways = [Linked(reply.text, (reply,)) for reply in replies]
    return [ways[i] for i in await survivors(prompter, task, WAYS, ways)]


async def _tests(tester: Voice, task: Task, n: int, temperature: float) -> list[Linked]:
    try:
        replies = await tester.ask_many(fill(TEST, task=task), n=n, temperature=temperature)
    except ModelError:
        return []
    found = {test.text: test for reply in replies for test in asserts(reply)}
    tests = list(found.values())
    return [tests[i] for i in await survivors(tester, task, TESTS, tests)]


async def _advice(repairer: Voice, task: Task, failing: Sequence[Trial]) -> list[tuple[Trial, Reply]]:
    """The failing programs with the advice on each that survives its pruning."""
    prompts = [fill(ADVISE, task=task, program=trial.reply, report=trial.report) for trial in failing]
    said = await ask_each([repairer] * len(failing), prompts)
    pairs = [(trial, s) for trial, s in zip(failing, said, strict=True) if isinstance(s, Reply)]
    kept = await survivors(repairer, task, ADVICE, answered([s for _, s in pairs]))
    return [pairs[i] for i in kept]
