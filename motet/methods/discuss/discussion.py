"""Discussion under four paradigms that differ in one thing alone: who hears whom.

Paper: Becker 2024, arXiv:2410.22932 (catalogue 244), the MALLM framework.
Idea: a recruiter describes n experts for the task. They speak in turns, T at most, each with an answer, and
are shown what they have heard in this turn and the `visible` turns before it:
`memory` all hear all; `relay` one hears the one before; `report` the first is heard by all, the others only
by the first; `debate` the first is heard by all, then the others relay among themselves for D rounds, of
which the first hears the last. Everyone hears itself. The talk ends when they agree: all of them while
there are three at most and the turn is no later than the fourth, else more than half. What the paper
measures on such talks is in `meters`.
Calls: at most 1 + T * (1 + (n - 1) * D), with D = 1 in all paradigms but `debate`.
The answer is the last message that holds what most agree on; when no two agree in the end it is the last
message of the talk.
Deviates: who agrees is read off the answers, where the paper's agents declare it. Those of `report` who hear
the first alone speak at once. After the last turn the answers are counted, where the paper takes the last
draft whatever it says.
Failure: without a recruiter the experts have no roles. An expert that fails is silent in that turn and its
last answer stands. When no answer can be read in the end, the run fails.
"""

from collections.abc import Callable, Sequence

from motet.agent import Voice
from motet.answers import extract, instruction
from motet.combine import answered, ask_each, majority, tally
from motet.errors import UnknownName
from motet.methods.common import at_least, recruit, seats
from motet.teams import Voices, team
from motet.types import Failure, Linked, Reply, Task, fill

RECRUIT = """\
Question:
{task}

Which {n} experts should discuss it? Give them as `roles`: one sentence each, that tells the expert who it is
and what it looks after."""
SPEAK = "{role}\n\nQuestion:\n{task}\n\nGive your answer, with reasons in brief. {form}"
REPLY = """\
{role}

Question:
{task}

What was said, oldest first:

{heard}

Improve on it: say in brief what you agree with, what is wrong, and give the answer. {form}"""
FEW, EARLY = 3, 5  # so few must all agree in the turns before this one; a majority will do otherwise

Stage = dict[int, set[int]]
"""Who speaks at once, and who hears each of them."""


def memory(n: int, D: int) -> list[Stage]:
    """All hear all, in turn."""
    return [{i: set(range(n))} for i in range(n)]


def relay(n: int, D: int) -> list[Stage]:
    """Each hears the one before."""
    return [{i: {i, (i + 1) % n}} for i in range(n)]


def report(n: int, D: int) -> list[Stage]:
    """The first is heard by all, the others by the first."""
    return [{0: set(range(n))}, {i: {0, i} for i in range(1, n)}]


def ring(n: int, D: int) -> list[Stage]:
    """The first is heard by all; the others relay for `D` rounds, and the first hears the last of these."""
    following = {i: i + 1 if i + 1 < n else 1 for i in range(1, n)}
    talk: list[Stage] = [{i: {i, after}} for _ in range(D - 1) for i, after in following.items()]
    return [{0: set(range(n))}, *talk, *({i: {0, i, after}} for i, after in following.items())]


PARADIGMS: dict[str, Callable[[int, int], list[Stage]]] = {
    "memory": memory,
    "relay": relay,
    "report": report,
    "debate": ring,
}


@team
async def discussion(  # noqa: PLR0913 (the shape of a talk has four measures)
    task: Task,
    recruiter: Voice,
    panel: Voices,
    *,
    n: int = 3,
    T: int = 3,
    paradigm: str = "memory",
    D: int = 1,
    visible: int = 2,
) -> Linked:
    """Let `n` recruited experts talk until they agree, `T` turns at most.

    `paradigm` says who hears whom: `memory`, `relay`, `report` or `debate`.
    """
    at_least(1, T=T, D=D, visible=visible)
    if paradigm not in PARADIGMS:
        raise UnknownName("paradigm", paradigm, PARADIGMS)
    group, form = seats(panel, n), instruction(task)
    roles = await recruit(recruiter, fill(RECRUIT, task=task, n=n), n)
    heard: list[list[tuple[int, Reply]]] = [[] for _ in group]
    last: dict[int, Reply | Failure] = {}
    for turn in range(1, T + 1):
        for stage in PARADIGMS[paradigm](n, D):
            recent = {i: [m for at, m in heard[i] if at >= turn - visible] for i in stage}
            prompts = [
                fill(REPLY if recent[i] else SPEAK, role=roles[i], task=task, heard=recent[i], form=form)
                for i in stage
            ]
            said = await ask_each([group[i] for i in stage], prompts)
            for i, message in zip(stage, said, strict=True):
                if isinstance(message, Failure):
                    last.setdefault(i, message)
                    continue
                last.pop(i, None)  # the last to speak comes last
                last[i] = message
                for j in stage[i]:
                    heard[j].append((turn, message))
            agreed = tally(task, [m for m in last.values() if isinstance(m, Reply)], of=n).share()
            if agreed == 1 or (agreed > 1 / 2 and (n > FEW or turn >= EARLY)):
                return _outcome(task, answered([*last.values()]))
    return _outcome(task, answered([*last.values()]))


def _outcome(task: Task, standing: Sequence[Reply]) -> Linked:
    """The last message of those that hold the answer of most, or of all when no two agree.

    Raises:
        NoAnswer: no answer could be read in any of them.
    """
    votes = majority(task, standing).links
    if len(votes) == 1:
        votes = ([m for m in standing if extract(task, m.text) is not None][-1],)
    return Linked(votes[-1].text, votes)
