"""A comparison as a table on the terminal."""

from typing import TYPE_CHECKING

from motet.evals.verdict import points

if TYPE_CHECKING:
    from rich.table import Table

    from motet.evals.comparison import Comparison, Row
    from motet.evals.stats import Interval

SIGNS = {"earned": "[green]▲[/]", "not_earned": "[red]▼[/]", "unclear": "[yellow]?[/]"}


def table(comparison: "Comparison") -> "Table":
    """One row a method; intervals are 95%, everything but the differences is the mean of a run."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    settings = comparison.settings
    made = Table(
        box=SIMPLE_HEAD, title=f"{settings.suite}, {settings.n} items", title_justify="left", pad_edge=False
    )
    made.add_column("")
    made.add_column("method", overflow="fold", min_width=12)
    for name in ("accuracy", "tokens", "calls", "$", "s", "failed", "over direct"):
        made.add_column(name, justify="right", no_wrap=True)
    made.add_column(f"over equal {settings.currency}", no_wrap=True)
    for row in comparison.rows:
        made.add_row(
            SIGNS[row.verdict.finding] if row.verdict else "",
            escape(short(row.method) if row.role == "baseline" else row.method),
            percent(row.accuracy),
            f"{row.tokens:,.0f}",
            f"{row.calls:.1f}",
            money(row.cost),
            f"{row.seconds:.2f}",
            failed(row),
            difference(row.over_direct),
            f"{difference(row.over_matched)} {escape(short(row.matched))}",
            style="dim" if row.role == "baseline" else "",
        )
    return made


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
