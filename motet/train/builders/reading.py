"""The readings of a tape that builders share, and the hand that gathers what they make."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar, cast

from motet.agent import Agent, Voice
from motet.answers import canonical, extract
from motet.errors import BadInput, ModelError, SchemaMismatch
from motet.structured import parse
from motet.tape import Called, Tape
from motet.train.builders.data import Built, Example, Label, Pair, Rejected
from motet.types import Message, Reply, Task

T = TypeVar("T")


@dataclass
class Maker:
    """Gathers what a builder makes."""

    sft: list[Example] = field(default_factory=list)
    dpo: list[Pair] = field(default_factory=list)
    kto: list[Label] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def reject(self, reason: str, tape: Tape, call: Called | None = None) -> None:
        """Leave a call, or a whole run, out."""
        said = (*tape.path(call.prompt), *replies(tape, call)) if call else ()
        self.rejected.append(Rejected(reason, said, call.voice if call else "", (tape.run,)))

    def imitate(
        self, tape: Tape, call: Called, *, weight: float = 1.0, voice: str = "", stage: str = ""
    ) -> None:
        """Train on what a call said, given its prompt; `voice` is whom it is for, if not who said it."""
        prompt = tape.path(call.prompt)
        trained = (*[False] * len(prompt), True)
        messages = (*prompt, *replies(tape, call))
        self.sft.append(Example(messages, trained, weight, voice or call.voice, (tape.run,), stage=stage))

    def prefer(self, tape: Tape, good: Called, bad: Called, gap: float, other: Tape | None = None) -> None:
        """Pair two replies to the same prompt, unless they are the same words; `bad` is of run `other`."""
        other = other or tape
        (chosen,), (rejected,) = replies(tape, good), replies(other, bad)
        prompt, runs = tuple(tape.path(good.prompt)), tuple(dict.fromkeys((tape.run, other.run)))
        if chosen == rejected:
            same = Rejected("both replies of a pair are the same", (*prompt, chosen), good.voice, runs)
            self.rejected.append(same)
        else:
            self.dpo.append(Pair(prompt, chosen, rejected, good.voice, runs, gap))

    def built(self) -> Built:
        """All of it."""
        sizes = {"sft": len(self.sft), "dpo": len(self.dpo), "kto": len(self.kto)}
        counts = {**self.counts, **sizes, "rejected": len(self.rejected)}
        return Built(tuple(self.sft), tuple(self.dpo), tuple(self.kto), tuple(self.rejected), counts)


Mark = Callable[[Tape, Called], float | None]
"""How good a call was, in [0, 1]; None when nobody knows."""


def outcome(tape: Tape, call: Called) -> float | None:
    """The call's own mark on the tape; else whether its words hold the target of the run's task.

    None for a call that failed, and for a task without a target. Code is known to be right only by running
    its tests: append `Scored` events for the calls.
    """
    if not call.node:
        return None
    own = [score.value for score in tape.scores if score.call == call.id]
    if own:
        return own[-1]
    task = tape.started.task
    return None if task.kind == "code" else right(task, replies(tape, call)[0].text)


def right(task: Task, text: str) -> float | None:
    """1 when the answer that can be read in `text` is the target, 0 when not.

    None without a target, and for a query, which is known to be right only by running it.
    """
    if task.target is None or task.kind == "sql":
        return None
    return float(extract(task, text) == canonical(task, task.target))


def mark_of(tape: Tape) -> float | None:
    """The mark of the run as a whole; else whether its answer is the target; 0 when it has no answer."""
    if tape.score is not None:
        return tape.score
    answer = tape.ended.answer if tape.ended else None
    return 0.0 if answer is None else right(tape.started.task, answer)


def replies(tape: Tape, call: Called) -> tuple[Message, ...]:
    """What a call said: one message, or none when it failed."""
    node = tape.nodes.get(call.node)
    return (Message(node.role, node.parts),) if node else ()


def of_voice(tape: Tape, voice: str) -> list[Called]:
    """The calls of a voice, failed ones included, in order. `voice` also names the members `voice_1`, …"""
    return [c for c in tape.calls if c.voice == voice or c.voice.rpartition("_")[0] == voice]


def children(tape: Tape, call: Called, voice: str) -> list[Called]:
    """The calls of a voice into whose prompts this call's words went."""
    return [c for c in of_voice(tape, voice) if call.id in c.parents]


def mean(values: Iterable[float]) -> float | None:
    """Their mean; None when there are none."""
    known = list(values)
    return sum(known) / len(known) if known else None


def agent_of(voice: Voice) -> Agent:
    """The agent that sings a voice.

    Raises:
        BadInput: the voice is a team, which has no conversation to branch.
    """
    if not isinstance(voice, Agent):
        raise BadInput(f"the voice {voice.name!r} is no agent; this method branches a conversation: cast one")
    return voice


async def or_none(asked: Awaitable[T]) -> T | None:
    """What was asked for, or None when the voice failed; the failure is on the tape."""
    try:
        return await asked
    except ModelError:
        return None


def of_team(tapes: Sequence[Tape], team: str) -> Sequence[Tape]:
    """The tapes, if all are of this team.

    Raises:
        BadInput: one is of another.
    """
    for tape in tapes:
        if tape.started.team != team:
            raise BadInput(f"run {tape.run} is of the team {tape.started.team!r}; expected one of {team!r}")
    return tapes


def conversations(tape: Tape, voice: str = "") -> list[Called]:
    """The last calls of all conversations (of one voice): those that no later call goes on from."""
    inner: set[str] = set()
    for call in tape.calls:
        node = call.prompt
        while node and node not in inner:
            inner.add(node)
            node = tape.nodes[node].parent
    ends = tape.calls if not voice else of_voice(tape, voice)
    return [call for call in ends if call.node and call.node not in inner]


def said_by(tape: Tape, end: Called) -> list[tuple[Message, Called | None]]:
    """The messages of a conversation, each with the call that said it."""
    calls = {call.node: call for call in reversed(tape.calls) if call.node}
    found: list[tuple[Message, Called | None]] = []
    key = end.node
    while key:
        node = tape.nodes[key]
        found.append((Message(node.role, node.parts), calls.get(key)))
        key = node.parent
    return found[::-1]


def recorded(tape: Tape, call: Called) -> Reply:
    """A call's reply, to be passed on to a voice of another run."""
    (message,) = replies(tape, call)
    return Reply(message=message, call=call.id, run=tape.run, node=call.node, voice=call.voice)


def data_of(tape: Tape, call: Called, shape: type[T]) -> T | None:
    """A call's words as data; None when they do not fit."""
    try:
        return cast("T", parse(replies(tape, call)[0].text, shape)) if call.node else None
    except SchemaMismatch:
        return None
