"""CHASE-SQL: queries written in three ways, mended by running them, chosen two by two.

Paper: Pourreza et al. 2024, arXiv:2410.01943 (catalogue 34).
Idea: one way of thinking misses what another finds. A question is taken apart and put together (divide and
conquer), thought through as a database would execute it (query plan), and answered after examples that are
made up for this very question and these tables (online synthetic examples). A query that fails or finds
nothing goes back with what happened. A selector compares the candidates in pairs, in both orders, with their
results; of two with equal results (the order of rows counts when one of them sorts) the first wins unasked.
Calls: at most 2 + 3 * n * (1 + beta) + 3 * n * (3 * n - 1).
Deviates: the values shown are the cells whose text stands in the question, where the paper also finds close
ones. The selector is whoever you cast, and sees all tables. Columns are not shuffled between samples. A
query that still fails after its repairs is not compared.
Failure: without examples the third way does without; a way that fails is missing; when all do, the run
fails. Of a query and its repairs the last that runs stands. A comparison that fails gives no point. When none
runs at all, the first is the answer. For a task of another kind, the answer that is read is the result.
"""

import asyncio
from collections.abc import Sequence
from itertools import permutations

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, ask_each
from motet.concurrency import all_of
from motet.errors import ModelError
from motet.methods.code.sql_desk import Desk, Tried, desk
from motet.methods.common import at_least, weights
from motet.methods.shapes import one_of
from motet.teams import team
from motet.types import Failure, Linked, Reply, Task, fill

DIVIDE = """\
{question}

Divide the question into smaller ones. Write a query for each. Then put them together into one query that
answers the whole question, and make it as simple as it can be. {form}"""
PLAN = """\
{question}

Think like the database: which tables are opened and how, which rows are filtered, joined, grouped and sorted,
and in which order, and what is returned in the end. Write these steps down, then the query. {form}"""
COMMON = """\
{question}

Do not answer it. Make up three other questions about these tables, each with its query, that use what such
queries often need: filters, joins, groups, sorting, nested queries."""
ALIKE = """\
{question}

Do not answer it. Make up three other questions, each with its query, that need the same tables and columns as
this one."""
SYNTHETIC = "Examples:\n{examples}\n\n{question}\n\nAnswer in the way of the examples. {form}"
FIX = """\
{question}

This was tried:
{draft}

What came of it: {report}

Find the mistake and mend it. {form}"""
COMPARE = """\
{question}

Candidate 1:
{first}
Its result:
{one}

Candidate 2:
{second}
Its result:
{other}

Which of the two answers the question? Give its number as `best`."""
Candidate = tuple[Reply, Tried]


@team
async def chase_sql(
    task: Task,
    generator: Voice,
    fixer: Voice,
    selector: Voice,
    *,
    n: int = 1,
    beta: int = 3,
    temperature: float = 0.7,
) -> Linked | Reply:
    """Write `n` queries in each of three ways, mend each `beta` times at most, and choose by comparisons."""
    at_least(1, n=n)
    at_least(0, beta=beta)
    weights(temperature=temperature)
    at, form = await asyncio.to_thread(desk, task), instruction(task)

    async def way(prompt: Linked) -> Sequence[Candidate | Failure]:
        try:
            drafts = await generator.ask_many(prompt, n=n, temperature=temperature)
        except ModelError as error:
            return [error.failure]
        return await all_of([_mended(fixer, at, draft, beta) for draft in drafts])

    async def by_examples() -> Sequence[Candidate | Failure]:
        prompts = [fill(p, question=at.question) for p in (COMMON, ALIKE)]
        made = [e for e in await ask_each([generator] * 2, prompts) if isinstance(e, Reply)]
        return await way(fill(SYNTHETIC, examples=made, question=at.question, form=form))

    ways = [way(fill(p, question=at.question, form=form)) for p in (DIVIDE, PLAN)]
    ends = [end for ends in await all_of([*ways, by_examples()]) for end in ends]
    drafts = answered([end if isinstance(end, Failure) else end[0] for end in ends])
    running = [end for end in ends if not isinstance(end, Failure) and end[1].rows is not None]
    return await _chosen(selector, at, running) if running else drafts[0]


async def _mended(fixer: Voice, at: Desk, draft: Reply, beta: int) -> Candidate:
    """A query and what came of it after up to `beta` repairs: the last that runs, if any does."""
    tried = await at.run(draft)
    best = draft, tried
    for _ in range(beta):
        if tried.rows:
            break
        prompt = fill(FIX, question=at.question, draft=draft, report=tried.report, form=instruction(at.task))
        try:
            draft = await fixer.ask(prompt)
        except ModelError:
            break
        tried = await at.run(draft)
        if tried.rows is not None or best[1].rows is None:
            best = draft, tried
    return best


async def _chosen(selector: Voice, at: Desk, candidates: Sequence[Candidate]) -> Linked:
    """The candidate that wins most of its comparisons, each pair in both orders; the first of equals."""
    points, pairs, prompts = [0] * len(candidates), [], []
    for i, j in permutations(range(len(candidates)), 2):
        (first, one), (second, other) = candidates[i], candidates[j]
        if one.same(other):
            points[i] += 1
            continue
        pairs.append((i, j))
        results = {"one": one.report, "other": other.report}
        prompts.append(fill(COMPARE, question=at.question, first=first, second=second, **results))
    verdicts = await ask_each([selector] * len(pairs), prompts, schema=one_of(2))
    for pair, verdict in zip(pairs, verdicts, strict=True):
        if isinstance(verdict, Reply):
            points[pair[verdict.data.best - 1]] += 1
    best, _ = candidates[points.index(max(points))]
    return Linked(best.text, (best, *(v for v in verdicts if isinstance(v, Reply))))
