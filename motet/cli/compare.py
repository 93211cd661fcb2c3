"""`motet compare`: methods on one suite at equal budgets."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from motet.cli.output import console, json_option, note, print_json

if TYPE_CHECKING:
    from motet.budget import Budget
    from motet.teams import Team


class Options(Struct, frozen=True):
    """The options of `motet compare`."""

    suite: str
    n: int | None
    model: str | None
    voices: tuple[str, ...]
    settings: tuple[str, ...]
    budget: str | None
    equal: str | None
    seed: int
    seeds: int
    concurrency: int
    report: str | None


@click.command(no_args_is_help=True)
@click.argument("methods", nargs=-1, required=True, metavar="METHOD...")
@click.option("--suite", required=True, help="A name from `motet suites`, or a JSONL or CSV file.")
@click.option("--n", type=click.IntRange(1), help="How many items of the suite; all, if you do not say.")
@click.option("-m", "--model", help="Who sings every voice that is not cast (local, if you do not say).")
@click.option(
    "--voice", "voices", multiple=True, metavar="NAME=MODEL", help="Who sings a voice; again for a group."
)
@click.option("--set", "settings", multiple=True, metavar="METHOD.KNOB=VALUE", help="Set a knob of a method.")
@click.option(
    "--budget", metavar="LIMITS", help="Hard limits of every run: tokens=N,calls=N,money=DOLLARS,seconds=N."
)
@click.option("--equal", type=click.Choice(["tokens", "calls", "money"]), help="What is made equal (tokens).")
@click.option("--seed", default=0, show_default=True, help="Draws the items, and goes into every call.")
@click.option(
    "--seeds", default=1, show_default=True, type=click.IntRange(1), help="Runs of each method on each item."
)
@click.option(
    "--concurrency", default=8, show_default=True, type=click.IntRange(1), help="Items worked on at once."
)
@click.option("--report", metavar="FILE.html", help="Write a report to read in a browser.")
@json_option
def command(methods: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Compare methods on one suite: which is worth what it spends?

    Each is held against a single call and against plain voting that spends as much. All runs are kept:
    the same comparison, started again, goes on where it stopped and pays for no answer twice.

    \b
    Examples:
      motet compare direct debate self_consistency --suite arithmetic --n 40 --model local
      motet compare debate:r=1 debate:r=2 --suite arithmetic --n 40
      motet compare debate mine.py:review --suite items.jsonl --set debate.rounds=1 --report out.html
    """
    from motet.evals.compare import compare

    options = Options(**given)
    teams = prepare(methods, options)
    comparison = compare(
        teams,
        options.suite,
        model=options.model or "local",
        budget=_budget(options),
        n=options.n,
        seed=options.seed,
        seeds=options.seeds,
        concurrency=options.concurrency,
    )
    if options.report:
        note(f"report: {comparison.save_html(options.report)}")
    if as_json:
        print_json(comparison.to_dict())
    else:
        console().print(comparison.table())
        for verdict in comparison.verdicts.values():
            click.echo(verdict)
    outcomes = [o for item in comparison.items for made in item.outcomes.values() for o in made]
    if all(outcome.failure for outcome in outcomes):
        note(f"motet: every run failed, the first with {outcomes[0].failure}: {outcomes[0].detail}")
        return 1
    return 0


def prepare(methods: Sequence[str], options: Options) -> "list[Team[...]]":
    """The teams with knobs and voices as told.

    Raises:
        UnknownName: no such method, or a knob or voice that none here has. BadInput: a pair is miswritten.
    """
    from motet.cli.words import cast, configure, find_team, pair
    from motet.errors import BadInput, UnknownName

    teams = [find_team(name) for name in methods]
    knobs: dict[str, list[str]] = {team.name: [] for team in teams}
    for setting in options.settings:
        name, value = pair("set", setting, "METHOD.KNOB=VALUE")
        method, dot, knob = name.partition(".")
        if not dot:
            raise BadInput(f"--set is {setting!r}; say of which method: {teams[0].name}.{name}={value}")
        if method not in knobs:
            raise UnknownName("method in this comparison", method, knobs)
        knobs[method].append(f"{knob}={value}")
    voices = {given: pair("voice", given, "NAME=MODEL")[0] for given in options.voices}
    known = {voice for team in teams for voice in team.voices}
    for voice in voices.values():
        if voice not in known:
            raise UnknownName("voice of these methods", voice, known)
    found = [
        cast(
            configure(team, knobs[team.name]),
            options.model,
            [given for given, voice in voices.items() if voice in team.voices],
        )
        for team in teams
    ]
    for i, team in enumerate(found):
        if any(team.identity == other.identity for other in found[:i]):
            raise BadInput(f"{methods[i]} is given twice; give it other knobs: {team.name}:KNOB=VALUE")
    return found


def _budget(options: Options) -> "Budget | str | None":
    from motet.cli.words import read_budget

    if options.budget and options.equal:
        raise click.UsageError("--budget limits every run, --equal says what is made equal: give one of them")
    return read_budget(options.budget) if options.budget else options.equal
