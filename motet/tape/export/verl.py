"""verl's rows for reinforcement learning with a rule as the reward.

Columns as in verl's "Prepare Data for Post-Training": `data_source`, `prompt`, `ability`, `reward_model`,
`extra_info`. verl reads Parquet: `datasets.Dataset.from_json("rows.jsonl").to_parquet("rows.parquet")`.
"""

from collections.abc import Sequence
from typing import Any

from motet.tape.export.chat import answering, json_lines, marked
from motet.tape.tape import Tape


def to_verl(runs: Sequence[Tape]) -> str:
    """One row for each different prompt that an answer came from, of tasks with a target."""
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for c in answering(marked(runs)):
        task = c.tape.started.task
        if task.target is None:
            continue
        extra = {"index": len(rows), "split": "train", "voice": c.call.voice, "source": c.source}
        row = {
            "data_source": f"motet/{c.tape.started.team}",
            "prompt": c.prompt,
            "ability": task.kind,
            "reward_model": {"style": "rule", "ground_truth": task.target},
            "extra_info": extra,
        }
        rows.setdefault((c.call.voice, c.call.prompt), row)
    return json_lines(list(rows.values()))
