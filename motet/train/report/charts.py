"""Where lines go in a training report: pure geometry, in pixels. The template draws it."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

Curve = Sequence[tuple[float, float]]
"""Points (iteration, value)."""

SMOOTHED_FROM = 40
"""Longer curves are drawn as a moving mean over the pale raw line."""


class Tick(NamedTuple):
    """A line of the grid and its number."""

    at: float
    text: str


class Drawn(NamedTuple):
    """One curve in place. `raw` is empty when the curve was not smoothed."""

    label: str
    points: str
    raw: str
    last: str
    label_at: float


class Chart(NamedTuple):
    """A panel: its title, size, frame (left, top, right, bottom), grid and curves."""

    title: str
    width: float
    height: float
    frame: tuple[float, float, float, float]
    across: list[Tick]
    up: list[Tick]
    curves: list[Drawn]


def chart(title: str, curves: Mapping[str, Curve], width: float = 760, height: float = 240) -> Chart:
    """Place curves that share their axes; each is labelled at its right end."""
    named = len(curves) > 1
    margin = 14 + (max(map(len, curves)) * 6.8 if named else 0) + 44
    frame = (46.0, 10.0, width - min(margin, width / 2), height - 24)
    left, top, right, bottom = frame
    xs = [x for curve in curves.values() for x, _ in curve]
    ys = [y for curve in curves.values() for _, y in curve if math.isfinite(y)] or [0.0]
    first, last = min(xs), max(xs)
    marks, low, high = steps(min(ys), max(ys), 4 if height > 160 else 2)

    def place(points: Curve) -> str:
        return " ".join(
            f"{left + (x - first) / (last - first or 1) * (right - left):.1f},{up(y):.1f}"
            for x, y in points
            if math.isfinite(y)
        )

    def up(y: float) -> float:
        return bottom - ((y if math.isfinite(y) else low) - low) / (high - low) * (bottom - top)

    drawn = []
    for label, points in curves.items():
        smooth = moving_mean(points) if len(points) >= SMOOTHED_FROM else points
        raw = place(points) if smooth is not points else ""
        drawn.append(Drawn(label, place(smooth), raw, number(smooth[-1][1]), up(smooth[-1][1])))
    across = [Tick(x_at, f"{x:g}") for x_at, x in ((left, first), (right, last))]
    grid = [Tick(up(mark), number(mark)) for mark in marks]
    return Chart(title, width, height, frame, across, grid, _apart(drawn, top, bottom))


def steps(low: float, high: float, most: int) -> tuple[list[float], float, float]:
    """Round marks, and a range that holds the values and ends on marks."""
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        low, high = (0.0, high) if low >= 0 else (low, 0.0)
    if high - low < 1e-300:
        low, high = 0.0, 1.0
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    marks = [k * step for k in range(first, last + 1)]
    return marks, marks[0], marks[-1]


def moving_mean(points: Curve, parts: int = 20) -> list[tuple[float, float]]:
    """The mean over a window of a `parts`-th of the curve, centred."""
    reach = max(1, len(points) // (2 * parts))
    smooth = []
    for i, (x, _) in enumerate(points):
        near = [y for _, y in points[max(0, i - reach) : i + reach + 1] if math.isfinite(y)]
        smooth.append((x, sum(near) / len(near) if near else math.nan))
    return smooth


def number(value: float) -> str:
    """A value in four signs or so."""
    return f"{0.0 if abs(value) < 1e-12 else value:.3g}"


def _apart(drawn: list[Drawn], top: float, bottom: float, line: float = 14) -> list[Drawn]:
    """The same with labels that do not cover each other, moved as little as need be."""
    order = sorted(range(len(drawn)), key=lambda i: drawn[i].label_at)
    at: list[float] = []
    for i in order:
        at.append(max(drawn[i].label_at, at[-1] + line if at else top))
    over = max(0.0, at[-1] - bottom) if at else 0.0
    moved = {i: drawn[i]._replace(label_at=place - over) for i, place in zip(order, at, strict=True)}
    return [moved[i] for i in range(len(drawn))]
