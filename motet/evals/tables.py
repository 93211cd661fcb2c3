"""A comparison as a table on the terminal."""

from typing import TYPE_CHECKING

from motet.evals.verdict import points
from motet.viewer.words import count

if TYPE_CHECKING:
    from rich.table import Table

    from motet.evals.comparison import Comparison, Row
    from motet.evals.stats import Interval

SIGNS = {"earned": "[green]▲[/]", "not_earned": "[red]▼[/]", "unclear": "[yellow]?[/]"}


def table(comparison: "Comparison") -> "Table":
    """One row a method, narrow enough for 80 characters; intervals are 95%, the rest is the mean of a run."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    settings = comparison.settings
    made = Table(
        box=SIMPLE_HEAD,
        title=f"{settings.suite}, {count(settings.n, 'item')}",
        title_justify="left",
        pad_edge=False,
        leading=1,
    )
    made.add_column("", no_wrap=True)
    made.add_column("method", overflow="fold")
    for head in ("accuracy", "a run takes", "over direct", f"over equal\n{settings.currency}"):
        made.add_column(head, justify="right", no_wrap=True)
    for row in comparison.rows:
        label = short(row.method) if row.role == "baseline" else row.method
        made.add_row(
            SIGNS[row.verdict.finding] if row.verdict else "",
            escape(f"{label}\nfailed: {failed(row)}" if row.failures else label),
            stacked(percent(row.accuracy)),
            takes(row),
            stacked(difference(row.over_direct)),
            escape(stacked(f"{difference(row.over_matched)} {short(row.matched)}".strip())),
            style="dim" if row.role == "baseline" else "",
        )
    return made


def takes(row: "Row") -> str:
    """What a run spends, a line for each currency."""
    price = f"\n${money(row.cost)}" if row.cost else ""
    return f"{row.tokens:,.0f} tokens\n{row.calls:.1f} calls{price}\n{row.seconds:.2f} s"


def stacked(words: str) -> str:
    """A number over its interval over what it is held against."""
    return words.replace(" (", "\n(", 1).replace(") ", ")\n", 1)


def percent(interval: "Interval") -> str:
    """An accuracy with its interval, in percent."""
    return f"{100 * interval.mean:.1f}% ({100 * interval.low:.0f}–{100 * interval.high:.0f})"


def difference(gain: "Interval | None") -> str:
    """A gain in points with its interval; a dash where there is none."""
    if gain is None:
        return "–"
    return f"{points(gain.mean, signed=True)} ({points(gain.low, 0)} to {points(gain.high, 0)})"


def short(label: str | None) -> str:
    """A matched baseline in few letters."""
    return (label or "").replace("self_consistency(", "SC(")


def money(cost: float | None) -> str:
    """US dollars; an unknown price stays unknown."""
    return "unknown" if cost is None else f"{cost:.4f}" if cost else "0"


def failed(row: "Row") -> str:
    """Failed runs by kind."""
    return ", ".join(f"{count} {kind}" for kind, count in row.failures.items()) or "0"
