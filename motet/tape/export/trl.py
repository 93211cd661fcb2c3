"""TRL's conversational data sets: prompt-completion (SFT), preference (DPO), unpaired preference (KTO).

Columns as in TRL's "Dataset formats and types"; `voice`, `source` and `mark` are extra and not read by TRL.
Tools that were offered are in `tools`, as JSON, which TRL puts before the prompt. A call is a row of its own,
so that with TRL's default for prompt-completion data the loss is on what the voice said and on nothing else.
"""

from collections.abc import Sequence
from itertools import product
from typing import Any

import msgspec

from motet.tape.export.chat import Marked, json_lines, marked
from motet.tape.tape import Tape

GOOD = 0.5
"""A mark above this is a good one."""


def to_trl_sft(runs: Sequence[Tape]) -> str:
    """What was said in good runs: `prompt`, `completion`."""
    return json_lines([_row(c) for c in marked(runs) if c.mark > GOOD])


def to_trl_kto(runs: Sequence[Tape]) -> str:
    """What was said in good and in bad runs: `prompt`, `completion`, `label`."""
    return json_lines([_row(c) | {"label": c.mark > GOOD} for c in marked(runs)])


def to_trl_dpo(runs: Sequence[Tape]) -> str:
    """`prompt`, `chosen`, `rejected`: two different replies of one voice to the very same messages, of which
    the first has the better mark. A reply that was given several times has the mean of its marks."""
    groups: dict[tuple[str, str], dict[str, list[Marked]]] = {}
    for c in marked(runs):
        groups.setdefault((c.call.voice, c.call.prompt), {}).setdefault(c.call.node, []).append(c)
    rows = []
    for (voice, _), replies in groups.items():
        means = [(sum(c.mark for c in same) / len(same), same[0]) for same in replies.values()]
        rows += [
            {
                "prompt": good.prompt,
                "chosen": good.completion,
                "rejected": bad.completion,
                "voice": voice,
                "source": f"{good.source} {bad.source}",
                **_tools(good),
            }
            for (better, good), (worse, bad) in product(means, means)
            if better > worse
        ]
    return json_lines(rows)


def _row(c: Marked) -> dict[str, Any]:
    facts = {"voice": c.call.voice, "source": c.source, "mark": c.mark}
    return {"prompt": c.prompt, "completion": c.completion} | facts | _tools(c)


def _tools(c: Marked) -> dict[str, str]:
    """The tools on offer; in words, since schemas of tables have one shape in all rows."""
    made = [{"type": "function", "function": msgspec.to_builtins(t)} for t in c.call.sampling.tools]
    return {"tools": msgspec.json.encode(made).decode()} if made else {}
