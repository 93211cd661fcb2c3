"""A comparison as one HTML page: what is shown, in the order it is shown.

Every text goes through the template's autoescape; what a model wrote is never markup.
"""

from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Any

from msgspec import Struct

from motet.evals.bench import Outcome
from motet.evals.comparison import Comparison, Item, Row
from motet.evals.report.charts import Point, grid, scatter
from motet.evals.tables import difference, money, short
from motet.tape.record import run_record
from motet.viewer.page import templates

MOST_ITEMS = 480
MOST_CALLS = 12
MOST_LETTERS = 4000

SIGNS = {"earned": "▲", "unclear": "?", "not_earned": "▼"}


class Cell(Struct, frozen=True):
    """One square of the heat map. `state` is right, wrong, part or failed."""

    state: str
    value: float
    title: str


class Said(Struct, frozen=True):
    """A message as shown."""

    role: str
    text: str
    left_out: int = 0


class Call(Struct, frozen=True):
    """A call as shown: the messages that were not shown before, and the reply."""

    id: str
    voice: str
    model: str
    uses: list[str]
    earlier: int
    messages: list[Said]
    reply: Said | None
    error: str
    tokens: int


class Transcript(Struct, frozen=True):
    """One run as shown."""

    method: str
    outcome: Outcome
    state: str
    calls: list[Call]
    hidden: int


class Sample(Struct, frozen=True):
    """An item worth reading, and why."""

    why: str
    item: Item
    transcripts: list[Transcript]


def render(comparison: Comparison) -> str:
    """The page."""
    env = templates("motet.evals.report")
    env.filters |= {"difference": difference, "money": money, "short": short}
    rows, items = comparison.rows, by_difficulty(comparison.items)
    shown = thinned(items, MOST_ITEMS)
    chart = scatter([_point(row) for row in rows])
    votes = [dot for dot in chart.dots if dot.point.kind != "method"]
    return env.get_template("report.html.j2").render(
        c=comparison,
        chart=chart,
        frontier=sorted((dot.x, dot.y) for dot in votes) if len(votes) > 1 else [],
        grid=grid(len(rows), len(shown)),
        shown=shown,
        cells={row.method: [cell(item, row.method) for item in shown] for row in rows},
        samples=[_sample(comparison, why, item) for why, item in worth_reading(items)],
        findings=[row for finding in SIGNS for row in rows if row.verdict and row.verdict.finding == finding],
        signs=SIGNS,
    )


def _point(row: Row) -> Point:
    accuracy = row.accuracy
    return Point(short(row.method), row.tokens, accuracy.mean, accuracy.low, accuracy.high, row.role)


def by_difficulty(items: Sequence[Item]) -> list[Item]:
    """The items from easy to hard, by the mean mark of all methods."""
    return sorted(items, key=lambda item: -_mean(item))


def _mean(item: Item) -> float:
    return fmean(item.value(method) for method in item.outcomes)


def thinned(items: Sequence[Item], most: int) -> list[Item]:
    """Evenly chosen items, `most` at most."""
    return [items[i * len(items) // most] for i in range(most)] if len(items) > most else list(items)


def cell(item: Item, method: str) -> Cell:
    """How a method did on an item, over the seeds."""
    outcomes, value = item.outcomes[method], item.value(method)
    failures = [o.failure for o in outcomes if o.failure]
    whole = {0.0: "wrong", 1.0: "right"}.get(value, "part")
    state = "failed" if failures and not value else whole
    about = ", ".join(_about(o, item) for o in outcomes)
    return Cell(state, value, f"{item.id} · {method}: {about}")


def _about(outcome: Outcome, item: Item) -> str:
    if outcome.failure:
        return f"failed ({outcome.failure})"
    answer = _clipped(outcome.answer or "no answer", 60)
    if outcome.value == 1:
        return f"right ({answer})"
    expected = f", expected {_clipped(item.target, 60)}" if item.target else ""
    return f"{'wrong' if not outcome.value else f'{outcome.value:.2f}'} ({answer}{expected})"


def _clipped(text: str, most: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else text[: most - 1] + "…"


def worth_reading(items: Sequence[Item]) -> list[tuple[str, Item]]:
    """Where the methods disagree most, the item that went best, and the one that went worst."""
    chosen = {
        "The methods disagree": max(items, key=lambda item: -abs(_mean(item) - 0.5)),
        "The best": items[0],
        "The worst": items[-1],
    }
    found: dict[str, tuple[str, Item]] = {}
    for why, item in chosen.items():
        found.setdefault(item.id, (why, item))
    return list(found.values())


def _sample(comparison: Comparison, why: str, item: Item) -> Sample:
    transcripts = []
    for method, outcomes in item.outcomes.items():
        record = run_record(comparison.store.load(outcomes[0].run))
        calls = list(read_calls(record["calls"][:MOST_CALLS]))
        hidden = len(record["calls"]) - len(calls)
        transcripts.append(Transcript(method, outcomes[0], cell(item, method).state, calls, hidden))
    return Sample(why, item, transcripts)


def read_calls(calls: Iterable[dict[str, Any]]) -> Iterable[Call]:
    """The calls of a run record; what one has in common with those before it is not shown again."""
    seen: set[tuple[tuple[str, str], ...]] = set()
    for call in calls:
        path = tuple((m["role"], m["content"]) for m in call["messages"])
        known = max((i for i in range(len(path) + 1) if path[:i] in seen), default=0)
        reply = call["reply"]
        seen |= {path[: i + 1] for i in range(len(path))}
        if reply:
            seen.add((*path, (reply["role"], reply["content"])))
        yield Call(
            id=call["id"],
            voice=call["agent"],
            model=call["model"],
            uses=call["parents"],
            earlier=known,
            messages=[_said(role, text) for role, text in path[known:]],
            reply=_said("reply", reply["content"]) if reply else None,
            error=call.get("error", {}).get("message", ""),
            tokens=call["usage"]["input_tokens"] + call["usage"]["output_tokens"],
        )


def _said(role: str, text: str) -> Said:
    return Said(role, text[:MOST_LETTERS], max(0, len(text) - MOST_LETTERS))
