"""A comparison as a table on the terminal."""

from typing import TYPE_CHECKING

from motet.evals.verdict import points

if TYPE_CHECKING:
    from rich.table import Table

    from motet.evals.comparison import Comparison, Row
    from motet.evals.stats import Interval

SIGNS = {"earned": "[green]▲[/]", "not_earned": "[red]▼[/]", "unclear": "[yellow]?[/]"}


def table(comparison: "Comparison") -> "Table":
    """One row a method; intervals are 95%."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    settings = comparison.settings
    made = Table(box=SIMPLE_HEAD, title=f"{settings.suite}, {settings.n} items", title_justify="left")
    made.add_column("method")
    made.add_column("accuracy (95% CI)", justify="right")
    made.add_column("over a single call", justify="right")
    made.add_column(f"over voting at equal {settings.currency}", justify="right")
    for name in ("tokens", "calls", "$ a run", "s a run", "failed"):
        made.add_column(name, justify="right")
    for row in comparison.rows:
        sign = SIGNS[row.verdict.finding] if row.verdict else " "
        made.add_row(
            f"{sign} {escape(row.method)}",
            percent(row.accuracy),
            difference(row.over_direct),
            difference(row.over_matched) + (f"\n[dim]{escape(row.matched)}[/]" if row.matched else ""),
            f"{row.tokens:,.0f}",
            f"{row.calls:.1f}",
            money(row.cost),
            f"{row.seconds:.2f}",
            failed(row),
            style="dim" if row.role == "baseline" else "",
        )
    return made


def percent(interval: "Interval") -> str:
    """An accuracy with its interval, in percent."""
    return f"{100 * interval.mean:.1f}% ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


def difference(gain: "Interval | None") -> str:
    """A gain in points with its interval; a dash where there is none."""
    if gain is None:
        return "–"
    return f"{points(gain.mean, signed=True)} ({points(gain.low)} to {points(gain.high)})"


def money(cost: float | None) -> str:
    """US dollars; an unknown price stays unknown."""
    return "unknown" if cost is None else f"{cost:.4f}" if cost else "0"


def failed(row: "Row") -> str:
    """Failed runs by kind."""
    return ", ".join(f"{count} {kind}" for kind, count in row.failures.items()) or "0"
