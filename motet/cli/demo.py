"""`motet demo`: the main job from end to end on the embedded model, each step explained in a line."""

import time
from typing import Any

import click

from motet.agent import Agent, Voice
from motet.cli.output import console, json_option, note, print_json
from motet.teams import team
from motet.types import Reply, Task

SUITE = "rg:chain_sum?min_terms=2&max_terms=2&min_digits=1&max_digits=1"
REPORT = "motet-demo.html"

CRITIC = "Check this answer in one short sentence."
REWRITE = "Give the final answer again, as a number."


@team
async def review(task: Task, writer: Voice, critic: Voice) -> Reply:
    """The team that the demo shows: a writer, a critic, and the writer again."""
    draft = await writer.ask(task)
    notes = await critic.ask(CRITIC, task, draft)
    return await writer.ask(REWRITE, task, draft, notes)


@click.command()
@click.option("--n", default=20, show_default=True, type=click.IntRange(1), help="Items of the suite.")
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
    _step(
        1, "A team is an async function. This one is a writer, a critic and the writer again; it runs once:"
    )
    first = review.cast(singer).run(Task("What is 3 + 4?", target="7", kind="number"), seed=seed, reuse=True)
    if not as_json:
        from motet.viewer.transcript import transcript

        console().print(transcript(first.tape))
    _step(
        2,
        f"Is a team worth its tokens? Five methods on {n} sums of {SUITE.partition('?')[0]}, each held against",
    )
    note(
        "   one call and against plain voting (self-consistency) that spends as much. The same items, the same"
    )
    note("   seeds; failures count as wrong. Stop it when you like: it goes on where it stopped.")
    comparison = _compare(singer, n, seed)
    path = comparison.save_html(report)
    if as_json:
        print_json({"run": first.record(), "comparison": comparison.to_dict(), "report": str(path)})
        return 0
    _step(3, "What it came to (intervals are 95 %; few items make them wide, and that is the truth of it):")
    console().print(comparison.table())
    for verdict in comparison.verdicts.values():
        click.echo(f"• {verdict}")
    _step(4, f"Done in {(time.perf_counter() - begun) / 60:.1f} minutes. The report with every item: {path}")
    _next_steps(first.id)
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
        note(
            "Fetching the embedded model, SmolLM2-135M-Instruct (98 MB, once). It is small: it adds one-digit"
        )
        note(
            "numbers most of the time and reasons about nothing. It shows how things work, not what they can do."
        )
        pull.main(["local"], standalone_mode=False)


def _compare(singer: Any, n: int, seed: int) -> Any:
    from motet import methods
    from motet.evals.compare import compare

    lineup = [
        methods.chain_of_thought,
        methods.best_of_n(n=3),
        methods.self_refine(r=1),
        methods.debate(n=3, r=1),
        methods.mixture_of_agents(n=3, layers=2),
    ]
    return compare([m.cast(singer) for m in lineup], SUITE, model=singer, n=n, seed=seed)


def _step(number: int, words: str) -> None:
    note(f"\n{number}. {words}" if number > 1 else f"{number}. {words}")


def _next_steps(run: str) -> None:
    for words, line in (
        ("read what was said in the first run", f"motet show {run[:15]}"),
        ("try a method on a question of your own", 'motet run debate "Which weighs more, …?" --model local'),
        ("compare on your own items (prompt, target)", "motet compare debate --suite items.jsonl --model …"),
        ("see all methods with their papers", "motet methods"),
        ("check this machine", "motet doctor"),
    ):
        note(f"   {words + ':':45} {line}")


__all__ = ["command"]
