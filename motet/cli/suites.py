"""`motet suites`: what methods can be compared on."""

import click

from motet.cli.output import console, json_option, make_table, print_json


@click.command()
@json_option
def command(as_json: bool) -> None:
    """List the suites that --suite takes, and the forms of the others.

    \b
    Examples:
      motet suites
      motet compare direct self_consistency --suite arithmetic --n 20 --model local
    """
    from motet.evals.suite import list_suites

    suites = list_suites()
    if as_json:
        print_json(suites)
        return
    rows = [(s.name, "" if s.size is None else str(s.size), s.kind, s.description) for s in suites]
    console().print(make_table(("suite", "items", "kind", "what it holds"), rows, right=[1]))
