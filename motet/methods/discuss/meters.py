"""What goes wrong in long discussions, measured on a tape: answers drift, and long speakers take over.

Paper: Becker 2024, arXiv:2410.22932 (catalogue 244): problem drift and monopolisation.

The speakers are the members of groups (`panel_1`, `debaters_2`), or every voice where there is no group. The
k-th message of each makes up turn k, so the meters read the tape of any method in which a group talks. Of a
team in such a seat the message is what it handed on, not what was said within.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from motet.answers import extract
from motet.tape import Called, Tape


class Drift(Struct, frozen=True):
    """How far one turn has come from the first.

    Args:
        moved: share of the speakers whose answer is no longer their first one.
        strayed: share of the turn's different words that are neither in the task nor in anyone's first
        message."""

    moved: float
    strayed: float


def drift(tape: Tape) -> list[Drift]:
    """How far the talk departs from the task and the first drafts, turn by turn; the first turn is 0."""
    task, talk = tape.started.task, _talk(tape)
    first = {voice: extract(task, said[0]) for voice, said in talk.items()}
    known = words_of(task.prompt).union(*(words_of(said[0]) for said in talk.values()))
    turns: list[Drift] = []
    for k in range(max(map(len, talk.values()), default=0)):
        here = {voice: said[k] for voice, said in talk.items() if k < len(said)}
        words = set[str]().union(*map(words_of, here.values()))
        moved = sum(extract(task, text) != first[voice] for voice, text in here.items()) / len(here)
        turns.append(Drift(moved, len(words - known) / len(words) if words else 0.0))
    return turns


def message_shares(tape: Tape) -> dict[str, float]:
    """The part of all words that each speaker says, in order of first appearance."""
    words = {voice: sum(len(text.split()) for text in said) for voice, said in _talk(tape).items()}
    total = sum(words.values())
    return {voice: count / total if total else 1 / len(words) for voice, count in words.items()}


def monopoly(tape: Tape) -> float:
    """How far the longest speaker has the talk to itself: 0 when all say as much, 1 when one says everything.

    The share s of the longest of n speakers, as (s - 1/n) / (1 - 1/n); 1 for a single speaker.
    """
    shares = message_shares(tape)
    if len(shares) < 2:
        return float(len(shares))
    fair = 1 / len(shares)
    return (max(shares.values()) - fair) / (1 - fair)


def _talk(tape: Tape) -> dict[str, list[str]]:
    """What each speaker said, in order of asking; calls that failed are left out."""
    calls = [call for call in tape.calls if call.node]
    speaker = {call.id: call.voice.partition("/")[0] for call in tape.calls}
    used = {i for call in calls for i in call.parents if speaker[i] != speaker[call.id]}
    used.update(tape.ended.parents if tape.ended else ())
    talk: dict[str, list[str]] = defaultdict(list)
    for turn in _turns(calls, speaker):
        said = next((call for call in turn if call.id in used), turn[-1])
        talk[speaker[said.id]].append(tape.path(said.node)[-1].text)
    members = {voice: said for voice, said in talk.items() if re.search(r"_\d+$", voice)}
    return members or dict(talk)


def _turns(calls: Sequence[Called], speaker: Mapping[str, str]) -> list[list[Called]]:
    """The calls by turn: one each, but of a team all that go back to the same messages of others."""
    heard: dict[str, frozenset[str]] = {}
    turns: dict[tuple[str, Collection[str]], list[Called]] = defaultdict(list)
    for call in calls:
        who = speaker[call.id]
        sources = [heard[i] if speaker[i] == who else {i} for i in call.parents]
        heard[call.id] = frozenset().union(*sources)
        turns[who, heard[call.id] if "/" in call.voice else call.id].append(call)
    return list(turns.values())


def words_of(text: str) -> set[str]:
    """The different words of a text, in small letters."""
    return set(re.findall(r"\w+", text.lower()))
