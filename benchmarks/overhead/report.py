"""The table of a benchmark: medians over the rounds, the spread, and the ratio to Motet."""

from statistics import median
from typing import NamedTuple


class Column(NamedTuple):
    """A number of the table: how it is headed, printed and read."""

    title: str
    form: str
    scale: float = 1.0


COLUMNS = {
    "call_us": Column("one call, µs", "{:,.0f}"),
    "short_turn_us": Column("turn of {short}, µs", "{:,.0f}"),
    "long_turn_us": Column("turn of {long}, µs", "{:,.0f}"),
    "last_turn_us": Column("its last tenth, µs", "{:,.0f}"),
    "crowd_per_s": Column("{crowd} at once, calls/s", "{:,.0f}"),
    "agent_bytes": Column("idle agent, KiB", "{:,.2f}", 1 / 1024),
    "import_s": Column("import, s", "{:,.3f}"),
}
Rounds = dict[str, list[dict[str, float]]]
REFERENCE = "motet"


def summary(rounds: Rounds) -> dict[str, dict[str, dict[str, float]]]:
    """Median, smallest, largest and ratio to Motet of each number of each contestant."""
    middle = {name: {c: median(r[c] for r in rows) for c in COLUMNS} for name, rows in rounds.items() if rows}
    base = middle.get(REFERENCE, {})
    return {
        name: {
            c: {
                "median": value,
                "min": min(r[c] for r in rounds[name]),
                "max": max(r[c] for r in rounds[name]),
                **({"ratio": value / base[c]} if base else {}),
            }
            for c, value in values.items()
        }
        for name, values in middle.items()
    }


def markdown(rounds: Rounds, **sizes: int) -> str:
    """The table in Markdown: `median (smallest–largest) ×ratio`."""
    heads = [column.title.format(**sizes) for column in COLUMNS.values()]
    lines = [f"| | {' | '.join(heads)} |", "|---|" + "---|" * len(heads)]
    for name, numbers in summary(rounds).items():
        cells = [_cell(COLUMNS[c], n, name == REFERENCE) for c, n in numbers.items()]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(column: Column, numbers: dict[str, float], reference: bool) -> str:
    middle, low, high = (column.form.format(numbers[k] * column.scale) for k in ("median", "min", "max"))
    ratio = "" if reference or "ratio" not in numbers else f" ×{numbers['ratio']:.2g}"
    return f"{middle} ({low}–{high}){ratio}"
