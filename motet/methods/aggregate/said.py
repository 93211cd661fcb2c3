"""What each seat of a method said, read off a tape: also where a whole team sits there."""

from motet.run import Run


def last_said(run: Run, seat: str) -> str | None:
    """What was said at a seat in the end: the text of its last call; None when it made none, or that failed.

    The calls of a team that is cast there are named `SEAT/VOICE`, and what it makes of their replies is no
    call of its own: the last reply of a nested team stands for its answer. That is the answer where a team
    ends with it (a gate and its expert), and one of the votes where it votes.

    >>> from motet.methods import chain_of_thought, self_consistency
    >>> run = self_consistency(n=1).cast(chain_of_thought.cast(lambda _: "Answer: 4")).run("2 + 2?")
    >>> last_said(run, "solver"), last_said(run, "judge")
    ('Answer: 4', None)
    """
    calls = [call for call in run.calls if call.voice == seat or call.voice.startswith(f"{seat}/")]
    return run.tape.path(calls[-1].node)[-1].text if calls and calls[-1].node else None
