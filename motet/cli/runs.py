"""`motet runs`: what was run here."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from motet.cli.output import console, json_option, make_table, note, print_json

if TYPE_CHECKING:
    from motet.tape import Store, Tape


@click.command()
@click.option(
    "--limit", default=20, show_default=True, type=click.IntRange(1), help="How many, newest first."
)
@json_option
def command(limit: int, as_json: bool) -> None:
    """List the newest runs of this project.

    \b
    Examples:
      motet runs
      MOTET_HOME=~/work/.motet motet runs --limit 5 --json
    """
    from motet.tape import home

    tapes = []
    if (home() / "tape.db").exists():
        with open_store() as store:
            tapes = store.runs(limit)
    if as_json:
        print_json([_line(tape) for tape in tapes])
    elif tapes:
        rows = [[str(cell) for cell in _row(tape)] for tape in tapes]
        console().print(make_table(("run", "when", "method", "took", "answer"), rows))
    else:
        note(f'no runs in {home()} yet; begin with: motet run direct "What is 17 * 23?" --model local')


@contextmanager
def open_store() -> "Iterator[Store]":
    """The project's store, to read from.

    Raises:
        StoreError: there is none, or it cannot be read.
    """
    from motet.tape import Store, home

    store = Store(home() / "tape.db", readonly=True)
    try:
        yield store
    finally:
        store.close()


def _line(tape: "Tape") -> dict[str, Any]:
    started, ended = tape.started, tape.ended
    return {
        "run": tape.run,
        "method": started.team,
        "prompt": started.task.prompt,
        "voices": started.voices,
        "at": started.at,
        "ended": ended is not None,
        "answer": ended.answer if ended else None,
        "error": ended.failure if ended else None,
        "wall_s": ended.wall_s if ended else None,
        "seed": started.seed,
    }


def _row(tape: "Tape") -> tuple[str, ...]:
    from motet.viewer.words import clean, seconds, told

    started, ended = tape.started, tape.ended
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(started.at))
    if ended is None:
        return tape.run, when, clean(started.team), "", "(not ended)"
    answer = f"✗ {told(ended.failure)}" if ended.failure else clean(ended.answer or "")
    first, _, more = answer.strip().partition("\n")
    return (
        tape.run,
        when,
        clean(started.team),
        seconds(ended.wall_s),
        first[:60] + ("…" if more or first[60:] else ""),
    )
