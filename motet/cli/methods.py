"""`motet methods`: the published methods that can be run."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import click

from motet.cli.output import console, json_option, make_table, print_json

if TYPE_CHECKING:
    from motet.methods import Method

Row = tuple[str, str, str]


@click.command()
@click.argument("name", required=False)
@json_option
def command(name: str | None, as_json: bool) -> None:
    """List the methods, or tell all about one.

    CALLS is what one run makes, as a formula in the knobs.

    \b
    Examples:
      motet methods
      motet methods self_consistency
    """
    from motet.errors import UnknownName
    from motet.methods import METHODS

    if name is not None and name not in METHODS:
        raise UnknownName("method", name, METHODS)
    if as_json:
        print_json(METHODS[name].listing() if name else [method.listing() for method in METHODS.values()])
    elif name:
        _tell(METHODS[name])
    else:
        rows = ((f"  {m.name}", m.calls, m.summary) for m in METHODS.values())
        families = (m.family for m in METHODS.values())
        console().print(make_table(("method", "calls", "what it does"), _by_family(rows, families)))


def _by_family(rows: Iterable[Row], families: Iterable[str]) -> Iterator[Row]:
    """The rows with a line before each family."""
    shown = ""
    for row, family in zip(rows, families, strict=True):
        if family != shown:
            yield (family, "", "")
            shown = family
        yield row


def _tell(method: "Method") -> None:
    import inspect

    rows = [
        ("family", method.family),
        ("paper", method.paper),
        ("calls", method.calls),
        ("voices", ", ".join(f"{v} (a group)" if group else v for v, group in method.team.voices.items())),
        ("knobs", ", ".join(f"{k}={v!r}" for k, v in method.team.knobs.items()) or "none"),
        ("try", f'motet run {method.name} "What is 17 * 23?" --model local'),
    ]
    click.echo(f"{method.name}\n\n{inspect.cleandoc(method.team.__doc__ or '')}\n")
    console().print(make_table((), rows))
