"""How the methods that debate and discuss are run in the tests that hold for every method."""

from typing import Any

DISAGREE = "sim:skill=0,wrong=1000000,follow=0"
DOCUMENTS = [("Sums", "Addition joins two numbers."), ("Answers", "An answer is what was asked for.")]
NEVER_DONE: dict[str, dict[str, Any]] = {
    "discussion": {"panel": DISAGREE},
    "agent4debate": {"reviewers": lambda _: '{"feedback": "More.", "finished": false}'},
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "judged_debate": [{"n": 1, "r": 1}, {"n": 3, "r": 0}, {"n": 2, "r": 2, "personas": ["A.", "B."]}],
    "discussion": [
        {"n": n, "T": t, "paradigm": p, "D": d}
        for n, t, p, d in [
            (3, 2, "memory", 1),
            (4, 1, "relay", 1),
            (3, 3, "report", 1),
            (3, 2, "debate", 3),
            (2, 1, "debate", 2),
        ]
    ],
    "agent4debate": [{"R": r, "documents": DOCUMENTS} for r in (0, 2)],
    "jail_judge": [{"k": 1, "v": 1}, {"k": 4, "v": 2}],
}
