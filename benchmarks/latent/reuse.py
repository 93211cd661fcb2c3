"""Texts under many prefixes: what is computed, and how far that takes the model from the whole computed."""

import time
from collections.abc import Iterator
from random import Random
from statistics import mean
from typing import Any

import torch
from torch import Tensor

import motet
from motet import Agent, Sampling, Store, Task
from motet.models.trainable.cache import new_cache
from motet.models.trainable.kv import Kv, extend
from motet.models.trainable.model import Torch
from motet.models.trainable.reuse import Composed, KvPool, spans
from motet.models.trainable.weights import Policy
from motet.types import Reply

BEGINNINGS = [
    "You are a planner. Read the report of a colleague and plan what to do about it.\n\n",
    "You are a strict critic who finds every mistake. Here is what was said:\n\n",
    "Sum up the following for a child of seven years, in two short sentences.\n\nThe report:\n\n",
    "What would you ask the one who wrote this?\n\n",
]
FORM = (
    "On {day} our team of {n} visited the {place} in {town}. We found {k} cracked pipes and a broken pump, "
    "which {name} repaired before noon. The rest of the plant was clean and ran without any trouble. We "
    "measured a pressure of {p} bar at the inlet and wrote it down in the book. The next visit is planned "
    "for the spring; until then {name} will look at the pump once a week and call us when it leaks again."
)
TASKS = 8
WORDS = 20
TITLE = f"8 reports behind {len(BEGINNINGS)} beginnings; KL and |logit| where reused"
COLUMNS = ("keys and values", "prompt tokens", "computed", "saved", "KL", "max |logit|", "same word", "CPU s")
TEAM_TITLE = f"five voices, three rounds, {TASKS} reports; greedy, {WORDS} tokens a reply"
TEAM_COLUMNS = ("keys and values", "prompt tokens", "computed", "saved", "as computed", "CPU s")
WHAT_NEXT = "\n\nNow write your answer, and be brief."


class Naive(KvPool):
    """A pool that uses keys and values again as they are: turned to their place, and no offset."""

    def near(self, *_: Any) -> Kv:
        return Kv(torch.zeros(1), torch.zeros(1))


def reports(n: int) -> list[str]:
    """Reports of one form, about different things."""
    rng = Random(0)
    words = {
        "day": ["Monday", "Tuesday", "Friday"],
        "place": ["brewery", "dairy", "laundry"],
        "town": ["Leeds", "Bath", "York", "Derby"],
        "name": ["Anna", "Paul", "Mary", "John"],
    }
    numbers = {"n": 9, "k": 9, "p": 9}
    return [
        FORM.format(
            **{w: rng.choice(v) for w, v in words.items()},
            **{k: rng.randint(2, m) for k, m in numbers.items()},
        )
        for _ in range(n)
    ]


def expected(
    policy: Policy, prompt: tuple[int, ...], pool: KvPool | None, text: tuple[int, ...]
) -> tuple[Tensor, int]:
    """Logits of what comes after the prompt, and how many tokens were computed for them."""
    module = policy.module
    with torch.inference_mode():
        if pool is None:
            return module.lm_head(extend(module, new_cache(module.config), ids=prompt)), len(prompt)
        start = Composed(pool, policy, prompt, spans(prompt, [text]))
        cache, rest = start.begin(module)
        return module.lm_head(extend(module, cache, ids=rest)), start.computed


def divergence(whole: Tensor, found: Tensor) -> float:
    """Kullback-Leibler divergence from what the whole prompt makes the model expect, in nats."""
    p, q = whole.double().log_softmax(-1), found.double().log_softmax(-1)
    return float((p.exp() * (p - q)).sum())


def prompts(policy: Policy) -> list[tuple[str, ...]]:
    """A row for each way to use keys and values again."""
    words, texts = policy.base.vocabulary, reports(8)
    asked = [
        (words.prompt([("user", b + t + WHAT_NEXT)]), words.encode(t)) for t in texts for b in BEGINNINGS
    ]
    ways: dict[str, KvPool | None] = {
        "computed": None,
        "as they are": Naive(),
        "corrected, gamma=0.3": KvPool(),
        "with any two anchors, gamma=1": KvPool(gamma=1.0),
        "after itself alone, gamma=-1": KvPool(gamma=-1.0),
    }
    found: dict[str, list[Tensor]] = {}
    rows: list[tuple[str, ...]] = []
    for name, pool in ways.items():
        begun = time.process_time()
        results = [expected(policy, prompt, pool, text) for prompt, text in asked]
        seconds = time.process_time() - begun
        found[name] = [logits for logits, _ in results]
        pairs = list(zip(found["computed"], found[name], strict=True))
        read, computed = sum(len(p) for p, _ in asked), sum(c for _, c in results)
        reused = [i for i, (_, c) in enumerate(results) if c < len(asked[i][0]) / 2]
        far = mean(divergence(*pairs[i]) for i in reused) if reused else 0.0
        worst = max((float((pairs[i][0] - pairs[i][1]).abs().max()) for i in reused), default=0.0)
        agreed = mean(float(a.argmax() == b.argmax()) for a, b in pairs)
        columns = (
            f"{read}",
            f"{computed}",
            f"{1 - computed / read:.0%}",
            f"{far:.4f}",
            f"{worst:.2f}",
            f"{agreed:.0%}",
        )
        rows.append((name, *columns, f"{seconds:.1f}"))
    return rows


@motet.team
async def everybody(task: Task, voices: motet.Voices, *, rounds: int = 2) -> Reply:
    """Five fully connected voices: each reads the report and what all said in the round before."""
    seats = list(enumerate(voices.take(5), 1))
    said = [await voice.ask(f"You are voice {i} of five. Read this.", task, WHAT_NEXT) for i, voice in seats]
    for _ in range(rounds):
        said = [
            await voice.ask(f"You are voice {i} of five. Read this.", task, "All said:", *said, WHAT_NEXT)
            for i, voice in seats
        ]
    return said[0]


def team(policy: Policy) -> list[tuple[str, ...]]:
    """A row for each way: what five voices spend on reports, and how often their words are the whole's."""
    tasks, knobs = [Task(text) for text in reports(TASKS)], Sampling(temperature=0, max_tokens=WORDS)
    rows = []
    ways = {
        "computed": None,
        "corrected, gamma=0.3": KvPool(),
        "after itself alone, gamma=-1": KvPool(gamma=-1),
    }
    for name, pool in ways.items():
        cast = everybody.cast(voices=Agent(Torch(policy, reuse=pool, keep_empty=True), sampling=knobs))
        begun = time.process_time()
        runs = [cast.run(task, store=Store.memory()) for task in tasks]
        seconds = time.process_time() - begun
        read = sum(run.usage.input_tokens for run in runs)
        kept = sum(run.usage.cached_tokens for run in runs)
        pairs = [pair for run in runs for pair in sampled(policy, run)]
        same = mean(float(whole.argmax() == word) for whole, word in pairs)
        rows.append(
            (name, f"{read}", f"{read - kept}", f"{kept / read:.0%}", f"{same:.1%}", f"{seconds:.1f}")
        )
    return rows


def sampled(policy: Policy, run: motet.Run) -> Iterator[tuple[Tensor, int]]:
    """Each token that was sampled, with the logits that the whole prompt and what was said give for it."""
    module = policy.module
    for call in run.calls:
        said = next(tokens.ids for (node, _), tokens in run.tape.tokens.items() if node == call.node)
        messages = [(message.role, message.text) for message in run.tape.path(call.prompt)]
        prompt = policy.base.vocabulary.prompt(messages)
        with torch.inference_mode():
            hidden = module.model(torch.tensor([[*prompt, *said]])).last_hidden_state[0]
            logits = module.lm_head(hidden[len(prompt) - 1 : -1])
        yield from zip(logits, said, strict=True)
