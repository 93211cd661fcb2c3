"""What voices with the same weights save by sharing keys and values: `python -m benchmarks.latent`.

First a team of four answers sums: it hands over words, words whose keys and values are used again (KVCOMM),
or thoughts (LatentMAS). Then reports of one form are put behind four beginnings, and what is expected next is
compared with that after the whole prompt computed: for keys and values that are only turned to their place,
and for those with the offset of anchors. On the embedded model, in 32 bits; it takes one to three minutes.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from statistics import mean
from typing import Any

import torch
from torch import Tensor

from motet import Agent, Sampling, Store, Task
from motet.methods import latent_mas
from motet.models.latent import Thought
from motet.models.trainable.cache import new_cache
from motet.models.trainable.kv import Kv, extend
from motet.models.trainable.latent import Thinker
from motet.models.trainable.model import Torch
from motet.models.trainable.reuse import Composed, KvPool, spans
from motet.models.trainable.weights import Policy, load_base
from motet.types import Message, Reply

MODEL = "smollm2-135m"
M = 10
WORDS = 48
SUMS = [
    Task(f"What is {a} + {b}?", target=str(a + b), kind="number") for a, b in ((17, 25), (31, 44), (9, 58))
]
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
WHAT_NEXT = "\n\nNow write your answer, and be brief."


@dataclass(frozen=True)
class Wordy:
    """A model without its latent side."""

    model: Torch

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def identity(self) -> str:
        return self.model.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        return await self.model.sample(messages, n, sampling)


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


def teams(policy: Policy) -> list[tuple[str, ...]]:
    """Rows of the first table."""
    knobs = Sampling(temperature=0, max_tokens=WORDS)
    rows: list[tuple[str, ...]] = []
    casts: dict[str, Callable[[], Any]] = {
        "words": lambda: Wordy(Torch(policy)),
        "words, used again": lambda: Wordy(Torch(policy, reuse=KvPool())),
        f"thoughts, m={M}": lambda: Torch(policy),
    }
    for name, make in casts.items():
        team = latent_mas(m=M).cast(Agent(make(), sampling=knobs))
        begun = time.perf_counter()
        runs = [team.run(task, store=Store.memory()) for task in SUMS]
        seconds = time.perf_counter() - begun
        spent = [run.usage for run in runs]
        read = sum(u.input_tokens for u in spent)
        kept = sum(u.cached_tokens for u in spent)
        thought = sum(u.reasoning_tokens for u in spent)
        said = sum(u.output_tokens for u in spent) - thought
        rows.append(
            (
                name,
                f"{read}",
                f"{read - kept}",
                f"{kept / read:.0%}",
                f"{thought}",
                f"{said}",
                f"{seconds:.1f}",
            )
        )
    return rows


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
    """Rows of the second table."""
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
        begun = time.perf_counter()
        results = [expected(policy, prompt, pool, text) for prompt, text in asked]
        seconds = time.perf_counter() - begun
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


def lossless(policy: Policy) -> float:
    """Largest difference of a logit between prompts handed over (m = 0) and one long prompt."""
    ids = [policy.base.vocabulary.prompt([("user", b)]) for b in BEGINNINGS[:3]]
    before = Thought(policy.weights, ids[1], 0, (Thought(policy.weights, ids[0], 0),))
    cache, _ = Thinker().memory(policy.module, (before,))
    with torch.inference_mode():
        found = policy.module.lm_head(extend(policy.module, cache, ids=ids[2]))
    whole, _ = expected(policy, ids[0] + ids[1] + ids[2], None, ())
    return float((found - whole).abs().max())


def main() -> None:
    from rich.console import Console
    from rich.table import Table

    base = load_base(MODEL)
    policy = Policy(base, base.module)
    expected(policy, base.vocabulary.encode("Hello."), None, ())
    console = Console()
    columns: tuple[str, ...]
    columns = "hand-over", "prompt tokens", "computed", "saved", "latent steps", "decoded", "s"
    first = Table(*columns, title=f"latent_mas on {len(SUMS)} sums, replies of at most {WORDS} tokens")
    for row in teams(policy):
        first.add_row(*row)
    columns = "keys and values", "prompt tokens", "computed", "saved", "KL", "max |logit|", "same word", "s"
    second = Table(
        *columns, title=f"8 reports behind {len(BEGINNINGS)} beginnings; KL and |logit| where reused"
    )
    for row in prompts(policy):
        second.add_row(*row)
    console.print(first, second)
    console.print(
        f"prompts handed over against one long prompt: no logit differs by more than {lossless(policy):.1e}"
    )


if __name__ == "__main__":
    main()
