"""How the methods that refine, plan and repair are run in the tests that hold for every method."""

from typing import Any

from motet.methods.code import EditTree

DISAGREE = "sim:skill=0,wrong=1000000,follow=0"
NEVER_DONE: dict[str, dict[str, Any]] = {
    "adaptive_consistency": {"solver": DISAGREE},
    "talkhier": {
        "lead": lambda _: (
            '{"message": "m", "background": "b", "intermediate_output": "i", "feedback": "f", "score": 0.1}'
        )
    },
    "codecor": {
        "tester": lambda said: '{"drop": []}' if "`drop`" in said else "```python\nassert 1 > 2\n```",
        **{voice: lambda _: '{"drop": []}' for voice in ("prompter", "repairer")},
        "programmer": lambda _: "```python\nassert 1 > 2\n```",
    },
    "swe_search": {"programmer": lambda said: f"Answer: {len(said)}"},
    "master": {
        "assessor": lambda _: (
            '{"validation": "v", "score": 0.1, "confidence": 0.9, "why": "w", "correct": false}'
        )
    },
    "plangen": {
        "solver": lambda _: "One step.\nTo be continued.",
        "verifier": lambda _: '{"feedback": "Poor.", "reward": -50}',
        "selector": lambda _: '{"best_of_n": 0, "tree_of_thoughts": 1, "rebase": 0}',
    },
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "adaptive_consistency": [{"n": 1}, {"n": 6}],
    "e2g": [{}, {"both": True}],
    "talkhier": [{"n": n, "T": t} for n, t in [(3, 0), (2, 1), (3, 2)]],
    "codecor": [{"n": n, "r": r} for n, r in [(1, 0), (2, 1), (3, 2)]],
    "swe_search": [{"iterations": 3}, {"iterations": 2, "tree": EditTree(w=2), "n": 1, "R": 2}],
    "master": [{"b": b, "E": e} for b, e in [(2, 3), (1, 1), (3, 0)]],
    "plangen": [{"n": n, "D": d, "r": r} for n, d, r in [(3, 2, 0), (2, 1, 2), (3, 2, 1)]],
}
QUICK: dict[str, dict[str, Any]] = {"codecor": {"sandbox": "monty"}}
