"""The recorder of a running team: appends to the tape and hands every event to the store."""

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import msgspec

from motet.tape.events import Called, Event, Live, Node, NodeTokens
from motet.tape.keys import node_key, sample_key, without_bytes
from motet.tape.tape import Tape
from motet.types import Media, Message, Reply, Task, Tokens, Usage

Listener = Callable[[Live], None]
LONG_KNOB = 1_000
"""Characters of JSON from which on a knob's value is stored once, not in every run."""


class Meter(Protocol):
    """What keeps a budget: asked before each call, told after it."""

    def reserve(self, calls: int) -> None: ...

    def spend(self, usage: Usage, cost: float | None, failed: bool) -> None: ...


class Sink(Protocol):
    """Where events go as they happen: the store."""

    def put_event(self, run: str, seq: int, event: Event) -> None: ...

    def put_node(self, node: Node) -> None: ...

    def put_tokens(self, tokens: NodeTokens) -> None: ...

    def put_blob(self, media: Media) -> None: ...

    def recall(self, key: str) -> Reply | None: ...


@dataclass(slots=True)
class Recorder:
    """Appends what happens in one run to its tape.

    Args:
        tape: where to append.
        task: the task of the run.
        seed: goes into every key and into every seeded backend.
        sink: the store, or None to keep the tape in memory only.
        meter: the run's budget.
        reuse: whether replies that the store already holds are taken instead of asked again.
        listener: called with each event, and with deltas of text as they arrive.
        clock: seconds since the epoch.
        timer: monotonic seconds.
    """

    tape: Tape
    task: Task
    seed: int = 0
    sink: Sink | None = None
    meter: Meter | None = None
    reuse: bool = False
    listener: Listener | None = None
    clock: Callable[[], float] = time.time
    timer: Callable[[], float] = time.perf_counter
    _asked: int = 0
    _drawn: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def next_id(self) -> str:
        """Number of the next call."""
        self._asked += 1
        return str(self._asked)

    def draw(self, request: str, n: int) -> range:
        """Sample indices for `n` more replies to one request."""
        first = self._drawn[request]
        self._drawn[request] = first + n
        return range(first, first + n)

    def recall(self, request: str, index: int) -> Reply | None:
        """The reply that the store holds for this sample, if reuse is on."""
        return self.sink.recall(sample_key(request, index)) if self.reuse and self.sink else None

    def add(self, parent: str, message: Message, ids: Sequence[int] = ()) -> str:
        """Put a message into the tree (once) and return its key."""
        key = node_key(parent, message, ids)
        if key not in self.tape.nodes:
            node = Node(key, parent, message.role, without_bytes(message.parts))
            self.tape.nodes[key] = node
            if self.sink:
                self.sink.put_node(node)
                for part in message.parts:
                    if isinstance(part, Media) and part.data is not None:
                        self.sink.put_blob(part)
        return key

    def shortened(self, knobs: dict[str, Any]) -> dict[str, Any]:
        """Knobs for `Started`: a long one is put into the tree and named."""
        short = dict(knobs)
        for name, value in knobs.items():
            if isinstance(value, list | dict | str) and value:
                text = msgspec.json.encode(value).decode()
                if len(text) > LONG_KNOB:
                    short[name] = {"node": self.add("", Message.say("system", text)), "characters": len(text)}
        return short

    def add_tokens(self, prompt: str, node: str, tokens: Tokens) -> None:
        """Keep the sampler's ids: the prompt's as a delta to its longest known ancestor, and the reply's."""
        name = tokens.tokenizer
        if tokens.prompt_ids and (prompt, name) not in self.tape.tokens:
            base, known = self._longest_prefix(prompt, name, tokens.prompt_ids)
            self._put_tokens(NodeTokens(prompt, name, tokens.prompt_ids[known:], base))
        if tokens.prompt_ids and tokens.prompt_ids == self.tape.ids(prompt, name):
            self._put_tokens(NodeTokens(node, name, tokens.ids, prompt, tokens.logprobs))
        else:
            self._put_tokens(NodeTokens(node, name, tokens.prompt_ids + tokens.ids, "", tokens.logprobs))

    def _longest_prefix(self, node: str, tokenizer: str, ids: tuple[int, ...]) -> tuple[str, int]:
        while node := self.tape.nodes[node].parent:
            known = self.tape.ids(node, tokenizer)
            if known and ids[: len(known)] == known:
                return node, len(known)
        return "", 0

    def _put_tokens(self, tokens: NodeTokens) -> None:
        self.tape.tokens[tokens.node, tokens.tokenizer] = tokens
        if self.sink:
            self.sink.put_tokens(tokens)

    def record(self, event: Event) -> None:
        """Append an event to the tape, the store and the listener."""
        tape = self.tape
        tape.events.append(event)
        if self.sink:
            self.sink.put_event(tape.run, len(tape.events) - 1, event)
        if self.listener:
            self.listener(event)
        if self.meter and isinstance(event, Called):
            self.meter.spend(event.usage, event.cost, event.failure is not None)

    def tell(self, live: Live) -> None:
        """Show listeners something that is not kept."""
        if self.listener:
            self.listener(live)
