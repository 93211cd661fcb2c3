"""OpenRLHF's JSON Lines: `input` and `output` as messages, `label` the gold answer.

For SFT: `--input_key input --output_key output --apply_chat_template`; for RL prompts: `--input_key input
--label_key label --apply_chat_template`.
"""

from collections.abc import Sequence

from motet.tape.export.chat import answering, json_lines, marked
from motet.tape.export.trl import GOOD
from motet.tape.tape import Tape


def to_openrlhf(runs: Sequence[Tape]) -> str:
    """The calls that right answers came from."""
    rows = []
    for c in answering(marked(runs)):
        if c.mark > GOOD:
            facts = {"label": c.tape.started.task.target or "", "voice": c.call.voice, "source": c.source}
            rows.append({"input": c.prompt, "output": c.completion} | facts)
    return json_lines(rows)
