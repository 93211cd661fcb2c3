"""A sweep in words: a table, signs for gains, and the sentence that says what they come to."""

from typing import TYPE_CHECKING

from motet.evals.verdict import points

if TYPE_CHECKING:
    from rich.table import Table

    from motet.evals.lab.sweep import Cell, Sweep
    from motet.evals.stats import Interval

STEPS = (0.0, 0.05, 0.15)
"""From how large a gain on there is one sign, two, three."""

LEGEND = "▲ gain, ▼ loss: one sign below 5 points, two below 15, three from there on; · none that is sure"


def varied(found: "Sweep") -> list[str]:
    """The knobs of the world that are not the same in all cells."""
    return [k for k in found.base if len({cell.world[k] for cell in found.cells}) > 1]


def crossed(found: "Sweep") -> bool:
    """Whether several knobs were varied together, not one at a time."""
    return any(sum(c.world[k] != v for k, v in found.base.items()) > 1 for c in found.cells)


def where(found: "Sweep", cell: "Cell") -> str:
    """A world, by what sets it apart: `judge 0.9`; the middle of the map by that name."""
    every = crossed(found)
    apart = [f"{k} {cell.world[k]:g}" for k in varied(found) if every or cell.world[k] != found.base[k]]
    return ", ".join(apart) or "the base"


def sign(gain: "Interval") -> str:
    """A gain as `▲▲`, `▼` or `·`."""
    if gain.low <= 0 <= gain.high:
        return "·"
    return ("▲" if gain.mean > 0 else "▼") * sum(abs(gain.mean) >= step for step in STEPS)


def gained(gain: "Interval") -> str:
    """A gain in points with its interval: `+8.0 (2.1 to 13.5)`."""
    return f"{points(gain.mean, signed=True)} ({points(gain.low)} to {points(gain.high)})"


def heads(found: "Sweep") -> tuple[str, ...]:
    """The titles of a table: a column for each knob that varies, where several do together."""
    worlds = tuple(varied(found)) if crossed(found) else ("voices",)
    return *worlds, *FIGURES, *(["$ in 1000 runs"] if _priced(found) else [])


def row(found: "Sweep", cell: "Cell") -> tuple[str, ...]:
    """The cells of a table: world, sign, gain, method, vote, calls, tokens, and dollars if there are any."""
    worlds = [f"{cell.world[k]:g}" for k in varied(found)] if crossed(found) else [where(found, cell)]
    method, vote = (f"{100 * mark.mean:.1f}%" for mark in (cell.method, cell.vote))
    calls = f"{cell.votes}" if cell.calls == cell.votes else f"{cell.calls:.1f} ({cell.votes})"
    if cell.failures:
        method += f" ({cell.failures} failed)"
    tokens = f"{cell.tokens:,.0f} ({cell.vote_tokens:,.0f})"
    cost = [f"{_dollars(cell.cost)} ({_dollars(cell.vote_cost)})"] if _priced(found) else []
    return *worlds, sign(cell.gain), gained(cell.gain), method, vote, calls, tokens, *cost


FIGURES = ("", "gain, points (95%)", "accuracy", "self-consistency", "calls", "tokens")


def _priced(found: "Sweep") -> bool:
    return any(cell.cost or cell.vote_cost for cell in found.cells)


def _dollars(cost: float | None) -> str:
    return "unknown" if cost is None else f"{1000 * cost:.3g}"


def table(found: "Sweep") -> "Table":
    """One row a world, for a terminal; what does not fit is folded, and no figure is cut."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    apart = varied(found) if crossed(found) else ()
    base = ", ".join(f"{k} {v:g}" for k, v in found.base.items() if k not in apart)
    against = "against self-consistency with as many calls (in brackets: its own)"
    titles = heads(found)
    made = Table(
        *titles,
        box=SIMPLE_HEAD,
        title=f"{found.name} {against}, {found.items} items a row\nbase: {base}",
        title_justify="left",
        pad_edge=False,
        collapse_padding=True,
    )
    at = titles.index("")
    for i, column in enumerate(made.columns):
        column.justify, column.no_wrap = "right" if i != at and (i > at or apart) else "left", True
    for cell in found.cells:
        style = {"▲": "green", "▼": "red"}.get(sign(cell.gain)[0], "")
        made.add_row(*row(found, cell), style=style)
    return made


def heat(found: "Sweep") -> str:
    """The gains as signs: a grid where two knobs vary together, else a line for each knob."""
    knobs = varied(found)
    if crossed(found) and len(knobs) == 2:
        return _grid(found, *knobs)
    if crossed(found):
        worlds = [where(found, cell) for cell in found.cells]
        wide = max(map(len, worlds))
        return "\n".join(f"{w:<{wide}} {sign(c.gain)}" for w, c in zip(worlds, found.cells, strict=True))
    return "\n".join(_line(found, knob) for knob in knobs)


def _line(found: "Sweep", knob: str) -> str:
    along = [c for c in found.cells if all(c.world[k] == v for k, v in found.base.items() if k != knob)]
    along.sort(key=lambda cell: cell.world[knob])
    return f"{knob:<10}" + "".join(f"{c.world[knob]:>6g} {sign(c.gain):<4}" for c in along).rstrip()


def _grid(found: "Sweep", down: str, across: str) -> str:
    signs = {(cell.world[down], cell.world[across]): sign(cell.gain) for cell in found.cells}
    columns = sorted({x for _, x in signs})
    lines = [f"{down} \\ {across}".ljust(18) + "".join(f"{x:<7g}" for x in columns)]
    lines += [
        f"{y:<18g}" + "".join(f"{signs.get((y, x), ''):<7}" for x in columns)
        for y in sorted({y for y, _ in signs})
    ]
    return "\n".join(line.rstrip() for line in lines)


def verdict(found: "Sweep") -> str:
    """What the figures come to, in a sentence."""
    cells = found.cells
    helps = [cell for cell in cells if cell.gain.low > 0]
    hurts = [cell for cell in cells if cell.gain.high < 0]
    beaten = f"self-consistency with as many calls in {len(helps)} of {len(cells)} settings"
    said = []
    if helps:
        best = max(helps, key=lambda cell: cell.gain.mean)
        said.append(f"beats {beaten}, most at {where(found, best)} ({_at(best)})")
    if hurts:
        worst = min(hurts, key=lambda cell: cell.gain.mean)
        said.append(f"falls behind it in {len(hurts)}, most at {where(found, worst)} ({_at(worst)})")
    if not helps:
        said.insert(0, f"beats {beaten.replace(' 0 of ', ' none of ')}")
    if rest := len(cells) - len(helps) - len(hurts):
        said.append(f"shows no sure difference in {'all' if rest == len(cells) else rest}")
    text = said[0] if len(said) == 1 else f"{', '.join(said[:-1])}, and {said[-1]}"
    return f"{found.name} {text}."


def _at(cell: "Cell") -> str:
    gain = cell.gain
    return f"{points(gain.mean, signed=True)} points, 95% CI {points(gain.low)} to {points(gain.high)}"
