"""Structured agent distillation: a weight for reasoning, another for acting.

Paper: Liu et al. 2025, arXiv:2505.13820 (catalogue 214).
Idea: a teacher's ReAct trajectory is parsed into spans of reasoning and of action, which are a partition of
what it said; the student imitates each with a weight of its own, simple trajectories first.
Calls: none.
Deviates: the loss is cross-entropy (teacher distributions are not on a tape); complexity is the number of
turns, then of characters. Spans are of text: native tool calls in a trained message count 1.
"""

import re
from collections.abc import Sequence

from motet.tape import Tape
from motet.train.builders.data import Built, Example, Span
from motet.train.builders.reading import Maker, conversations, mark_of, said_by

LABEL = re.compile(
    r"^[ \t]*(?:\[(reason|act)\]|(thought|reason|think|action|act|action input)\s*:)", re.I | re.M
)
ACTS = ("act", "action", "action input")


def structured(
    tapes: Sequence[Tape], *, reason: float = 1.0, act: float = 1.0, voice: str = "", least: float = 0.5
) -> Built:
    """Conversations as examples with spans, in the order of the curriculum.

    Args:
        tapes: runs of a teacher; those whose mark is below `least` are rejected.
        reason, act: weights of the two kinds of spans.
        voice: whose conversations; all voices' when left out.
    """
    made = Maker()
    for tape in tapes:
        mark = mark_of(tape)
        if mark is None or mark < least:
            made.reject("the run has no mark" if mark is None else f"mark {mark:.3g} is too low", tape)
            continue
        for end in conversations(tape, voice):
            turns = said_by(tape, end)
            messages = tuple(message for message, _ in turns)
            trained = tuple(call is not None for _, call in turns)
            spans = tuple(
                Span(i, start, stop, act if kind == "act" else reason, kind)
                for i, message in enumerate(messages)
                if trained[i]
                for kind, start, stop in parse_spans(message.text)
            )
            made.sft.append(Example(messages, trained, 1.0, end.voice, (tape.run,), spans))
            made.counts["turns"] += sum(trained)
    made.sft.sort(key=_complexity)
    return made.built()


def parse_spans(text: str) -> list[tuple[str, int, int]]:
    """`reason` and `act` spans that together are all of the text. What stands before any label is reasoning.

    >>> parse_spans("Thought: it is dark.\\nAction: light")
    [('reason', 0, 21), ('act', 21, 34)]
    """
    cuts = [(0, "reason")]
    for found in LABEL.finditer(text):
        kind = "act" if (found[1] or found[2]).lower() in ACTS else "reason"
        if kind == cuts[-1][1]:
            continue
        if found.start() == cuts[-1][0]:
            cuts[-1] = (found.start(), kind)
        else:
            cuts.append((found.start(), kind))
    ends = [start for start, _ in cuts[1:]] + [len(text)]
    return [(kind, start, stop) for (start, kind), stop in zip(cuts, ends, strict=True) if stop > start]


def _complexity(example: Example) -> tuple[int, int]:
    said = [m.text for m, on in zip(example.messages, example.trained, strict=True) if on]
    return len(said), sum(map(len, said))
