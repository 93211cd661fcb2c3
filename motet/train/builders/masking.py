"""STeP: wrong steps stay in sight and out of the loss (partial masking).

Paper: Chen et al. 2025, *Training LLM-Based Agents with Synthetic Self-Reflected Trajectories and Partial
Masking*, arXiv:2505.20023 (catalogue 341).
Idea: a trajectory holds a wrong step, then a reflection on it and the corrected step. All of it is context;
there is a loss on reflections, corrections and right steps, none on wrong steps.
Calls: 2 * s + w, for s steps of the student of which the teacher finds w wrong (and reflects on each).
Deviates: the wrong step is taken, and the teacher, who sees what came of it, speaks the student's next turn.
Expert trajectories are mixed in by whoever tunes.
Failure: a call that fails ends the run; a trajectory that did not succeed is rejected.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from motet.agent import Voice
from motet.envs.registry import make
from motet.tape import RECORDER, Called, Scored, Tape
from motet.teams import team
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, agent_of, conversations, said_by
from motet.train.builders.walk import Walk
from motet.types import Linked, Message, Reply, Task, fill

REVIEW = """{brief}

What the player saw:
{before}

What it did:
{move}

What came of it:
{after}

Was this step wrong or wasteful?"""
REFLECT = "{seen}\n\n(First say in a sentence what was wrong with your last step, then take a better one.)"


class Review(Struct):
    """What the teacher says of a step."""

    wrong: bool


@team
async def reflected_play(
    task: Task,
    student: Voice,
    teacher: Voice,
    *,
    env: str = "guess_number",
    seed: int = 0,
    options: dict[str, Any] | None = None,
) -> Linked:
    """Play an episode; where the teacher finds a step wrong, it reflects and corrects in the student's place.

    Marks of the steps (`teacher`) and of the run (`return`, 1 for a return above 0) go on the tape.
    """
    walk = Walk(make(env, seed, **(options or {})), agent_of(student).chat())
    corrector, reply, wrong = agent_of(teacher), None, False
    while not walk.over:
        (reply,) = await walk.draw(1, by=corrector if wrong else None)
        before, brief = walk.seen(), walk.env.brief(walk.seat)
        walk, step = walk.take(reply)
        if wrong:
            wrong = False
            continue
        asked = fill(REVIEW, brief=brief, before=before, move=reply, after=walk.shown())
        review = await teacher.ask(asked, schema=Review)
        wrong = bool(review.data.wrong) or bool(step.invalid)
        _mark("teacher", float(not wrong), reply)
    total = sum(walk.env.returns().values())
    _mark("return", float(total > 0), None)
    return Linked(str(total), (reply,) if reply else ())


def _mark(scorer: str, value: float, reply: Reply | None) -> None:
    recorder = RECORDER.get()
    if recorder:
        recorder.record(Scored(scorer, value, recorder.clock(), call=reply.call if reply else ""))


def partial_masking(tapes: Sequence[Tape], *, least: float = 0.5, voice: str = "") -> Built:
    """Conversations with a loss on every step but the wrong ones.

    A step is wrong when its call has a mark below `least`, or the environment refused its action.

    Args:
        tapes: runs of `reflected_play`, or of any team whose steps have marks. A run whose own mark is below
            `least` is rejected, one without a mark is kept.
        voice: whose conversations; all voices' when left out.
    """
    made = Maker()
    for tape in tapes:
        if tape.score is not None and tape.score < least:
            made.reject(f"mark {tape.score:.3g} is too low", tape)
            continue
        bad = wrong_calls(tape, least)
        for end in conversations(tape, voice):
            if end.sampling.schema is not None:
                continue  # a verdict, not a step
            made.sft.append(masked(tape, said_by(tape, end), bad, end.voice))
            made.counts["wrong steps"] += sum(
                call is not None and call.id in bad for _, call in said_by(tape, end)
            )
    return made.built()


def wrong_calls(tape: Tape, least: float) -> set[str]:
    """The calls with a mark below `least`, and those whose actions an environment refused."""
    refused = {step.calls[seat] for step in tape.steps for seat in step.invalid if seat in step.calls}
    return refused | {score.call for score in tape.scores if score.call and score.value < least}


def masked(tape: Tape, turns: Sequence[tuple[Message, Called | None]], bad: set[str], voice: str) -> Example:
    """A conversation as an example in which the bad calls are context."""
    trained = tuple(call is not None and call.id not in bad for _, call in turns)
    return Example(tuple(message for message, _ in turns), trained, voice=voice, runs=(tape.run,))
