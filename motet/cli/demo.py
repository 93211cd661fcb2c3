"""`motet demo`: the main job from end to end on the embedded model, each step explained in a line."""

import sys
import time
from typing import TYPE_CHECKING, Any

import click

from motet.agent import Agent, Voice
from motet.cli.output import console, json_option, note, print_json
from motet.teams import Team, team
from motet.types import Reply, Task

if TYPE_CHECKING:
    from motet.evals.progress import Progress

SUITE = "rg:chain_sum?min_terms=2&max_terms=2&min_digits=1&max_digits=1"
REPORT = "motet-demo.html"

FETCHES = """\
Fetching the embedded model, SmolLM2-135M-Instruct (98 MB, once). It is small: it adds one-digit numbers
most of the time and reasons about nothing. It shows how things work, and no more.
"""
RUNS = "1. A team is an async function. This one, a writer, a critic and the writer again, runs once:\n"
COMPARES = """
2. Is a team worth its tokens? Five methods on {n} sums from reasoning-gym, each held against one call, and
   against plain voting (self-consistency) that spends as much. The same items, the same seeds; failures
   count as wrong. Stop it when you like: `motet demo` again goes on where it stopped.
"""
CAME_TO = """
3. What it came to. Intervals are 95 %; few items make them wide, and that is the truth of it.
"""
NEXT = """
4. Done in {minutes:.1f} minutes. The report, with every item and transcripts: {path}
   What to type next:
     motet show {run}         what was said in the first run
     motet run debate "Is 7 * 8 more than 50?" --model local
     motet compare debate self_refine --suite items.jsonl --model openai:gpt-5-mini
     motet methods                             all methods, with papers and prices
     motet doctor                              what this machine has
"""

CRITIC = "Check this answer in one short sentence."
REWRITE = "Give the final answer again, as a number."


@team
async def review(task: Task, writer: Voice, critic: Voice) -> Reply:
    """The team that the demo shows: a writer, a critic, and the writer again."""
    draft = await writer.ask(task)
    notes = await critic.ask(CRITIC, task, draft)
    return await writer.ask(REWRITE, task, draft, notes)


@click.command()
@click.option("--n", default=16, show_default=True, type=click.IntRange(1), help="Items of the suite.")
@click.option("-m", "--model", default="local", show_default=True, help="Who sings every voice.")
@click.option(
    "--report", default=REPORT, show_default=True, metavar="FILE.html", help="Where the report goes."
)
@click.option("--seed", default=0, show_default=True, help="Draws the items, and goes into every call.")
@json_option
def command(n: int, model: str, report: str, seed: int, as_json: bool) -> int:
    """Show the main job in a few minutes: a team runs, five methods are compared, a report is written.

    It needs no key. Everything you see is measured while you watch; run it again and it comes from the tape.

    \b
    Examples:
      motet demo
      motet demo --n 40 --model openai:gpt-5-mini
    """
    begun = time.perf_counter()
    singer = _singer(model)
    note(RUNS)
    task = Task("What is 3 + 4?", target="7", kind="number")
    first = review.cast(singer).run(task, seed=seed, reuse=True)
    if not as_json:
        from motet.viewer.transcript import transcript

        console().print(transcript(first.tape))
    note(COMPARES.format(n=n))
    comparison = _compare(singer, n, seed)
    path = comparison.save_html(report)
    if as_json:
        print_json({"run": first.record(), "comparison": comparison.to_dict(), "report": str(path)})
        return 0
    note(CAME_TO)
    console().print(comparison.table())
    for verdict in comparison.verdicts.values():
        click.echo(f"• {verdict}")
    note(NEXT.format(minutes=(time.perf_counter() - begun) / 60, path=path, run=first.id))
    return 0


def _singer(model: str) -> Any:
    """The voice of the demo; short replies keep it quick on two cores."""
    from motet.types import Sampling

    if model.partition(":")[0] == "local":
        _fetch(model)
        return Agent(model, sampling=Sampling(temperature=0.7, max_tokens=48))
    return Agent(model)


def _fetch(model: str) -> None:
    from motet.cli.models import local_weights, pull

    if model == "local" and not all(w["present"] for w in local_weights()):
        note(FETCHES)
        pull.main(["local"], standalone_mode=False)


def _compare(singer: Any, n: int, seed: int) -> Any:
    from motet import methods
    from motet.evals.compare import compare

    lineup: list[Team[...]] = [
        methods.chain_of_thought,
        methods.best_of_n(n=3),
        methods.self_refine(r=1),
        methods.debate(n=3, r=1),
        methods.mixture_of_agents(n=3, layers=2),
    ]
    told = None if sys.stderr.isatty() else _Told()
    return compare([m.cast(singer) for m in lineup], SUITE, model=singer, n=n, seed=seed, on_progress=told)


class _Told:
    """Progress in words, where no bar can be drawn: a line for each method."""

    def __init__(self) -> None:
        self._doing = ""

    def __call__(self, at: "Progress") -> None:
        if at.doing != self._doing:
            self._doing = at.doing
            note(f"   {at.elapsed_s:4.0f} s  {at.doing}")
