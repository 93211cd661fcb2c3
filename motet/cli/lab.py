"""`motet lab`: what a method gains in worlds whose truth is planted."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from motet.cli.output import console, json_option, print_json

if TYPE_CHECKING:
    from motet.teams import Team


WIDEST = 500  # columns: a table may be wider than the terminal, but no figure is cut


@click.command(no_args_is_help=True)
@click.argument("method")
@click.option(
    "--vary",
    multiple=True,
    metavar="KNOB=V,V,…",
    help="What voices are like (skill, rho, judge, follow, deceivers, weak, profile, …) or a knob of the "
    "method that is a number; several make every combination.",
)
@click.option("--items", default=200, show_default=True, type=click.IntRange(1), help="Runs in each world.")
@click.option("--seed", default=0, show_default=True, help="Another one has other items.")
@click.option("--set", "settings", multiple=True, metavar="KNOB=VALUE", help="Set a knob of the method.")
@click.option("--card", "as_card", is_flag=True, help="Print the card of docs/methods/, figures included.")
@json_option
def command(method: str, as_json: bool, as_card: bool, vary: tuple[str, ...], **given: Any) -> None:
    """Try METHOD (or FILE.py:NAME) on simulated voices of which everything is known: when does it help?

    What it gains is over self-consistency with as many calls. Without --vary, the skill of the voices, how
    alike they err (rho), how well they know a right answer (judge), whether they mend or spoil their own
    (fix, spoil), how many of them lie (deceivers) or have half the skill (weak), and whether each has a topic
    of its own (profile) are varied one at a time. No model is asked.

    \b
    Examples:
      motet lab debate
      motet lab mixture_of_agents --vary skill=0.4,0.6,0.8 --vary rho=0,0.5
      motet lab debate --vary deceivers=0,1,2 --set r=1 --items 500 --json
      motet lab debate --vary r=0,1,2,3 --vary skill=0.4,0.6
      motet lab self_moa --vary cost=1 --vary weak=0,1
    """
    from motet.cli.words import configure, find_team
    from motet.evals.lab import survey, sweep
    from motet.methods import METHODS

    if as_card and (as_json or vary or given["settings"]):
        raise click.UsageError("--card has figures of its own; give it METHOD alone")
    team = configure(find_team(method), given["settings"])
    tried = method if method in METHODS else team
    knobs = {k: v for k, v in team.knobs.items() if v != find_team(method).knobs[k]}
    options: dict[str, Any] = {"items": given["items"], "seed": given["seed"], "knobs": knobs}
    with _bar(method) as told:
        if as_card:
            from motet.evals.lab.card import card

            click.echo(card(method, on_progress=told))
            return
        options |= {"on_progress": told, **dict(_axis(team, words) for words in vary)}
        found = sweep(tried, **options) if vary else survey(tried, **options)
    if as_json:
        print_json(found.to_dict())
        return
    from motet.evals.lab.words import LEGEND

    page, table = console(), found.table()
    page.width = max(page.width, page.measure(table, options=page.options.update(width=WIDEST)).maximum)
    page.print(table)
    click.echo(found.heat())
    page.print(f"{LEGEND}\n", style="dim")
    page.print(found.verdict, markup=False)


def _axis(team: "Team[...]", words: str) -> tuple[str, tuple[Any, ...]]:
    """A name and its values; those of a knob of the method are read as `--set` reads them."""
    from motet.cli.words import configure, pair
    from motet.errors import BadInput
    from motet.evals.lab.axes import known
    from motet.evals.lab.world import PLANTED

    name, values = pair("vary", words, "KNOB=V,V,…")
    known(team, name)
    if name not in PLANTED:
        return name, tuple(configure(team, [f"{name}={value}"]).knobs[name] for value in values.split(","))
    try:
        return name, tuple(float(value) for value in values.split(","))
    except ValueError as error:
        raise BadInput(f"--vary is {words!r}; expected numbers, as in skill=0.4,0.6") from error


@contextmanager
def _bar(method: str) -> Iterator[Callable[[int, int], None] | None]:
    """Told of each world that is done: a bar on stderr, when that is a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(f"{method}: worlds", total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
