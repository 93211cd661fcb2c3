"""Who is speaking, as it happens: text streams in on a terminal; elsewhere a line for each call."""

from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from motet.tape import Asking, Called, Delta, Live, ToolUsed
from motet.viewer.words import clean, colour, spent, told


@dataclass
class LiveView:
    """A listener (`on_event`) that shows a run while it happens.

    Voices that speak at once are shown one after another: one streams, the others wait their turn.

    Args:
        console: where to draw.
    """

    console: Console
    _colours: dict[str, str] = field(default_factory=dict)
    _speaking: dict[str, Asking] = field(default_factory=dict)
    _heard: dict[str, str] = field(default_factory=dict)
    _done: list[Called] = field(default_factory=list)
    _front: str = ""

    def __call__(self, event: Live) -> None:
        match event:
            case Asking() if self.console.is_terminal:
                self._speaking[event.id] = event
                self._step_forward()
            case Delta() if self.console.is_terminal:
                self._hear(event)
            case Called():
                self._finish(event)
            case ToolUsed():
                self._tool(event)
            case _:
                return

    def _step_forward(self) -> None:
        """Let the next who speaks come to the front, with what was said meanwhile."""
        if not self._front and self._speaking:
            self._front, asking = next(iter(self._speaking.items()))
            self._name(asking.id, asking.voice, asking.model)
            self._say(self._heard.get(asking.id, ""))

    def _hear(self, delta: Delta) -> None:
        self._heard[delta.id] = self._heard.get(delta.id, "") + delta.text
        if delta.id == self._front:
            self._say(delta.text)

    def _finish(self, call: Called) -> None:
        self._speaking.pop(call.id, None)
        if self._front and call.id != self._front:
            self._done.append(call)
            return
        self._close(call, named=call.id == self._front)
        self._front = ""
        for other in self._done:
            self._close(other, named=False)
        self._done.clear()
        self._step_forward()

    def _close(self, call: Called, *, named: bool) -> None:
        heard = self._heard.pop(call.id, "")
        if not named:
            self._name(call.id, call.voice, call.model)
            self._say(heard)
        if heard:
            self.console.print()
        if call.failure:
            self.console.print(Text(f"   ✗ {told(call.failure)}", "red"))
        else:
            cached = "from the tape · " if call.cached else ""
            self.console.print(Text(f"   {cached}{spent(call.usage, call.latency_s, call.cost)}", "dim"))

    def _name(self, call_id: str, voice: str, model: str) -> None:
        style = f"bold {colour(voice, self._colours)}"
        words = Text.assemble((f"{call_id:>2} ", "dim"), (clean(voice), style), (f"  {clean(model)}", "dim"))
        self.console.print(words, end="\n" if self.console.is_terminal else "", soft_wrap=True)

    def _say(self, text: str) -> None:
        self.console.print(Text(clean(text)), end="", soft_wrap=True)

    def _tool(self, tool: ToolUsed) -> None:
        outcome = f"✗ {told(tool.failure)}" if tool.failure else clean(tool.result)[:200]
        words = Text(
            clean(f"   ⚙ {tool.name} {tool.arguments} → {outcome}"), "red" if tool.failure else "yellow"
        )
        self.console.print(words, soft_wrap=True)
