"""Rows of verifiers (Prime Intellect): a data set to train on and scored rollouts in one.

`prompt`, `answer`, `info` and `task` are what its environments read, `example_id` groups the rollouts of one
prompt, `completion` and `reward` are what its evaluations save. `info` is a JSON string, as it advises where
rows differ.
"""

from collections.abc import Sequence

import msgspec

from motet.tape.export.chat import answering, json_lines, marked
from motet.tape.tape import Tape


def to_verifiers(runs: Sequence[Tape]) -> str:
    """One row for each call that an answer came from."""
    rows, known = [], dict[tuple[str, str], int]()
    for c in answering(marked(runs)):
        task = c.tape.started.task
        info = {"task": task.id, "kind": task.kind, "voice": c.call.voice, "source": c.source}
        rows.append(
            {
                "example_id": known.setdefault((c.call.voice, c.call.prompt), len(known)),
                "prompt": c.prompt,
                "completion": c.completion,
                "answer": task.target or "",
                "task": c.tape.started.team,
                "info": msgspec.json.encode(info).decode(),
                "reward": c.mark,
            }
        )
    return json_lines(rows)
