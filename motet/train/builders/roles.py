"""Planner, caller, summariser: one tool user's trajectories, split for three models.

Paper: Shen et al. 2024, *Small LLMs Are Weak Tool Learners* (α-UMi), arXiv:2401.07324 (catalogue 400).
Idea: the planner says why and who is next, the caller writes the call, the summariser the final answer.
First one backbone is tuned on whole trajectories (stage `global`), then a copy for each role on that role's
segments alone (stage `local`), under a prompt of its own.
Calls: none.
Deviates: a native tool call is written as text for the caller; before the final answer the planner says a
sentence of ours; "give up" is not taught, as only runs that succeeded are kept.
"""

from collections.abc import Iterator, Sequence

from motet.tape import Called, Tape
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, conversations, mark_of, said_by
from motet.types import Message

PROMPTS = {
    "planner": "You plan. Say what is to be done and why, and end with who is next: caller or summarizer.",
    "caller": "You call tools. Write the call that the plan asks for, as Action and Action Input.",
    "summarizer": "You summarise. Write the final answer from what the tools have shown.",
}
ENOUGH = "What is known is enough to answer."
GLOBAL = "backbone"


def roles(tapes: Sequence[Tape], *, voice: str = "", least: float = 0.5) -> Built:
    """Stage `global` for the voice `backbone`; stage `local` for planner, caller and summarizer.

    Args:
        tapes: runs in which a voice used tools; those with a mark below `least` are rejected.
        voice: whose conversations; all voices' when left out. Those without a tool call are rejected.
    """
    made = Maker()
    for tape in tapes:
        mark = mark_of(tape)
        if mark is None or mark < least:
            made.reject("the run has no mark" if mark is None else f"mark {mark:.3g} is too low", tape)
            continue
        for end in conversations(tape, voice):
            turns = said_by(tape, end)
            if not any(message.tool_calls for message, _ in turns):
                made.reject("no tool was called", tape, end)
                continue
            segments = list(_segments(turns))
            said = [message for _, message in segments]
            for role, prompt in {GLOBAL: "", **PROMPTS}.items():
                trained = [kind == role or (kind != "" and role == GLOBAL) for kind, _ in segments]
                made.counts[f"{role} segments"] += sum(trained)
                made.sft.append(_example(prompt, said, trained, role, tape.run))
    return made.built()


def _segments(turns: Sequence[tuple[Message, Called | None]]) -> Iterator[tuple[str, Message]]:
    """Every message with the role that says it; no role for what is context."""
    for message, call in turns:
        if call is None:
            yield "", message
        elif message.tool_calls:
            yield "planner", Message.say("assistant", f"{message.text}\nNext: caller".lstrip())
            for wanted in message.tool_calls:
                words = f"Action: {wanted.name}\nAction Input: {wanted.arguments}"
                yield "caller", Message.say("assistant", words)
        else:
            yield "planner", Message.say("assistant", f"{ENOUGH}\nNext: summarizer")
            yield "summarizer", message


def _example(prompt: str, said: Sequence[Message], trained: Sequence[bool], role: str, run: str) -> Example:
    """The trajectory under a role's own system prompt."""
    stage = "global" if role == GLOBAL else "local"
    if not prompt:
        return Example(tuple(said), tuple(trained), voice=role, runs=(run,), stage=stage)
    kept = [(m, on) for m, on in zip(said, trained, strict=True) if m.role != "system"]
    messages = (Message.say("system", prompt), *(m for m, _ in kept))
    return Example(messages, (False, *(on for _, on in kept)), voice=role, runs=(run,), stage=stage)
