"""Where things go in the report's pictures: pure geometry, in pixels. The template draws it."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

CHAR, LINE = 6.6, 16.0  # of a label at 12 px, generously
REACH = 14.0  # a label further from its point than this has a line to it


class Box(NamedTuple):
    """A rectangle."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "Box") -> bool:
        """Whether the two overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.top < other.bottom
            and other.top < self.bottom
        )

    def within(self, other: "Box") -> bool:
        """Whether this lies inside the other."""
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


class Point(NamedTuple):
    """What is to be drawn: a method's spend and accuracy, with its interval."""

    label: str
    x: float
    y: float
    low: float
    high: float
    kind: str


class Tick(NamedTuple):
    """A line of the grid and its number."""

    at: float
    text: str


class Dot(NamedTuple):
    """A point in place, with the box of its label; `leader` says whether a line joins them."""

    point: Point
    x: float
    y: float
    low: float
    high: float
    label: Box
    leader: bool


class Scatter(NamedTuple):
    """The whole picture."""

    width: float
    height: float
    frame: Box
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    dots: tuple[Dot, ...]


def scatter(points: Sequence[Point], width: float = 760, height: float = 400) -> Scatter:
    """Place points, error bars, grid and labels; no label covers another, a point or an error bar."""
    frame = Box(52, 12, width - 16, height - 44)
    across, x_of = _axis([p.x for p in points], frame.left, frame.right)
    low = min(p.low for p in points)
    step = 0.2 if low < 0.4 else 0.1 if low < 0.75 else 0.05
    bottom = max(0.0, math.floor(low / step - 0.2) * step)
    up_values = [i * step for i in range(math.ceil(bottom / step - 1e-9), round(1 / step) + 1)]

    def y_of(value: float) -> float:
        return frame.bottom - (value - bottom) / (1 - bottom) * (frame.bottom - frame.top - 8)

    places = [(p, x_of(p.x), y_of(p.y), y_of(p.low), y_of(p.high)) for p in points]
    taken = [Box(x - 7, y - 7, x + 7, y + 7) for _, x, y, _, _ in places]
    taken += [Box(x - 5, high - 2, x + 5, low + 2) for _, x, _, low, high in places]
    dots = []
    for point, x, y, low_at, high_at in places:
        label, far = _place(point.label, x, y, taken, frame)
        taken.append(label)
        dots.append(Dot(point, x, y, low_at, high_at, label, far))
    up = tuple(Tick(y_of(v), f"{100 * v:.0f}%") for v in up_values)
    return Scatter(width, height, frame, across, up, tuple(dots))


def _axis(values: Sequence[float], left: float, right: float) -> "tuple[tuple[Tick, ...], _Scale]":
    """A scale from nought, or in powers of ten where the values span a wide range."""
    least, most = min(values), max(values)
    if least > 0 and most / least >= 5:
        scale = _Scale(math.log10(least / 1.4), math.log10(most * 1.4), left, right, logarithmic=True)
        powers = range(math.floor(scale.low), math.ceil(scale.high) + 1)
        marks = [m * 10**p for p in powers for m in (1, 2, 5)]
        inside = [m for m in marks if left <= scale(m) <= right]
    else:
        scale = _Scale(0.0, (most or 1.0) * 1.15, left, right)
        step = _round_step(scale.high / 6)
        inside = [i * step for i in range(int(scale.high / step) + 1)]
    return tuple(Tick(scale(m), f"{m:,.4g}" if m < 1000 else f"{m:,.0f}") for m in inside), scale


class _Scale(NamedTuple):
    low: float
    high: float
    left: float
    right: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        value = math.log10(value) if self.logarithmic else value
        return self.left + (value - self.low) / (self.high - self.low) * (self.right - self.left)


def _round_step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(m for m in (1, 2, 5, 10) if m * power >= rough)


def _place(text: str, x: float, y: float, taken: Sequence[Box], frame: Box) -> tuple[Box, bool]:
    """The nearest free box for a label, and whether it is far from its point."""
    width = CHAR * len(text) + 4
    inside = [box for _, box in _around(x, y, width, frame) if box.within(frame)]
    for distance, box in _around(x, y, width, frame):
        if box.within(frame) and not any(box.meets(other) for other in taken):
            return box, distance > REACH
    return (inside or [Box(x, y, x + width, y + LINE)])[0], False


def _around(x: float, y: float, width: float, frame: Box) -> Iterator[tuple[float, Box]]:
    """Boxes about a point, nearest first: beside it, above and below, then further and further off."""
    distance = 10.0
    while distance < frame.right:
        for turn in (0, 180, 270, 90, 315, 45, 225, 135, 292, 68, 248, 112):
            across, down = math.cos(math.radians(turn)), math.sin(math.radians(turn))
            left = x + distance * across - (0 if across > 0.3 else width if across < -0.3 else width / 2)
            top = y + distance * down - LINE / 2 + (0 if abs(down) < 0.3 else math.copysign(LINE / 2, down))
            yield distance, Box(left, top, left + width, top + LINE)
        distance += 8


class Grid(NamedTuple):
    """A heat map in bands: columns a band, the size of a cell, and of the whole."""

    per_band: int
    cell: float
    row: float
    left: float
    width: float
    band: float
    bands: int


def grid(rows: int, columns: int, width: float = 760, left: float = 190, smallest: float = 8) -> Grid:
    """Cells as wide as fit, at least `smallest` pixels; what does not fit goes into another band below."""
    room = width - left
    bands = math.ceil(columns * smallest / room)
    per_band = math.ceil(columns / bands)
    cell = min(18.0, room / per_band)
    return Grid(per_band, cell, 20.0, left, width, rows * 20.0 + 14, bands)
