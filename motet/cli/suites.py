"""`motet suites`: what methods can be compared on."""

import asyncio
from typing import TYPE_CHECKING

import click
import msgspec

from motet.cli.output import console, json_option, make_table, note, print_json

if TYPE_CHECKING:
    from motet.evals.suite import Suite

SHOWN = 5


@click.command()
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the suites that --suite takes; with a NAME or a file, look into one.

    Looking into a suite shows its first items and proves that its gold answers score 1.

    \b
    Examples:
      motet suites
      motet suites 'rg:chain_sum?min_terms=2&max_terms=2'
      motet suites items.jsonl
      motet compare direct self_consistency --suite arithmetic --n 20 --model local
    """
    from motet.evals.suite import list_suites, load_suite

    if name:
        _look_into(load_suite(name), as_json)
        return
    suites = list_suites()
    if as_json:
        print_json(suites)
        return
    rows = [(s.name, "" if s.size is None else str(s.size), s.kind, s.description) for s in suites]
    console().print(make_table(("suite", "items", "kind", "what it holds"), rows, right=[1]))


def _look_into(suite: "Suite", as_json: bool) -> None:
    from motet.viewer.words import count

    asyncio.run(suite.validate())
    first = suite.tasks[:SHOWN]
    if as_json:
        items = [msgspec.to_builtins(task) for task in first]
        print_json(
            {"name": suite.name, "size": len(suite), "kind": suite.kind, "items": items, "valid": True}
        )
        return
    rows = [(task.id, " ".join(task.prompt.split())[:200], task.target or "(by its tests)") for task in first]
    console().print(make_table(("item", "prompt", "target"), rows))
    note(f"{suite.name}: {count(len(suite), 'item')} of kind {suite.kind}; its gold answers score 1")
