"""Voices that keep an organisation busy as long as its knobs allow."""

import json
import re
from typing import Any

NOT_YET = '{"notes": "More.", "done": false}'
STUCK = json.dumps(
    {"done": False, "looping": True, "progress": False, "next": "agents_1", "instruction": "Go on."}
)


def plan(prompt: str) -> str:
    """As many subtasks as are allowed, none waiting for another."""
    found = re.search(r"at most (\d+) subtasks", prompt)
    return json.dumps(
        {"subtasks": [{"do": f"part {i}", "after": []} for i in range(int(found[1]))]} if found else {}
    )


def first_part_only(prompt: str) -> str:
    """Succeeds with the first part, so that there is something to end with."""
    return "Answer: 42" if "Your part:\npart 0\n" in prompt else "FAILED: no tools for that."


def many_open_functions(prompt: str) -> str:
    """A part that fails, with as many functions left open as are allowed."""
    found = re.search(r"at most (\d+) helper", prompt)
    stubs = "".join(f"def f{i}():\n    pass\n" for i in range(int(found[1]) if found else 0))
    return f"```python\nassert 1 > 2\n{stubs}```"


def delegating(prompt: str) -> str:
    """Searches, takes the first who is found, and gives it one task after another."""
    name = re.search(r"^- (\w+):", prompt, re.MULTILINE)
    turn = {"state": "sync_task", "next": name and name[1], "say": "Do it."}
    return json.dumps({"queries": ["x"], "members": [name and name[1]]} | turn)


NEVER_DONE: dict[str, dict[str, Any]] = {
    "agent_verse": {"experts": lambda _: NOT_YET, "evaluator": lambda _: NOT_YET},
    "meta_gpt": {"engineer": lambda _: "```python\nassert 1 > 2\n```"},
    "magentic_one": {"orchestrator": lambda _: STUCK},
    "workforce": {"planner": plan, "workers": first_part_only},
    "self_organized": {"agents": many_open_functions},
    "internet_of_agents": {"client": delegating, "agents": [delegating, delegating, delegating]},
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "agent_verse": [
        {"n": n, "k": k, "T": t, "structure": s}
        for n, k, t, s in [
            (3, 2, 2, "vertical"),
            (2, 3, 1, "vertical"),
            (3, 2, 2, "horizontal"),
            (1, 1, 1, "horizontal"),
        ]
    ],
    "meta_gpt": [{"r": 0}, {"r": 2}],
    "magentic_one": [{"T": t, "S": s} for t, s in [(10, 3), (4, 1), (2, 5), (6, 3)]],
    "workforce": [{"m": m, "r": r} for m, r in [(4, 2), (2, 0), (3, 1)]],
    "self_organized": [{"D": d, "b": b, "r": r} for d, b, r in [(2, 4, 2), (1, 2, 0), (3, 2, 1)]],
    "internet_of_agents": [{"t": t, "D": d, "k": 1} for t, d in [(6, 1), (2, 2), (3, 2)]],
}
