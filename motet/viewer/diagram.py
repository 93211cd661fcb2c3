"""Who spoke to whom in a run: read off its calls and edges, equal steps drawn once."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec import Struct

from motet.tape import Called, Tape

PERIOD = 6
"""Steps of the longest round that is recognised as being played again."""


class Reading(Struct, frozen=True):
    """Replies that one step was shown.

    Args:
        voice: whose; empty when they are the reader's own, `others` of its own group when `peers`.
        peers: whether they are those of other members of the reader's group.
        low, high: how many a call was shown, over the calls of the step.
    """

    voice: str
    peers: bool
    low: int
    high: int


class Row(Struct, frozen=True):
    """Calls that one voice, or the members of one group, made at the same time.

    Args:
        steps: when, from 1; several for a step that was played again.
        calls: how many at a time.
        form: whether the reply had to fit a schema.
        tools: the tools that were used.
        reads: what was read.
        sources: positions of the rows that were read.
    """

    steps: tuple[int, ...]
    voice: str
    calls: int
    form: bool
    tools: tuple[str, ...]
    reads: tuple[Reading, ...]
    sources: tuple[int, ...]


class Diagram(Struct, frozen=True):
    """A run as rows, in order of time; `answer` holds the rows it came from and how many replies of each."""

    team: str
    rows: tuple[Row, ...]
    answer: tuple[tuple[int, int], ...]
    calls: int
    steps: int
    edges: tuple[dict[str, Any], ...]

    @property
    def voices(self) -> tuple[str, ...]:
        """Who speaks, in order of first speaking."""
        return tuple(dict.fromkeys(row.voice for row in self.rows))


def diagram(tape: Tape) -> Diagram:
    """Read a run: calls that were under way together are one step; a round played again is told once."""
    calls, name = tape.calls, _namer(tape)
    step = _steps(calls)
    groups: dict[tuple[int, str], list[Called]] = {}
    for call in sorted(calls, key=lambda c: (step[c.id], int(c.id))):
        groups.setdefault((step[call.id], name(call.voice)), []).append(call)
    by_id = {call.id: call for call in calls}
    tools = {tool.call: tool.name for tool in tape.tools}
    told = {key: _row(key, group, by_id, name, tools) for key, group in groups.items()}
    place: dict[tuple[int, str], int] = {}
    rows: list[Row] = []
    for again in _rounds(told):
        for key in again[0]:
            row, copies = told[key], [told[other[again[0].index(key)]] for other in again]
            for copy in copies:
                place[copy.steps[0], copy.voice] = len(rows)
            rows.append(_merged(row, copies))
    where = {call.id: place[step[call.id], name(call.voice)] for call in calls}
    placed = tuple(_placed(row, i, calls, where) for i, row in enumerate(rows))
    ended = tape.ended.parents if tape.ended else ()
    last = [where[parent] for parent in ended if parent in where]
    answer = tuple((row, last.count(row)) for row in dict.fromkeys(last))
    edges = tuple(_edges(groups, by_id, name, [by_id[p] for p in ended if p in by_id]))
    return Diagram(tape.started.team, placed, answer, len(calls), max(step.values(), default=0), edges)


def _namer(tape: Tape) -> Callable[[str], str]:
    """The voice or group that a name on the tape belongs to: `debaters` for `debaters_2`."""
    cast = set(tape.started.voices)

    def name(voice: str) -> str:
        group = re.sub(r"_\d+$", "", voice)
        return group if voice not in cast and (group in cast or "/" in group) else voice

    return name


def _steps(calls: Sequence[Called]) -> dict[str, int]:
    """The step of each call: one after the last step that was over when it was asked."""
    step: dict[str, int] = {}
    over: list[tuple[float, int]] = []
    for call in sorted(calls, key=lambda c: (c.at, int(c.id))):
        step[call.id] = 1 + max((number for end, number in over if end <= call.at), default=0)
        over.append((call.at + call.latency_s, step[call.id]))
    return step


def _row(
    key: tuple[int, str],
    group: Sequence[Called],
    by_id: dict[str, Called],
    name: Callable[[str], str],
    tools: dict[str, str],
) -> Row:
    seen: list[dict[tuple[str, bool], int]] = []
    for call in group:
        counts: dict[tuple[str, bool], int] = {}
        for parent in (by_id[p] for p in call.parents if p in by_id):
            own, peers = parent.voice == call.voice, name(parent.voice) == name(call.voice)
            kind = ("", False) if own else (name(parent.voice), peers)
            counts[kind] = counts.get(kind, 0) + 1
        seen.append(counts)
    kinds = dict.fromkeys(kind for counts in seen for kind in counts)
    reads = tuple(
        Reading(*kind, min(c.get(kind, 0) for c in seen), max(c.get(kind, 0) for c in seen)) for kind in kinds
    )
    used = dict.fromkeys(tools[call.id] for call in group if call.id in tools)
    form = any(call.sampling.schema for call in group)
    return Row((key[0],), key[1], len(group), form, tuple(used), reads, ())


def _rounds(told: dict[tuple[int, str], Row]) -> Iterator[list[list[tuple[int, str]]]]:
    """The keys of the rows in stretches; those of a round that is played again stand beside each other."""
    steps: dict[int, list[tuple[int, str]]] = {}
    for key in told:
        steps.setdefault(key[0], []).append(key)
    waves = list(steps.values())
    looks = [[_look(told[key]) for key in wave] for wave in waves]
    at = 0
    while at < len(waves):
        period, times = max(
            ((p, _repeats(looks, at, p)) for p in range(1, PERIOD + 1)),
            key=lambda found: (found[0] * found[1] if found[1] > 1 else 1, -found[0]),
        )
        if times < 2:
            period, times = 1, 1
        starts = [at + i * period for i in range(times)]
        yield [[key for wave in waves[start : start + period] for key in wave] for start in starts]
        at += period * times


def _look(row: Row) -> tuple[Any, ...]:
    """What two steps have in common that are drawn as one."""
    return row.voice, row.calls, row.form, frozenset((r.voice, r.peers) for r in row.reads)


def _repeats(looks: Sequence[Any], at: int, period: int) -> int:
    times = 1
    while looks[at : at + period] == looks[at + times * period : at + (times + 1) * period]:
        times += 1
    return times


def _merged(row: Row, copies: Sequence[Row]) -> Row:
    """A row and its repetitions as one."""
    reads = []
    for reading in row.reads:
        same = [
            r for copy in copies for r in copy.reads if (r.voice, r.peers) == (reading.voice, reading.peers)
        ]
        low, high = min(r.low for r in same), max(r.high for r in same)
        reads.append(Reading(reading.voice, reading.peers, low, high))
    steps = tuple(copy.steps[0] for copy in copies)
    tools = tuple(dict.fromkeys(tool for copy in copies for tool in copy.tools))
    return Row(steps, row.voice, row.calls, row.form, tools, tuple(reads), ())


def _placed(row: Row, position: int, calls: Sequence[Called], where: dict[str, int]) -> Row:
    read = (where[p] for call in calls if where[call.id] == position for p in call.parents if p in where)
    return Row(
        row.steps, row.voice, row.calls, row.form, row.tools, row.reads, tuple(sorted(dict.fromkeys(read)))
    )


def _edges(
    groups: dict[tuple[int, str], list[Called]],
    by_id: dict[str, Called],
    name: Callable[[str], str],
    answered: Sequence[Called],
) -> Iterator[dict[str, Any]]:
    """The edges by step: from whom to whom, and how many replies went that way; `task` where none did."""
    for (step, voice), group in groups.items():
        parents = [by_id[p] for call in group for p in call.parents if p in by_id]
        sources = [name(p.voice) for p in parents]
        if any(not call.parents for call in group):
            alone = sum(not call.parents for call in group)
            yield {"from": "task", "to": voice, "step": step, "replies": 0, "calls": alone}
        for source in dict.fromkeys(sources):
            readers = sum(any(name(by_id[p].voice) == source for p in c.parents if p in by_id) for c in group)
            yield {
                "from": source,
                "to": voice,
                "step": step,
                "replies": sources.count(source),
                "calls": readers,
            }
    last = 1 + max((step for step, _ in groups), default=0)
    names = [name(call.voice) for call in answered]
    for source in dict.fromkeys(names):
        yield {"from": source, "to": "answer", "step": last, "replies": names.count(source), "calls": 0}
