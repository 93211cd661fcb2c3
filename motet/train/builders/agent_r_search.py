"""The search of Agent-R (see `agent_r`): Monte Carlo tree search, and the actor's verdicts."""

from dataclasses import dataclass, field
from math import log, sqrt
from typing import Any, Literal

from msgspec import Struct

from motet.agent import Voice
from motet.envs.registry import make
from motet.errors import BadInput
from motet.tape import RECORDER, Recorder, Scored
from motet.teams import team
from motet.train.builders.agent_r import Turns, partners, shared
from motet.train.builders.reading import agent_of, recorded
from motet.train.builders.walk import Walk
from motet.types import Linked, Reply, Task, fill

JUDGE = """What you saw:
{seen}

What you did:
{move}

The episode did not end well. Was this step good, bad, or uncertain?"""
VERDICTS = {"good": 1.0, "uncertain": 0.5, "bad": 0.0}


class Verdict(Struct):
    """What the actor says of a step of its own."""

    step: Literal["good", "bad", "uncertain"]


@dataclass
class _Node:
    """A state of the search, and the reply that led to it."""

    walk: Walk
    reply: Reply | None = None
    children: list["_Node"] = field(default_factory=list)
    visits: int = 0
    value: float = 0.0

    def best(self) -> "_Node":
        """The child to go on from, by UCT."""
        return max(self.children, key=lambda c: c.value / c.visits + sqrt(2 * log(self.visits) / c.visits))


@team
async def agent_r_search(
    task: Task,
    actor: Voice,
    *,
    env: str = "guess_number",
    seed: int = 0,
    options: dict[str, Any] | None = None,
    simulations: int = 8,
    width: int = 3,
) -> Linked:
    """Search, then let the actor judge its bad trajectories; the answer is the best return.

    Marks go on the tape: `return` on the last call of each trajectory, `actor` on each step that was judged.
    """
    if simulations < 1 or width < 1:
        raise BadInput(f"simulations is {simulations!r} and width is {width!r}; expected 1 or more of each")
    recorder = RECORDER.get()
    assert recorder is not None, "a team runs with a recorder"
    root = _Node(Walk(make(env, seed, **(options or {})), agent_of(actor).chat()))
    ends: dict[str, float] = {}
    for _ in range(simulations):
        end, value = await _simulate(root, width)
        if end.reply and end.reply.call not in ends:
            ends[end.reply.call] = value
            recorder.record(Scored("return", value, recorder.clock(), call=end.reply.call))
    for bad, good in partners(recorder.tape):
        await _judge(actor, recorder, bad[shared(bad, good) :])
    return Linked(str(max(ends.values(), default=0.0)))


async def _simulate(root: _Node, width: int) -> tuple[_Node, float]:
    """Down the tree to a state with room, on to the end of the episode, and the return back up."""
    path = [root]
    while not path[-1].walk.over and len(path[-1].children) >= width:
        path.append(path[-1].best())
    while not path[-1].walk.over:
        (reply,) = await path[-1].walk.draw(1)
        path[-1].children.append(_Node(path[-1].walk.take(reply, record=False)[0], reply))
        path.append(path[-1].children[-1])
    value = min(1.0, max(0.0, sum(path[-1].walk.env.returns().values())))
    for node in path:
        node.visits += 1
        node.value += value
    return path[-1], value


async def _judge(actor: Voice, recorder: Recorder, steps: Turns) -> None:
    """Ask for a verdict on each step until one is bad. A step is judged once."""
    seen = ""
    judged = {score.call: score.value for score in recorder.tape.scores if score.scorer == "actor"}
    for message, call in steps:
        if call is None:
            seen = message.text
            continue
        if call.id not in judged:
            move = recorded(recorder.tape, call)
            verdict = await actor.ask(fill(JUDGE, seen=seen, move=move), schema=Verdict)
            judged[call.id] = VERDICTS[verdict.data.step]
            recorder.record(Scored("actor", judged[call.id], recorder.clock(), call=call.id))
        if judged[call.id] == 0:
            return
