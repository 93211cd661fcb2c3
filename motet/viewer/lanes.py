"""A diagram drawn: lanes of the voices from top to bottom for a terminal, and Mermaid for a page."""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from motet.viewer.diagram import Diagram, Reading, Row
from motet.viewer.words import clean, colour

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

PITCH = 4
WIDTH = 100
LEGEND = "○ from the task alone   ● having read   ◆ in a fixed form"


def lanes(made: Diagram, width: int = WIDTH) -> "Text":
    """Draw one lane a voice, one row a step: an arrow goes from whose reply was read to who read it.

    Args:
        width: columns of the terminal; words are folded to fit.
    """
    from rich.text import Text

    page = _Page(made, min(width, WIDTH))
    return Text("\n").join([*page.names(), *page.steps(), *page.end(), Text(LEGEND, "dim")])


class _Page:
    """The drawing of one diagram."""

    def __init__(self, made: Diagram, width: int) -> None:
        self.made, self.width = made, width
        self.place = {voice: i for i, voice in enumerate(made.voices)}
        known: dict[str, str] = {}
        self.colours = [colour(voice, known) for voice in made.voices]
        self.margin = max((len(_numbers(row.steps)) for row in made.rows), default=1) + 2
        # A lane ends where its voice has spoken, and been read, for the last time.
        self.last = [0] * len(self.place)
        for i, row in enumerate(made.rows):
            for voice in (row.voice, *(made.rows[s].voice for s in row.sources)):
                self.last[self.place[voice]] = max(self.last[self.place[voice]], i)
        for i, _ in made.answer:
            self.last[self.place[made.rows[i].voice]] = len(made.rows)

    def names(self) -> "list[Text]":
        """The names of the voices, a staircase over their lanes."""
        from rich.text import Text

        return [
            self._line("", self._grid(-1)[: PITCH * i], Text(clean(voice), f"bold {self.colours[i]}"), gap=0)
            for voice, i in self.place.items()
        ]

    def steps(self) -> "list[Text]":
        """One row a step, folded over more lines where its words are long."""
        lines = []
        for i, row in enumerate(self.made.rows):
            before = i and self.made.rows[i - 1].steps == row.steps
            number = "" if before else _numbers(row.steps)
            words = self._words(row).wrap(_console(), max(20, self.width - self.margin - self.across - 2))
            lines.append(self._line(number, self._drawn(row, i), words[0]))
            lines += [self._line("", self._grid(i + 1, i), more) for more in words[1:]]
        return lines

    def end(self) -> "list[Text]":
        """The answer and whose it is."""
        from rich.text import Text

        words = Text("answer", "bold")
        found: Counter[str] = Counter()
        for i, count in self.made.answer:
            found[self.made.rows[i].voice] += count
        if found.total() > 1:
            said = [
                f"{clean(voice)} ×{count}" if count > 1 else clean(voice) for voice, count in found.items()
            ]
            words.append(f" of {_listed(said)}", "dim")
        from_lanes = sorted(self.place[voice] for voice in found)
        cells = [(" ", "dim")] * (self.across + 1)
        if from_lanes:
            cells[PITCH * from_lanes[0] :] = [("─", "dim")] * (len(cells) - PITCH * from_lanes[0])
            for lane in from_lanes:
                cells[PITCH * lane] = ("╰" if lane == from_lanes[0] else "┴", self.colours[lane])
        cells[-1] = ("▶", "dim")
        return [self._line("", cells, words, gap=1)]

    @property
    def across(self) -> int:
        return PITCH * len(self.place)

    def _grid(self, row: int, since: int | None = None) -> list[tuple[str, str]]:
        """The lanes at a row where nothing happens."""
        cells = [(" ", "dim")] * self.across
        for lane, last in enumerate(self.last):
            if row <= last or (since is not None and since < last):
                cells[PITCH * lane] = ("│", f"dim {self.colours[lane]}")
        return cells

    def _drawn(self, row: Row, at: int) -> list[tuple[str, str]]:
        """The lanes at a row: the arrows from whom it read, and the sign of who speaks."""
        cells, to = self._grid(at), self.place[row.voice]
        sources = sorted({self.place[self.made.rows[s].voice] for s in row.sources} - {to})
        for lane in sources:
            step = 1 if lane < to else -1
            for x in range(PITCH * lane + step, PITCH * to, step):
                if cells[x][0] == " ":
                    cells[x] = ("─", self.colours[lane])
            between = any(min(lane, to) < other < max(lane, to) for other in sources)
            far = [other for other in sources if (other < to) == (lane < to)]
            edge = lane == (min(far) if lane < to else max(far))
            sign = ("├" if lane < to else "┤") if edge or not between else "┼"
            cells[PITCH * lane] = (sign if edge else "┼", self.colours[lane])
            cells[PITCH * to - step] = ("▶" if step > 0 else "◀", self.colours[lane])
        sign = "◆" if row.form else "●" if row.reads else "○"
        cells[PITCH * to] = (sign, f"bold {self.colours[to]}")
        return cells

    def _words(self, row: Row) -> "Text":
        from rich.text import Text

        style = self.colours[self.place[row.voice]]
        words = Text.assemble((clean(row.voice), style), (f" ×{row.calls}" if row.calls > 1 else "", "bold"))
        if row.reads:
            verb = "read" if row.calls > 1 else "reads"
            words.append(f" {verb} " + _listed([_read(reading, row.calls) for reading in row.reads]), "dim")
        if row.tools:
            words.append(f" ⚙ {', '.join(map(clean, row.tools))}", "yellow")
        return words

    def _line(self, number: str, cells: Sequence[tuple[str, str]], words: "Text", gap: int = 2) -> "Text":
        from rich.text import Text

        drawn = Text.assemble((f"{number:>{self.margin - 2}}  ", "dim"), *cells)
        return drawn + Text(" " * gap) + words if words.plain.strip() else drawn


def mermaid(made: Diagram) -> str:
    """The diagram as a Mermaid flowchart; a dotted arrow is order in time without anything being read."""
    lines = ["flowchart LR", "  task([task])"]
    for i, row in enumerate(made.rows):
        times = f" ×{row.calls}" if row.calls > 1 else ""
        shape = ('{{"', '"}}') if row.form else ('["', '"]')
        lines.append(f"  s{i}{shape[0]}{_quoted(row.voice)}{times}{shape[1]}")
    lines.append("  answer([answer])")
    for i, row in enumerate(made.rows):
        if not row.sources:
            before = next((j for j in range(i - 1, -1, -1) if made.rows[j].steps != row.steps), None)
            lines.append(f"  task --> s{i}")
            if before is not None:
                lines.append(f"  s{before} -.-> s{i}")
        for source in row.sources:
            again = f'|"{len(row.steps)} rounds"|' if source >= i else ""
            lines.append(f"  s{source} -->{again} s{i}")
    ends = made.answer or ((len(made.rows) - 1, 0),) if made.rows else ()
    for i, count in ends:
        label = f'|"{count}"|' if count > 1 else ""
        lines.append(f"  s{i} {'-->' if made.answer else '-.->'}{label} answer")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return clean(name).replace('"', "'")


def _read(reading: Reading, readers: int) -> str:
    """What was read, in words."""
    count = f"{reading.low}–{reading.high}" if reading.low != reading.high else f"{reading.high}"
    if not reading.voice:
        return ("their own" if readers > 1 else "its own") + (f" {count}" if reading.high > 1 else "")
    if reading.peers:
        return f"{count} other{'s' if reading.high > 1 else ''}"
    return f"{clean(reading.voice)}{f' ×{count}' if reading.high > 1 else ''}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _numbers(steps: Sequence[int]) -> str:
    """`2`, `2–4` for steps in a row, `2, 4 … 8` for those that take turns."""
    if len(steps) == 1:
        return str(steps[0])
    if steps[1] == steps[0] + 1:
        return f"{steps[0]}–{steps[-1]}"
    if len(steps) <= 3:
        return ", ".join(map(str, steps))
    return f"{steps[0]}, {steps[1]} … {steps[-1]}"


def _console() -> "Console":
    from rich.console import Console

    return Console(width=WIDTH)
