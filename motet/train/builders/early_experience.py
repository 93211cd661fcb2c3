"""Early Experience: what the agent's own actions lead to, as supervision without rewards.

Paper: Zhang et al. 2025, arXiv:2510.08558 (catalogue 372).
Idea: at every state of an expert's trajectory the agent draws k actions of its own, and takes them. Implicit
world modelling: predict the state that an action leads to (stage `world_model`), then imitate (`imitation`).
Self-reflection: from what was seen, say why the expert's action is better than the agent's own, and train on
that thought followed by the expert's action (stage `reflection`).
Calls: t * (1 + k) + d, over t steps of the expert, with d different own actions that are not the expert's.
Deviates: the prediction is asked for in words. Own actions that equal the expert's, or each other, are taken
and reflected on once.
Failure: a call that fails ends the run.
"""

from collections.abc import Sequence
from typing import Any

from motet.agent import Voice
from motet.envs.registry import make
from motet.errors import BadInput
from motet.tape import RECORDER, Called, Tape, ToolUsed
from motet.teams import team
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, agent_of, of_team, of_voice, replies
from motet.train.builders.walk import Walk
from motet.types import Linked, Message, Reply, Task, fill

WORLD = "world"
PREDICT = "What will you see after this?"
WHY = """{seen}

You could do this:
{own}
It leads to:
{own_next}

An expert does this:
{expert}
It leads to:
{expert_next}

Think aloud, as if you were about to act: why is the expert's action the better one?"""


@team
async def early_experience_rollout(
    task: Task,
    expert: Voice,
    agent: Voice,
    *,
    env: str = "guess_number",
    seed: int = 0,
    options: dict[str, Any] | None = None,
    k: int = 2,
) -> Linked:
    """Walk with the expert; at each state try `k` actions of the agent, and let it reflect."""
    if k < 1:
        raise BadInput(f"k is {k!r}; expected 1 or more")
    walk, learner = Walk(make(env, seed, **(options or {})), agent_of(expert).chat()), agent_of(agent)
    last: Reply | None = None
    while not walk.over:
        (last,) = await walk.draw(1, by=None)
        own = await walk.draw(k, by=learner)
        after, _ = walk.take(last)
        _saw(last, after)
        known = {walk.env.read_action(walk.seat, last.text)}
        for reply in own:
            action = walk.env.read_action(walk.seat, reply.text)
            if action in known:
                continue
            known.add(action)
            there, _ = walk.take(reply, record=False)
            _saw(reply, there)
            shown = {"own_next": there.shown(), "expert_next": after.shown()}
            await agent.ask(fill(WHY, seen=walk.seen(), own=reply, expert=last, **shown))
        walk = after
    return Linked(str(sum(walk.env.returns().values())), (last,) if last else ())


def _saw(reply: Reply, after: Walk) -> None:
    """What an action led to goes on the tape as what a tool answered."""
    recorder = RECORDER.get()
    if recorder:
        used = ToolUsed(reply.call, reply.voice, WORLD, reply.text, after.shown(), recorder.clock())
        recorder.record(used)


def early_experience(tapes: Sequence[Tape]) -> Built:
    """Examples for both ways: `world_model` then `imitation`, or `reflection` with `imitation`.

    Args:
        tapes: runs of `early_experience_rollout`.

    Raises:
        BadInput: a run is of another team.
    """
    made = Maker()
    for tape in of_team(tapes, early_experience_rollout.name):
        saw = {tool.call: tool.result for tool in tape.tools if tool.name == WORLD}
        experts = {call.id: call for call in of_voice(tape, "expert")}
        for call in experts.values():
            made.imitate(tape, call, voice="agent", stage="imitation")
        for call in of_voice(tape, "agent"):
            if call.id in saw:
                made.sft.append(_prediction(tape, call, saw[call.id]))
            elif (pair := [p for p in call.parents if p in experts]) and call.node and _compares(call):
                made.sft.append(_reflection(tape, call, experts[pair[-1]]))
            else:
                made.reject("the action equals one that was taken", tape, call)
    made.counts.update(example.stage for example in made.sft)
    return made.built()


def _compares(call: Called) -> bool:
    """Whether a call looked at two replies: a reflection; an action looks back at the last step at most."""
    return len(call.parents) > 1


def _prediction(tape: Tape, call: Called, seen: str) -> Example:
    prompt = (*tape.path(call.node), Message.say("user", PREDICT))
    trained = (*[False] * len(prompt), True)
    answer = Message.say("assistant", seen)
    return Example((*prompt, answer), trained, voice="agent", runs=(tape.run,), stage="world_model")


def _reflection(tape: Tape, call: Called, expert: Called) -> Example:
    prompt = tuple(tape.path(expert.prompt))
    said = f"{replies(tape, call)[0].text}\n\n{replies(tape, expert)[0].text}"
    messages = (*prompt, Message.say("assistant", said))
    trained = (*[False] * len(prompt), True)
    return Example(messages, trained, voice="agent", runs=(tape.run,), stage="reflection")
