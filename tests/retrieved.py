"""How the methods that retrieve and remember are run in the tests that hold for every method."""

from typing import Any

from motet.tape.keys import digest

NOTES = [f"Note {i} of {word}: 17 plus 25 is what it is." for i, word in enumerate("abcdefgh")]
NO_ANSWER = "NO ANSWER"
NEVER_DONE: dict[str, dict[str, Any]] = {
    "ragenta": {
        "checker": lambda _: '{"remove": [], "complete": false, "questions": ["One?", "Two?", "3?"]}'
    },
    "hm_rag": {voice: lambda said, i=i: f"Answer: {i}" for i, voice in enumerate(("vector", "graph", "web"))},
    "ext_agents": {
        "seekers": lambda said: f'{{"message": "{digest(said)}", "relevance": 0.5}}',
        "reasoner": lambda said: NO_ANSWER if NO_ANSWER in said else "Answer: 42",
    },
    "xolver": {"agents": "sim:skill=0,wrong=1000000,follow=0"},
    "generative_agents": {
        "rater": lambda _: '{"importance": 10}',
    },
}
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "main_rag": [{"k": 1}, {"k": 4, "n": 1}],
    "ragenta": [{"k": 2, "m": 2}, {"k": 3, "m": 1}, {"k": 2, "m": 0}],
    "hm_rag": [{}, {"k": 1, "hops": 3}],
    "chain_of_agents": [{"n": 3, "k": 10}, {"n": 1}, {"n": 5, "k": 20}],
    "ext_agents": [{"n": n, "T": t, "w": w} for n, t, w in [(8, 1, 20), (3, 2, 20), (1, 2, 500)]],
    "xolver": [{"m": m, "T": t} for m, t in [(3, 2), (2, 1), (4, 3)]],
    "generative_agents": [
        {"n": 8, "r": 2, "q": 2, "threshold": 40},
        {"n": 4, "r": 0},
        {"n": 2, "q": 1, "r": 1, "threshold": 20},
    ],
}
QUICK: dict[str, dict[str, Any]] = {
    "main_rag": {"documents": NOTES},
    "ragenta": {"documents": NOTES, "m": 0},  # a simulated voice cannot read its own answer in JSON
    "hm_rag": {"documents": NOTES},
    "chain_of_agents": {"documents": NOTES, "k": 20},
    "ext_agents": {"documents": NOTES, "w": 20},
    "generative_agents": {"observations": NOTES},
}
