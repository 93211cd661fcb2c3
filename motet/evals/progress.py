"""How far a comparison has come: a bar on the terminal, or a function that is told."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from msgspec import Struct

from motet.types import Usage


class Progress(Struct, frozen=True):
    """Where a comparison stands.

    Args:
        done, total: runs. `total` grows when the matched baselines are planned.
        made: how many of those done were made in this process, and not found finished in the store.
        tokens: paid for in this process; what was taken from the store is not counted.
        cost: US dollars paid for in this process; None when a price is unknown.
        elapsed_s: seconds since the beginning.
        doing: what is being run, in words.
    """

    done: int
    total: int
    made: int
    tokens: int
    cost: float | None
    elapsed_s: float
    doing: str

    @property
    def rate(self) -> float:
        """Runs made a second."""
        return self.made / self.elapsed_s if self.elapsed_s else 0.0

    @property
    def left_s(self) -> float | None:
        """Seconds until the end at this rate, or None before anything is made."""
        return (self.total - self.done) / self.rate if self.rate else None


Listener = Callable[[Progress], None]


class Counter:
    """Adds up what is done and tells the listener."""

    def __init__(self, listener: Listener | None, timer: Callable[[], float] = time.perf_counter) -> None:
        self._listener, self._timer, self._begun = listener, timer, timer()
        self._done = self._total = self._made = self._tokens = 0
        self._cost: float | None = 0.0
        self._doing = ""

    def plan(self, runs: int, doing: str) -> None:
        """More runs are to be made."""
        self._total, self._doing = self._total + runs, doing
        self._tell()

    def add(self, paid: Usage, cost: float | None, *, made: bool) -> None:
        """One run is done and has just cost this."""
        self._done += 1
        self._made += made
        self._tokens += paid.tokens
        self._cost = None if cost is None or self._cost is None else self._cost + cost
        self._tell()

    @property
    def now(self) -> Progress:
        """The state of things."""
        return Progress(
            self._done,
            self._total,
            self._made,
            self._tokens,
            self._cost,
            self._timer() - self._begun,
            self._doing,
        )

    def _tell(self) -> None:
        if self._listener:
            self._listener(self.now)


@contextmanager
def shown(listener: Listener | None) -> Iterator[Listener | None]:
    """The listener that was given; else a bar on stderr, when that is a terminal."""
    if listener or not sys.stderr.isatty():
        yield listener
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("{task.fields[facts]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task("comparing", total=None, facts="")

        def show(at: Progress) -> None:
            bar.update(row, description=at.doing, completed=at.done, total=at.total, facts=facts(at))

        yield show


def facts(at: Progress) -> str:
    """Rate, spend and time left, as the bar shows them."""
    cost = "price unknown" if at.cost is None else f"${at.cost:.4f}"
    left = "" if at.left_s is None else f" · {_clock(at.left_s)} left"
    return f"{at.rate:.1f}/s · {at.tokens:,} tokens · {cost}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
