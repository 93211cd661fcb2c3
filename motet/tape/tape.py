"""The tape of one run: its events, the tree of messages they point into, and readings of both."""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import msgspec

from motet.tape.events import Called, Ended, Event, Node, NodeTokens, Scored, Started, Stepped, ToolUsed
from motet.types import Message, Usage


@dataclass(slots=True)
class Tape:
    """Everything that happened in one run."""

    run: str
    events: list[Event] = field(default_factory=list)
    nodes: dict[str, Node] = field(default_factory=dict)
    tokens: dict[tuple[str, str], NodeTokens] = field(default_factory=dict)

    @property
    def started(self) -> Started:
        """The first event."""
        first = self.events[0]
        assert isinstance(first, Started), f"a tape starts with Started, this one with {first!r}"
        return first

    @property
    def knobs(self) -> dict[str, Any]:
        """The knobs of the team, with those spelt out that `Started` only names since they are long."""
        found = {}
        for name, value in self.started.knobs.items():
            key = long_knob(value)
            found[name] = msgspec.json.decode(Message("system", self.nodes[key].parts).text) if key else value
        return found

    @property
    def ended(self) -> Ended | None:
        """The event that closed the run, or None while it runs or when it was killed."""
        return next((e for e in reversed(self.events) if isinstance(e, Ended)), None)

    @property
    def calls(self) -> list[Called]:
        """The calls, in order of asking."""
        return sorted((e for e in self.events if isinstance(e, Called)), key=lambda c: int(c.id))

    @property
    def tools(self) -> list[ToolUsed]:
        """The uses of tools, in order of completion."""
        return [e for e in self.events if isinstance(e, ToolUsed)]

    @property
    def steps(self) -> list[Stepped]:
        """The steps of an environment, oldest first."""
        return [e for e in self.events if isinstance(e, Stepped)]

    @property
    def scores(self) -> list[Scored]:
        """The judgements, oldest first."""
        return [e for e in self.events if isinstance(e, Scored)]

    @property
    def score(self) -> float | None:
        """The last mark of the run as a whole, or None."""
        return next((s.value for s in reversed(self.scores) if not s.call), None)

    def path(self, node: str) -> list[Message]:
        """Messages from the root to `node`."""
        messages: list[Message] = []
        while node:
            at = self.nodes[node]
            messages.append(Message(at.role, at.parts))
            node = at.parent
        return messages[::-1]

    def ids(self, node: str, tokenizer: str) -> tuple[int, ...]:
        """Token ids from the root to `node`; empty when the backend gave none."""
        pieces: list[tuple[int, ...]] = []
        while node and (tokens := self.tokens.get((node, tokenizer))):
            pieces.append(tokens.ids)
            node = tokens.base
        return tuple(i for piece in reversed(pieces) for i in piece)

    def usage(self) -> Usage:
        """Sum over all calls, reused ones included: what the run would cost from scratch."""
        return sum((c.usage for c in self.calls), Usage())

    def usage_by_voice(self) -> dict[str, Usage]:
        """Sum over the calls of each voice, in order of first appearance."""
        totals: dict[str, Usage] = defaultdict(Usage)
        for call in self.calls:
            totals[call.voice] += call.usage
        return dict(totals)

    def cost(self) -> float | None:
        """Money in US dollars, or None when the price of any call is unknown."""
        return total_cost(self.calls)


def long_knob(value: Any) -> str:
    """The node that holds a knob's value as JSON, where `Started` only names it; else empty."""
    return str(value["node"]) if isinstance(value, dict) and value.keys() == {"node", "characters"} else ""


def total_cost(calls: list[Called]) -> float | None:
    """Sum of costs; one unknown price makes the sum unknown. Failed calls without a price cost 0."""
    total = 0.0
    for call in calls:
        if call.cost is not None:
            total += call.cost
        elif call.failure is None:
            return None
    return total
