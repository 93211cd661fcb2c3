"""What commands print: one JSON document, or text for people."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from motet.viewer.words import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."
)


def print_json(document: Any) -> None:
    """Print one JSON document on stdout."""
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(document, enc_hook=repr), indent=2))


def note(words: str) -> None:
    """Say something that is not the result: on stderr, without what would act on a terminal."""
    click.echo(clean(words), err=True)


def console(*, stderr: bool = False) -> "Console":
    """A terminal to draw on; it honours NO_COLOR, and is plain text when it is no terminal."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def make_table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> "Table":
    """A plain table of words, none of which is markup.

    Args:
        heads: titles of the columns; none for a table without a head.
        rows: cells, as many in each row.
        right: columns that hold numbers.
    """
    from rich.table import Table
    from rich.text import Text

    lines, numbers = list(rows), set(right)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", show_header=bool(heads))
    for i in range(len(heads) or len(lines[0])):
        head, narrow = heads[i] if heads else "", i == 0 or i in numbers
        table.add_column(head, justify="right" if i in numbers else "left", overflow="fold", no_wrap=narrow)
    for line in lines:
        table.add_row(*(Text(cell) for cell in line))
    return table
