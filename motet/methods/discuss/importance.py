"""Who contributed how much to an answer: the Agent Importance Scores of DyLAN.

Paper: Liu et al. 2023, arXiv:2310.02170 (catalogue 310).
"""

import re
from collections.abc import Iterable, Sequence

from motet.run import Run
from motet.tape import Called, Tape

MOST = 5  # the scale of the ratings, as the agents are told it
_RATINGS = re.compile(r"(?im)^\W*ratings\W*?:(.*)$")


def importance_scores(tape: Tape) -> list[dict[str, float]]:
    """How much each agent contributed to the answer of a DyLAN run, round by round.

    In the last round those who gave the answer share 1 equally. Each passes its share on to the answers it
    read, in proportion to how it rated them. All calls of an agent in a round, with tools or as a team of its
    own, are one contribution; a team that was alone in a round counts there with the round after it.

    Returns:
        For each round, first to last, the share of each agent that has one; each round sums to 1. Nothing
        for a run without an answer.
    """
    talk = _Talk(tape)
    last = talk.by_agent(tape.ended.parents if tape.ended else ())
    shares = {agent: (1 / len(last), calls) for agent, calls in last.items()}
    rounds: list[dict[str, float]] = []
    while shares:
        rounds.append({agent: share for agent, (share, _) in shares.items()})
        before: dict[str, tuple[float, list[str]]] = {}
        for share, calls in shares.values():
            read = talk.by_agent(talk.read(calls))
            ratings = _ratings(talk.words(calls[-1]), len(read))
            for (agent, theirs), rating in zip(read.items(), ratings, strict=True):
                sofar, known = before.get(agent, (0.0, []))
                before[agent] = sofar + share * rating / sum(ratings), list(dict.fromkeys([*known, *theirs]))
        shares = before
    return rounds[::-1]


def best_agents(runs: Iterable[Run], k: int) -> list[str]:
    """The names of the `k` agents of highest Agent Importance Score over all rounds and runs, best first.

    Those who contributed nothing come last, in order of speaking; there are fewer when fewer were asked.
    """
    total: dict[str, float] = {}
    for run in runs:
        spoke = {_agent(call): 0.0 for call in run.calls if call.voice.startswith("agents_")}
        for shares in [spoke, *importance_scores(run.tape)]:
            for agent, share in shares.items():
                total[agent] = total.get(agent, 0.0) + share
    return sorted(total, key=lambda agent: -total[agent])[:k]


class _Talk:
    """The calls of a run, and to which round each belongs."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape
        self.calls = {call.id: call for call in tape.calls}
        self.rounds: dict[str, int] = {}
        for call in tape.calls:
            after = (self.rounds[parent] + self._later(call, parent) for parent in call.parents)
            self.rounds[call.id] = max(after, default=0)

    def _later(self, call: Called, parent: str) -> bool:
        """Whether a call belongs to a later round than one it read."""
        before = self.calls[parent]
        if _agent(before) != _agent(call) or "/" in call.voice:
            return _agent(before) != _agent(call)
        node = (
            call.prompt
        )  # one who goes on after a tool or a repair has the reply before in its conversation
        while node and node != before.node:
            node = self.tape.nodes[node].parent
        return not node

    def read(self, calls: Sequence[str]) -> list[str]:
        """The calls of the round before that were read in these, or in those of this round behind them."""
        found: dict[str, None] = {}
        todo = list(calls)
        for call in todo:
            for parent in self.calls[call].parents:
                if self.rounds[parent] < self.rounds[call]:
                    found[parent] = None
                elif parent not in todo:
                    todo.append(parent)
        return list(found)

    def by_agent(self, calls: Sequence[str]) -> dict[str, list[str]]:
        """Calls by who made them."""
        found: dict[str, list[str]] = {}
        for call in calls:
            found.setdefault(_agent(self.calls[call]), []).append(call)
        return found

    def words(self, call: str) -> str:
        """What was said in a call."""
        return self.tape.path(self.calls[call].node)[-1].text


def _agent(call: Called) -> str:
    """Whose call it is: that of a nested team is its team's."""
    return call.voice.partition("/")[0]


def _ratings(text: str, n: int) -> list[int]:
    """The ratings in a reply, or equal ones when it does not hold one for each of the `n` it read."""
    lines = _RATINGS.findall(text)
    said = re.findall(r"\d+", lines[-1]) if lines else []
    ratings = [min(MOST, int(number[:9])) for number in said]
    return ratings if len(ratings) == n and any(ratings) else [1] * n
