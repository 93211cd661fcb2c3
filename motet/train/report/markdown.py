"""A training run on one page: its curves, samples from before and after, and the drift ledger."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from motet.train.source import Rollout

BARS = "▁▂▃▄▅▆▇█"
WIDTH = 48

COUNTS = {"iteration", "rows", "rollouts", "unscored", "seconds"}
PLUMBING = ("/rows", "/tokens", "/step")
"""Names, and ends of names, that count what was done and are no result."""

Dialogue = list[tuple[str, str]]
"""Who said what; the task is said by nobody."""

SHOWN = ("score", "exploitability", "value", "elo", "test/reward/", "reward/")
"""Beginnings of the names that come first."""


def report(
    curve: Sequence[Mapping[str, float]],
    samples: tuple[Sequence[Dialogue], Sequence[Dialogue]],
    ledger: str,
    stopped: str = "",
) -> str:
    """The page as Markdown.

    Args:
        curve: lines of numbers by name.
        samples: what was said before and after.
    """
    lines = [
        "# Training",
        "",
        f"{int(curve[-1]['iteration']) if curve else 0} iterations. {stopped}".rstrip(),
        "",
    ]
    lines += ["| | first | last | |", "|---|--:|--:|---|"]
    for name, first, last, drawn in summary(curve):
        lines.append(f"| {name} | {first:.4g} | {last:.4g} | `{drawn}` |")
    for title, said in zip(("Before", "After"), samples, strict=True):
        lines += ["", f"## {title}", *(part for one in said for part in ("", _fenced(told(one))))]
    return "\n".join([*lines, "", "## Ledger", "", ledger, ""])


def summary(curve: Sequence[Mapping[str, float]], width: int = WIDTH) -> list[tuple[str, float, float, str]]:
    """Each quantity of the curve: its name, first and last value, and a picture.

    Counts are left out, and what never changed and is not a result.
    """
    found = {name for line in curve for name in line if not name.endswith(PLUMBING)}
    names = sorted(found - COUNTS, key=_order)
    values = {name: [line[name] for line in curve if name in line] for name in names}
    return [
        (name, row[0], row[-1], sparkline(row, width))
        for name, row in values.items()
        if min(row) < max(row) or _order(name)[0] < len(SHOWN)
    ]


def _order(name: str) -> tuple[int, str]:
    first = next((i for i, start in enumerate(SHOWN) if name.startswith(start)), len(SHOWN))
    return first, name


def _fenced(text: str) -> str:
    """As code, whatever is in it."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def sparkline(values: Sequence[float], width: int = WIDTH) -> str:
    """A curve as one line of bars; long ones are averaged down to `width`.

    >>> sparkline([0, 1, 2, 3])
    '▁▃▆█'
    """
    if len(values) > width:
        cuts = [round(i * len(values) / width) for i in range(width + 1)]
        values = [sum(values[a:b]) / (b - a) for a, b in pairwise(cuts)]
    low, high = min(values), max(values)
    scale = (len(BARS) - 1) / (high - low) if high > low else 0.0
    return "".join(BARS[round((value - low) * scale)] for value in values)


def spoken(rollout: Rollout) -> Dialogue:
    """A rollout as a dialogue: its task, who said what, and what it earned."""
    tape = rollout.run.tape
    lines = [("", _short(tape.started.task.prompt))]
    for call in tape.calls:
        node = tape.nodes.get(call.node)
        said = "".join(p.text for p in node.parts if hasattr(p, "text")) if node else str(call.failure)
        lines.append((call.voice, _short(said)))
    rewards = ", ".join(
        f"{'' if v == '*' else v + ' '}{'unscored' if r is None else f'{r:g}'}"
        for v, r in rollout.rewards.items()
    )
    return [*lines, ("reward", rewards)]


def told(dialogue: Dialogue) -> str:
    """A dialogue in lines."""
    return "\n".join(f"{who}: {said}" if who else said for who, said in dialogue)


def _short(text: str, most: int = 400) -> str:
    return text if len(text) <= most else f"{text[:most]}…"
