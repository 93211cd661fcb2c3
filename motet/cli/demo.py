"""`motet demo`: the main job from end to end on the embedded model, each step explained in a line."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from motet.agent import Agent, Voice
from motet.cli.demo_tune import Tuned, trainable, tune_team
from motet.cli.output import console, json_option, note, print_json
from motet.errors import MissingExtra
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
TUNES = """
4. Can the team learn from itself? The team of step 1 works on more such sums; of its runs, those whose answer
   is right are kept, and a LoRA adapter on the same weights learns to imitate what was said in them. The team
   is measured before and after on sums that it has not seen.
"""
LEARNED = """
   {verified} of {runs} runs were right; {rows} replies of theirs were learned, in {seconds:.0f} s all told.
   The tuned model runs by its name:
     motet run direct "What is 3 + 4?" --model {adapter}
"""
NEXT = """
5. Done in {minutes:.1f} minutes. The report, with every item and transcripts: {path}
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
@click.option("--tune/--no-tune", default=True, show_default=True, help="Tune the team on its own runs.")
@json_option
def command(n: int, model: str, report: str, seed: int, tune: bool, as_json: bool) -> int:
    """Show the main job in a few minutes: a team runs, methods are compared, the team learns from itself.

    It needs no key. Everything you see is measured while you watch; run it again and the runs come from the
    tape. The last part takes about four minutes on two cores; --no-tune leaves it out.

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
    if not as_json:
        note(CAME_TO)
        console().print(comparison.table())
        for verdict in comparison.verdicts.values():
            click.echo(f"• {verdict}")
    tuned = _tune(model, seed, path) if tune else {"skipped": "--no-tune"}
    if as_json:
        document = {"run": first.record(), "comparison": comparison.to_dict(), "report": str(path)}
        print_json({**document, "tuned": tuned})
        return 0
    if isinstance(tuned, Tuned):
        console().print(tuned.table())
        told = {name: getattr(tuned, name) for name in ("runs", "verified", "rows", "seconds", "adapter")}
        note(LEARNED.format(**told))
    note(NEXT.format(minutes=(time.perf_counter() - begun) / 60, path=path, run=first.id))
    return 0


def _tune(model: str, seed: int, report: Path) -> Tuned | dict[str, str]:
    """The team of the first step after learning from its own runs, or why it did not."""
    base = trainable(model)
    if base is None:
        reason = f"the weights of {model} are not here to be tuned; `local` and torch: models are"
    else:
        note(TUNES)
        try:
            return tune_team(review, base, SUITE, report.with_suffix(".safetensors"), seed=seed)
        except MissingExtra as error:
            reason = str(error)
    note(f"   Left out: {reason}")
    return {"skipped": reason}


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
