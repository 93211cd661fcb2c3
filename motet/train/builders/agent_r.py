"""Agent-R: bad trajectories cut at the first error that the actor itself sees, and mended by a good one.

Paper: Yuan et al. 2025, arXiv:2501.11425 (catalogue 352).
Idea: tree search with the actor gives good and bad trajectories that share a parent. The actor judges the
steps of the bad one in order; at the first that it finds bad the trajectory is cut, a revision thought is put
in, and the good one goes on from the parent. There is a loss on the revision and on the good steps.
Calls: one a step that the search adds, at most simulations * depth; and one for each step judged, at most the
steps of the bad trajectories that have a good partner.
Deviates: one new action a simulation, chosen by UCT with `width` actions a state; a return is clipped to
[0, 1]; each bad trajectory has one partner, that with the longest shared beginning (then the best). The
revision thought is a sentence of ours.
Failure: a call that fails ends the run; what is on its tape can be built from all the same.
"""

from collections.abc import Sequence
from math import inf

from motet.tape import Called, Tape
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, of_team, said_by
from motet.types import Message

SEARCH = "agent_r_search"
REVISE = "I see that my last step was wrong. I shall go back and do it another way."
ENDED = "The episode is over, and the task is not done."
Turns = list[tuple[Message, Called | None]]


def partners(tape: Tape, alpha: float = 0.5, beta: float = 0.2) -> list[tuple[Turns, Turns]]:
    """Bad and good trajectories: v_good > α, v_good − v_bad > β, with the longest shared beginning."""
    calls = {call.id: call for call in tape.calls}
    marks = [(said_by(tape, calls[s.call]), s.value) for s in tape.scores if s.scorer == "return"]
    found = []
    for bad, low in marks:
        good = [(turns, v) for turns, v in marks if v > alpha and v - low > beta]
        if good:
            best = max(good, key=lambda pair: (shared(bad, pair[0]), pair[1]))
            found.append((bad, best[0]))
    return found


def shared(bad: Turns, good: Turns) -> int:
    """How many messages two trajectories begin with in common, up to the last that a user said."""
    same = 0
    for (one, _), (other, _) in zip(bad, good, strict=False):
        if one != other:
            break
        same += 1
    while same and bad[same - 1][0].role != "assistant":
        same -= 1
    return same


def agent_r(tapes: Sequence[Tape], *, alpha: float = 0.5, beta: float = 0.2) -> Built:
    """Revision trajectories (stage `revision`), and the good ones (stage `good`).

    Args:
        tapes: runs of `agent_r_search`.
        alpha: a good trajectory's return is above this.
        beta: and above the bad one's by more than this.

    Raises:
        BadInput: a run is of another team.
    """
    made = Maker()
    for tape in of_team(tapes, SEARCH):
        calls = {call.id: call for call in tape.calls}
        best = max((s.value for s in tape.scores if s.scorer == "return" and s.value > alpha), default=-inf)
        for score in tape.scores:
            if score.scorer == "return" and score.value > alpha:
                turns = said_by(tape, calls[score.call])
                made.sft.append(_example(turns, [c is not None for _, c in turns], tape.run, "good"))
            elif score.scorer == "return" and score.value + beta >= best:
                made.reject("no trajectory is so much better", tape, calls[score.call])
        verdicts = {s.call: s.value for s in tape.scores if s.scorer == "actor"}
        for bad, good in partners(tape, alpha, beta):
            made.counts["pairs"] += 1
            start = shared(bad, good)
            cut = next((i for i in range(start, len(bad)) if _is_bad(bad[i][1], verdicts)), None)
            if cut is None:
                end = next(call for _, call in reversed(bad) if call)
                made.reject("the actor found no bad step in it", tape, end)
                continue
            after = bad[cut + 1][0] if cut + 1 < len(bad) else Message.say("user", ENDED)
            before = [(m, None) for m, _ in bad[: cut + 1]]
            revised: Turns = [*before, (after, None), (Message.say("assistant", REVISE), None), *good[start:]]
            trained = [False] * (cut + 2) + [True] + [call is not None for _, call in good[start:]]
            made.sft.append(_example(revised, trained, tape.run, "revision"))
    return made.built()


def _is_bad(call: Called | None, verdicts: dict[str, float]) -> bool:
    return call is not None and verdicts.get(call.id, 1.0) == 0


def _example(turns: Turns, trained: Sequence[bool], run: str, stage: str) -> Example:
    messages = tuple(message for message, _ in turns)
    return Example(messages, tuple(trained), voice="actor", runs=(run,), stage=stage)
