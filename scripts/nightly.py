"""Every method on the embedded model: `python -m scripts.nightly [--methods A,B] [--n 24] [--minutes M]`.

A method is run on sums (`arithmetic?difficulty=1`), on `mini-code` if its example is a program, else on its
example with as many seeds. Latent methods get the same weights through torch: `local` has no thoughts to
give. Runs are kept in the store: what was cut off, by the clock or by hand, goes on from there when it is
started again. The time is shared: each method may take its part of what is left. The table has what is done
by then; `--write` puts it into `docs/results.md`.
"""

import argparse
import asyncio
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from statistics import fmean

from motet.budget import Budget
from motet.concurrency import all_of
from motet.errors import MotetError
from motet.evals.bench import Bench, Outcome
from motet.evals.lab.examples import SUM
from motet.evals.lab.subject import Subject, subject
from motet.evals.scorers import BY_KIND
from motet.evals.stats import mean_ci
from motet.evals.suite import Suite, load_suite
from motet.evals.tables import percent
from motet.methods import METHODS
from motet.tape import Store, project_store
from motet.types import Task

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
TITLE = "## Every method on the embedded model"
SUITES = {"number": "arithmetic?difficulty=1", "code": "mini-code"}
LIMIT = Budget(calls=80, seconds=300)
TOGETHER = 4
TORCH = "torch:smollm2-135m"
HEAD = (
    "| method | items | accuracy, % (95 %) | calls | tokens | seconds | failed |\n"
    "|---|---|--:|--:|--:|--:|---|\n"
)
ABOUT = """\
`{command}`: voices are all `{model}`, those of latent methods `torch:smollm2-135m`. Calls, tokens and \
seconds (of the longest chain of calls) are the mean of a run; a run that fails is wrong. {n} items tell \
little: read the intervals, not the ranks. Seeds of one example tell of that example.
"""


def work_of(there: Subject, n: int) -> tuple[Suite, list[tuple[Task, int]]]:
    """The suite of a method, and its items with their seeds."""
    task = there.task
    if task == SUM or task.kind == "code":
        suite = load_suite(SUITES[task.kind])
        suite = suite.sample(min(n, len(suite)))
        return suite, [(item, 0) for item in suite]
    return Suite("seeds of its example", (task,), BY_KIND[task.kind]), [(task, seed) for seed in range(n)]


async def play(name: str, n: int, model: str, store: Store, until: float) -> tuple[str, list[Outcome]]:
    """The outcomes of a method that are there, or can be had, by a moment of the monotonic clock."""
    there = subject(name)
    suite, work = work_of(there, n)
    model = TORCH if model == "local" and METHODS[name].family == "latent" else model
    bench, team = Bench(suite.scorer, store, LIMIT), there.cast(model)
    done: dict[int, Outcome] = {}
    gate = asyncio.Semaphore(TOGETHER)

    async def one(i: int, task: Task, seed: int) -> None:
        async with gate:
            done[i] = (await bench.play(team, task, seed)).outcome
            print(f"\r{name}: {len(done)} of {len(work)} ", end="", file=sys.stderr, flush=True)

    with suppress(TimeoutError):  # what is cut off here is on the tape: its replies are not asked for again
        async with asyncio.timeout(until - time.monotonic()):
            await all_of([one(i, task, seed) for i, (task, seed) in enumerate(work)])
    return f"{len(done)} of {len(work)} {suite.name}", [done[i] for i in sorted(done)]


def line(name: str, items: str, outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return f"| `{name}` | {items} | – | – | – | – | – |\n"
    failures = Counter(outcome.failure for outcome in outcomes if outcome.failure)
    cells = (
        f"`{name}`",
        items,
        percent(mean_ci([outcome.value for outcome in outcomes])).replace("%", ""),
        f"{fmean(outcome.calls for outcome in outcomes):.1f}",
        f"{fmean(outcome.tokens for outcome in outcomes):,.0f}",
        f"{fmean(outcome.seconds for outcome in outcomes):.1f}",
        ", ".join(f"{count} {kind}" for kind, count in failures.items()) or "0",
    )
    return f"| {' | '.join(cells)} |\n"


def write(section: str) -> None:
    """Put the section into the page, in place of the one that is there."""
    page = PAGE.read_text()
    old = re.compile(rf"^{re.escape(TITLE)}$.*?(?=^## |\Z)", re.MULTILINE | re.DOTALL)
    PAGE.write_text(old.sub(lambda _: section, page) if old.search(page) else f"{page.rstrip()}\n\n{section}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m scripts.nightly", description=__doc__)
    parser.add_argument("--methods", default=",".join(METHODS), metavar="A,B", help="all by default")
    parser.add_argument("--n", type=int, default=24, help="items or seeds of each (24)")
    parser.add_argument("--minutes", type=float, default=240, help="for all together (240)")
    parser.add_argument("--model", default="local", help="who sings every voice (local)")
    parser.add_argument("--store", type=Path, help="where runs are kept; the project's store by default")
    parser.add_argument("--write", action="store_true", help="put the table into docs/results.md as it grows")
    options = parser.parse_args()
    names = options.methods.split(",")
    store = Store(options.store) if options.store else project_store()
    end = time.monotonic() + 60 * options.minutes
    table = HEAD
    command = f"python -m scripts.nightly --n {options.n}"
    about = ABOUT.format(command=command, model=options.model, n=options.n)
    for i, name in enumerate(names):
        now = time.monotonic()
        until = now + max(0.0, end - now) / (len(names) - i)
        try:
            items, outcomes = asyncio.run(play(name, options.n, options.model, store, until))
        except MotetError as error:  # one method that cannot be played does not cost the night
            items, outcomes = f"cannot be played: {type(error).__name__}: {error}", []
        row = line(name, items, outcomes)
        table += row
        print(f"\r{row}", end="", flush=True)
        if options.write:
            write(f"{TITLE}\n\n{about}\n{table}\n")


if __name__ == "__main__":
    main()
