"""Multi-agent distillation: a whole team's run as one transcript of one model.

Paper: Li et al. 2025, *Chain-of-Agents*, arXiv:2508.13167 (catalogue 64); its distillation step.
Idea: the run of a team becomes one trajectory in which a single model speaks for every agent in turn, in
tagged segments, with what tools answered in between; runs that failed are filtered out, and there is no loss
on what tools said.
Calls: none.
Deviates: one tag for all agents with the voice and the links as attributes (the paper has a tag for each kind
of agent); what was said at once comes in the order of asking; prompts of single voices are left out.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from motet.tape import Tape
from motet.train.builders.data import Built, Example
from motet.train.builders.reading import Maker, mark_of, replies
from motet.types import Message

SYSTEM = "You are a whole team. Speak for its members one after the other, and end with the answer."
SEGMENT = '<agent name="{name}" id="{id}" from="{sources}">\n{text}\n</agent>'
TOOL = '<tool name="{name}">{arguments}</tool>'
ANSWER = "<answer>\n{text}\n</answer>"
TAGS = ("<agent ", "</agent>", "<tool ", "</tool>", "<answer>", "</answer>")
_SEGMENT = re.compile(r'<agent name="([^"]*)" id="(\d+)" from="([^"]*)">\n(.*?)\n</agent>', re.S)


class Segment(Struct, frozen=True):
    """What one member said: `sources` are the numbers of the segments it was shown."""

    name: str
    id: int
    sources: tuple[int, ...]
    text: str


def distill(tapes: Sequence[Tape], *, least: float = 0.5, most_calls: int = 32) -> Built:
    """One conversation a run, trained on every segment and on the answer.

    Args:
        tapes: runs of any team; those with a mark below `least`, or of more calls, are rejected.
    """
    made = Maker()
    for tape in tapes:
        mark = mark_of(tape)
        answered = [call for call in tape.calls if call.node]
        said = [replies(tape, call)[0].text for call in answered]
        if mark is None or mark < least or not tape.ended or tape.ended.answer is None:
            made.reject("the run has no mark" if mark is None else f"mark {mark:.3g} is too low", tape)
        elif len(answered) > most_calls:
            made.reject(f"{len(answered)} calls are more than {most_calls}", tape)
        elif any(tag in text for text in said for tag in TAGS):
            made.reject("a reply holds a tag of the transcript", tape)
        else:
            messages = transcript(tape)
            trained = tuple(message.role == "assistant" for message in messages)
            made.sft.append(Example(messages, trained, voice="team", runs=(tape.run,)))
            made.counts["segments"] += len(answered)
    return made.built()


def transcript(tape: Tape) -> tuple[Message, ...]:
    """The run as one conversation: the task, what all agents said, and what tools answered."""
    number: dict[str, int] = {}
    messages = [Message.say("system", SYSTEM), Message.say("user", tape.started.task.prompt)]
    said: list[str] = []
    for call in tape.calls:
        if not call.node:
            continue
        number[call.id] = len(number) + 1
        sources = ",".join(str(number[p]) for p in call.parents if p in number)
        (message,) = replies(tape, call)
        wanted = [TOOL.format(name=t.name, arguments=t.arguments) for t in message.tool_calls]
        text = "\n".join([*([message.text] if message.text else []), *wanted])
        said.append(SEGMENT.format(name=call.voice, id=number[call.id], sources=sources, text=text))
        if used := [tool for tool in tape.tools if tool.call == call.id]:
            messages.append(Message.say("assistant", "\n".join(said)))
            messages.append(Message.say("tool", "\n".join(tool.result for tool in used)))
            said = []
    answer = tape.ended.answer if tape.ended else None
    said.append(ANSWER.format(text=answer or ""))
    return (*messages, Message.say("assistant", "\n".join(said)))


def parse_transcript(messages: Sequence[Message]) -> list[Segment]:
    """The segments of a transcript, in order: whom the model spoke for, and on what ground."""
    text = "\n".join(message.text for message in messages if message.role == "assistant")
    return [
        Segment(name, int(i), tuple(int(s) for s in sources.split(",") if s), body)
        for name, i, sources, body in _SEGMENT.findall(text)
    ]
