"""How far training has come: a bar on stderr, when that is a terminal."""

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

SHOWN = ("score", "right", "loss")
"""Numbers that are shown beside the bar, with those that begin with `reward/`."""


@contextmanager
def shown(total: int, doing: str = "training") -> Iterator[Callable[[int, Mapping[str, float]], None]]:
    """A function that is told how much of `total` is done, and numbers to show beside the bar."""
    if not sys.stderr.isatty():
        yield lambda iteration, line: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn(doing),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[facts]}", markup=False),
    )
    latest: dict[str, float] = {}
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task("", total=total, facts="")

        def show(iteration: int, line: Mapping[str, float]) -> None:
            latest.update({k: v for k, v in line.items() if k in SHOWN or k.startswith("reward/")})
            facts = " · ".join(f"{name} {value:.3f}" for name, value in latest.items())
            bar.update(row, completed=iteration, facts=facts)

        yield show
