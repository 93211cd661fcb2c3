"""A run as a readable transcript: who said what to whom, each text once."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from motet.tape import Called, Node, Stepped, Tape, ToolUsed, total_cost
from motet.types import Media, Message, Usage
from motet.viewer.words import clean, colour, money, pairs, seconds, spent, told

if TYPE_CHECKING:
    from rich.console import RenderResult

ASKED_LINES, SAID_LINES, TOOL_LINES = 8, 24, 8
_SHORT = 16


def transcript(tape: Tape, *, full: bool = False) -> RenderableType:
    """The run as something that rich can print.

    Each call shows only the text that is new in its prompt: replies that were passed on are named
    (`‹writer 1›`), histories that were shown before are left out. Words of models are never markup.

    Args:
        tape: a run, finished or not.
        full: show long texts whole instead of folding them.
    """
    page = _Page(tape, full)
    return Group(*page.head(), *(block for call in tape.calls for block in page.call(call)), *page.foot())


@dataclass
class Barred:
    """Content with a coloured bar to its left."""

    content: RenderableType
    style: str
    bar: str = "│"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> "RenderResult":
        width = max(options.max_width - 5, 20)
        edge = Segment(f"   {self.bar} ", Style.parse(self.style))
        for line in console.render_lines(self.content, options.update(width=width), pad=False):
            yield edge
            yield from line
            yield Segment.line()


@dataclass
class _Page:
    """What has been shown so far of one tape."""

    tape: Tape
    full: bool
    colours: dict[str, str] = field(default_factory=dict)
    shown: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.by_id = {call.id: call for call in self.tape.calls}

    def head(self) -> Iterator[RenderableType]:
        started = self.tape.started
        title = Text.assemble((clean(started.team), "bold"), (f"  {self.tape.run}", "dim"))
        yield Rule(title, align="left", style="dim")
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim", no_wrap=True)
        facts.add_column(overflow="fold")
        facts.add_row("task", self._folded(Text(clean(started.task.prompt)), SAID_LINES))
        for letter, choice in zip("ABCDEFGHIJ", started.task.choices, strict=False):
            facts.add_row("", Text(f"{letter}) {clean(choice)}"))
        if started.task.target is not None:
            facts.add_row("target", self._folded(Text(clean(started.task.target)), 2))
        settings = {**started.knobs, "seed": started.seed}
        facts.add_row("knobs", Text(clean(pairs(settings))))
        if started.budget:
            facts.add_row("budget", Text(pairs({k: f"{v:g}" for k, v in started.budget.items()})))
        yield facts

    def call(self, call: Called) -> Iterator[RenderableType]:
        """One call: who, what was new in its prompt, the reply, the tools it used."""
        style = colour(call.voice, self.colours)
        yield Text()
        yield self._call_head(call, style)
        if asked := self._asked(call):
            yield Barred(asked, "dim", "┆")
        if call.failure:
            yield Barred(Text(told(call.failure), "red"), "red", "✗")
        elif node := self.tape.nodes.get(call.node):
            self.shown[call.node] = call.id
            said = self._said(node)
            if said.plain.strip():
                yield Barred(self._folded(said, SAID_LINES), style, "┃")
        yield from self._tools(call)
        for step in self.tape.steps:
            if step.calls and max(step.calls.values(), key=int) == call.id:
                yield Barred(_stepped(step), "red" if step.invalid else "cyan", "▸")

    def _call_head(self, call: Called, style: str) -> RenderableType:
        line = Table.grid(expand=True, padding=(0, 1))
        line.add_column(ratio=1, overflow="fold")
        line.add_column(justify="right", no_wrap=True)
        name = Text.assemble(
            (f"{call.id:>2} ", "dim"), (clean(call.voice), f"bold {style}"), (f"  {clean(call.model)}", "dim")
        )
        if call.parents:
            name.append("  ← ", "dim")
            name.append(Text(", ").join(self._label(parent) for parent in call.parents))
        facts = Text(spent(call.usage, call.latency_s, call.cost), "dim")
        if call.stop not in ("end", "error"):
            facts = Text.assemble((f"{call.stop} · ", "yellow" if call.stop == "length" else "dim"), facts)
        if call.cached:
            facts = Text.assemble(("cached · ", "green"), facts)
        line.add_row(name, facts)
        return line

    def _label(self, parent: str) -> Text:
        """`writer 1`, in the colour of the voice; a call of another run by its full name."""
        call = self.by_id.get(parent)
        if call is None:
            return Text(clean(parent), "dim")
        return Text(f"{clean(call.voice)} {parent}", colour(call.voice, self.colours))

    def _asked(self, call: Called) -> RenderableType | None:
        """The text of the prompt that no earlier call has shown."""
        if before := self.shown.get(call.prompt):
            return Text(f"the prompt of {before}", "dim italic") if before != call.id else None
        fresh: list[RenderableType] = []
        for node in self._path(call.prompt):
            if node.key in self.shown:
                continue
            self.shown[node.key] = call.id
            if node.role == "tool":
                continue  # shown where the tool was used
            text = self._marked(_words(node), call)
            if node.role != "user":
                text = Text.assemble((f"{node.role}: ", "dim italic"), text)
            fresh.append(self._folded(text, ASKED_LINES))
        return Group(*fresh) if fresh else None

    def _path(self, key: str) -> list[Node]:
        path: list[Node] = []
        while node := self.tape.nodes.get(key):
            path.append(node)
            key = node.parent
        return path[::-1]

    def _marked(self, said: str, call: Called) -> Text:
        """The words with what is known already (the task, replies that were passed on) named only."""
        known = [(Text("‹task›", "dim"), self.tape.started.task.prompt)]
        for parent in call.parents:
            source = self.by_id.get(parent)
            if source and (node := self.tape.nodes.get(source.node)):
                label = self._label(parent)
                known.append((Text.assemble(("‹", "dim"), label, ("›", "dim")), _words(node)))
        pieces: list[Text | str] = [said]
        for label, text in sorted(known, key=lambda k: len(k[1]), reverse=True):
            pieces = [bit for piece in pieces for bit in _replace(piece, text, label)]
        if isinstance(pieces[0], str):
            pieces[0] = pieces[0].lstrip()
        return Text.assemble(*(p if isinstance(p, Text) else Text(_compact(p), "dim") for p in pieces if p))

    def _said(self, node: Node) -> Text:
        said = Text(clean(_words(node)))
        used = {tool.name for tool in self.tape.tools}
        for wanted in Message(node.role, node.parts).tool_calls:
            if wanted.name not in used:
                said.append(clean(f"\nwants {wanted.name}({wanted.arguments})").lstrip("\n"), "yellow")
        return said

    def _tools(self, call: Called) -> Iterator[RenderableType]:
        for tool in self.tape.tools:
            if tool.call == call.id:
                yield Barred(self._tool(tool), "red" if tool.failure else "yellow", "⚙")

    def _tool(self, tool: ToolUsed) -> RenderableType:
        head = Text.assemble(
            (clean(tool.name), "bold yellow"),
            clean(f" {tool.arguments}"),
            (f"  {seconds(tool.latency_s)}", "dim"),
        )
        result = told(tool.failure) if tool.failure else clean(tool.result)
        style = "red" if tool.failure else ""
        return Group(self._folded(head, TOOL_LINES), self._folded(Text(f"→ {result}", style), TOOL_LINES))

    def _folded(self, text: Text, lines: int) -> RenderableType:
        return text if self.full else Folded(text, lines)

    def foot(self) -> Iterator[RenderableType]:
        """The answer or what went wrong, the marks, and what it cost."""
        ended = self.tape.ended
        yield Text()
        if ended is None:
            yield Rule(
                Text("not ended: it is still going on, or was killed", "yellow"), align="left", style="yellow"
            )
        elif ended.answer is not None:
            title = Text("answer", "bold")
            if ended.parents:
                title.append("  ← ", "dim")
                title.append(Text(", ").join(self._label(parent) for parent in ended.parents))
            yield Rule(title, align="left", style="dim")
            sources = [self.tape.nodes.get(self.by_id[p].node) for p in ended.parents if p in self.by_id]
            known = any(node and _words(node) == ended.answer for node in sources)
            lines = ASKED_LINES if known else 4 * SAID_LINES
            yield Padding(self._folded(Text(clean(ended.answer)), lines), (0, 0, 0, 3))
        if ended and ended.failure:
            yield Rule(Text("no answer", "bold red"), align="left", style="red")
            yield Padding(Text(told(ended.failure), "red"), (0, 0, 0, 3))
        for score in self.tape.scores:
            words = f"   {clean(score.scorer)} {score.value:g}" + (
                f" (call {score.call})" if score.call else ""
            )
            yield Text.assemble(
                (words, "green" if score.value >= 0.5 else "red"), (f"  {clean(score.detail)}", "dim")
            )
        yield Text()
        yield self._bill()

    def _bill(self) -> RenderableType:
        """A line per voice, and the sum."""
        bill = Table(box=None, padding=(0, 1), header_style="dim")
        bill.add_column("  voice", overflow="fold")
        for head in ("calls", "tokens in", "out", "cost", "time"):
            bill.add_column(head, justify="right", no_wrap=True)
        for voice in self.tape.usage_by_voice():
            calls = [c for c in self.tape.calls if c.voice == voice]
            bill.add_row(Text(f"  {clean(voice)}", colour(voice, self.colours)), *_sums(calls))
        ended = self.tape.ended
        wall = ended.wall_s if ended else None
        bill.add_row(Text("  total", "bold"), *_sums(self.tape.calls, wall), style="bold")
        return bill


@dataclass
class Folded:
    """A text of which, when it is long, only the beginning and the end are shown."""

    text: Text
    lines: int

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> "RenderResult":
        lines = self.text.wrap(console, options.max_width)
        hidden = len(lines) - self.lines
        if hidden <= 2:
            yield self.text
            return
        tail = max(1, self.lines // 4)
        yield from lines[: self.lines - tail]
        yield Text(f"… {hidden} lines folded; --full shows them …", "dim italic")
        yield from lines[len(lines) - tail :]


def _words(node: Node) -> str:
    """The text of a node; media by kind, name and the beginning of their digest."""
    words = [Message(node.role, (p,)).text if not isinstance(p, Media) else _media(p) for p in node.parts]
    return "\n".join(w for w in words if w)


def _media(part: Media) -> str:
    return f"[{part.kind} {part.name or part.media_type} {part.digest[:8]}]"


def _replace(piece: Text | str, known: str, label: Text) -> list[Text | str]:
    """Put the label wherever the known text stands. A short text must fill its line: '4' is no quotation."""
    if isinstance(piece, Text) or not (known := known.strip()):
        return [piece]
    pattern = re.escape(known)
    if len(known) < _SHORT:
        pattern = rf"(?m:^(?:\[\d+\] )?){pattern}(?m:$)"
    bits: list[Text | str] = []
    for i, bit in enumerate(re.split(f"({pattern})", piece)):
        bits.append(label if i % 2 else bit)
    return bits


def _compact(piece: str) -> str:
    """No empty lines; names that follow each other share one."""
    return re.sub(r"\n\s*\n", "\n", clean(piece)) if piece.strip() else " "


def _sums(calls: Sequence[Called], wall_s: float | None = None) -> list[str]:
    usage = sum((c.usage for c in calls), Usage())
    time = sum(c.latency_s for c in calls) if wall_s is None else wall_s
    return [
        f"{usage.calls:,}",
        f"{usage.input_tokens:,}",
        f"{usage.output_tokens:,}",
        money(total_cost(list(calls))),
        seconds(time),
    ]


def _stepped(step: Stepped) -> Text:
    """What an environment made of the seats' actions."""
    line = Text()
    for seat, action in step.actions.items():
        line.append(clean(f"{seat}: {action}"), "bold")
        if seat in step.invalid:
            line.append(clean(f" ({step.invalid[seat]})"), "red")
        line.append("  ")
    rewards = ", ".join(f"{clean(seat)} {reward:+g}" for seat, reward in step.rewards.items() if reward)
    line.append(f"reward {rewards}" if rewards else "", "dim")
    line.append(" · the end" if step.done else "", "dim")
    return line
