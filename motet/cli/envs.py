"""`motet envs`: the worlds in which voices can play."""

import click

from motet.cli.output import console, json_option, make_table, print_json


@click.command()
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the environments, or tell the rules of one as a player is told them.

    \b
    Examples:
      motet envs
      motet envs kuhn
      motet play kuhn --voice first=person
    """
    from motet.envs import ENVS, make
    from motet.envs.registry import ADAPTERS

    if name is None:
        if as_json:
            print_json([*ENVS.values()])
            return
        rows = [(e.name, ", ".join(e.seats), e.turns, e.perfect or "-", e.summary) for e in ENVS.values()]
        console().print(make_table(("environment", "seats", "turns", "perfect", "what it is"), rows))
        click.echo(f"\nOf other packages: {', '.join(example for _, example in ADAPTERS.values())}")
        return
    episode = make(name)
    try:
        rules = {seat: episode.brief(seat) for seat in episode.seats}
        start = {seat: episode.observe(seat).text for seat in episode.acting()}
    finally:
        episode.close()
    if as_json:
        print_json({"name": name, "info": ENVS.get(name), "rules": rules, "start": start})
        return
    seat, seen = next(iter(start.items()))
    click.echo(f"{name}, seats: {', '.join(rules)}\n\nWhat {seat} is told:\n\n{rules[seat]}\n\n{seen}")
