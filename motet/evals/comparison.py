"""What a comparison found: a row a method, the outcomes of every item, and ways to show both."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Struct

from motet import __version__
from motet.evals.bench import Outcome
from motet.evals.budgeting import Currency, mean_spend, near
from motet.evals.lineup import Entry
from motet.evals.stats import Interval, mean_ci, never_seen, paired_bootstrap
from motet.evals.verdict import Verdict, judge
from motet.knobs import in_words
from motet.performance import cast_names
from motet.tape import Store

if TYPE_CHECKING:
    from rich.table import Table


class Row(Struct, frozen=True):
    """One method over all items; a failed run counts as 0.

    Args:
        accuracy: mean mark, with its 95% interval over the items.
        tokens, calls, cost, seconds: mean of a run; `cost` in US dollars, None when a price is unknown.
        failures: failed runs, by kind.
        matched: the baseline of equal budget; None for a baseline, and for a method that is itself one.
        over_direct, over_matched: gain over a single call and over `matched`, paired by item, with 95%
            intervals.
    """

    method: str
    role: Literal["method", "baseline"]
    team_id: str
    voices: dict[str, str]
    knobs: dict[str, Any]
    runs: int
    accuracy: Interval
    tokens: float
    calls: float
    cost: float | None
    seconds: float
    failures: dict[str, int]
    matched: str | None
    over_direct: Interval | None
    over_matched: Interval | None
    verdict: Verdict | None


class Item(Struct, frozen=True):
    """One item of the suite, with the outcomes of each method, one a seed."""

    id: str
    prompt: str
    target: str | None
    outcomes: dict[str, tuple[Outcome, ...]]

    def value(self, method: str) -> float:
        """Mean mark of a method over the seeds."""
        return fmean(outcome.value for outcome in self.outcomes[method])


class Settings(Struct, frozen=True):
    """What a comparison was asked to do."""

    suite: str
    scorer: str
    n: int
    seed: int
    seeds: int
    currency: Currency
    budget: dict[str, float]
    model: str | None
    motet: str = __version__


@dataclass(frozen=True, repr=False)
class Comparison:
    """The result of `motet.compare`.

    Args:
        rows: the methods in the order given, then the baselines.
        items: in the order of the suite.
        store: holds the runs that `Outcome.run` names.
    """

    settings: Settings
    rows: tuple[Row, ...]
    items: tuple[Item, ...]
    store: Store

    @property
    def verdicts(self) -> dict[str, str]:
        """One sentence for each method."""
        return {row.method: row.verdict.sentence for row in self.rows if row.verdict}

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain data: what `motet compare --json` prints."""
        return {
            **msgspec.to_builtins(self.settings),
            "rows": msgspec.to_builtins(self.rows),
            "items": msgspec.to_builtins(self.items),
            "verdicts": self.verdicts,
        }

    def table(self) -> "Table":
        """The rows as a `rich` table."""
        from motet.evals.tables import table

        return table(self)

    def save_html(self, path: str | Path) -> Path:
        """Write the report as one HTML file that needs nothing else, and return its path."""
        from motet.evals.report import render

        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(render(self), encoding="utf-8")
        return path

    def __repr__(self) -> str:
        import io

        from rich.console import Console

        page = io.StringIO()
        Console(width=132, color_system=None, file=page).print(self.table())
        lines = [*page.getvalue().splitlines(), *self.verdicts.values()]
        return "\n".join(line.rstrip() for line in lines)


def make_rows(
    entries: Sequence[Entry],
    items: Sequence[Item],
    matches: Mapping[str, str],
    direct: str | None,
    currency: Currency,
) -> tuple[Row, ...]:
    """Summarise each entry.

    Args:
        matches: for each method, the label of the baseline that it is held against.
        direct: label of the single call, if it was run.
    """
    summary = _Summary(items, direct, currency)
    return tuple(summary.row(entry, matches.get(entry.label)) for entry in entries)


@dataclass(frozen=True, slots=True)
class _Summary:
    """What the rows of a comparison have in common."""

    items: Sequence[Item]
    direct: str | None
    currency: Currency

    def row(self, entry: Entry, matched: str | None) -> Row:
        """One row; `matched` is the label of the baseline of equal cost."""
        label, made = entry.label, self.made(entry.label)
        matched = None if matched == label else matched
        return Row(
            method=label,
            role=entry.role,
            team_id=entry.team.identity,
            voices=cast_names(entry.team),
            knobs=msgspec.to_builtins(entry.team.knobs, enc_hook=in_words),
            runs=len(made),
            accuracy=bounded(mean_ci(self.marks(label)), 0.0),
            tokens=mean_spend(made, "tokens"),
            calls=mean_spend(made, "calls"),
            cost=None if any(o.cost is None for o in made) else mean_spend(made, "money"),
            seconds=fmean(o.seconds for o in made),
            failures=dict(Counter(o.failure for o in made if o.failure).most_common()),
            matched=matched,
            over_direct=self.gain(label, self.direct),
            over_matched=self.gain(label, matched),
            verdict=self.verdict(label, matched or self.direct) if entry.role == "method" else None,
        )

    def made(self, label: str) -> list[Outcome]:
        return [outcome for item in self.items for outcome in item.outcomes[label]]

    def marks(self, label: str) -> list[float]:
        return [item.value(label) for item in self.items]

    def gain(self, label: str, baseline: str | None) -> Interval | None:
        if baseline is None or baseline == label:
            return None
        gain = paired_bootstrap(self.marks(label), self.marks(baseline))
        if gain.low == gain.high:  # nothing to resample, which is not the same as nothing to doubt
            slack = never_seen(len(self.items))
            gain = msgspec.structs.replace(gain, low=gain.mean - slack, high=gain.mean + slack)
        return bounded(gain, -1.0)

    def verdict(self, label: str, against: str | None) -> Verdict | None:
        gain = self.gain(label, against)
        if against is None or gain is None:
            return None
        ours, theirs = self.made(label), self.made(against)
        name = (
            "a single call"
            if against == self.direct
            else against.replace("self_consistency(", "self-consistency (")
        )
        gains = [a - b for a, b in zip(self.marks(label), self.marks(against), strict=True)]
        words = f"{name} {at_ratio(theirs, ours, self.currency)}"
        found = judge(label, gains, gain, words, self.currency)
        if not (failures := sum(outcome.failure is not None for outcome in ours)):
            return found
        told = f"{found.sentence[:-1]}; {failures} of {len(ours)} runs failed."
        return msgspec.structs.replace(found, sentence=told)


def bounded(interval: Interval, lowest: float) -> Interval:
    """The interval within what a mark can be: one item alone leaves it unbounded."""
    return msgspec.structs.replace(interval, low=max(interval.low, lowest), high=min(interval.high, 1.0))


def at_ratio(baseline: Sequence[Outcome], made: Sequence[Outcome], currency: Currency) -> str:
    """What the method spent beside the baseline, in words."""
    theirs, ours = mean_spend(baseline, currency), mean_spend(made, currency)
    if near(theirs, ours) or not theirs:
        return f"at equal {currency}"
    return f"with {ours / theirs:.{1 if ours > theirs else 2}f} times the {currency}"
