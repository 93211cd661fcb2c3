"""Teams of four on sums that hand over words, or thoughts."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import torch

from benchmarks.latent.reuse import BEGINNINGS, expected
from motet import Agent, Sampling, Store, Task
from motet.answers import extract
from motet.evals.stats import mean_ci
from motet.evals.suite import load_suite
from motet.evals.tables import percent
from motet.methods import direct, latent_hierarchy, latent_mas
from motet.models.latent import Thought
from motet.models.trainable.kv import extend
from motet.models.trainable.latent import Thinker
from motet.models.trainable.model import Torch
from motet.models.trainable.weights import Policy
from motet.types import Message, Reply

SUITE = "arithmetic?difficulty=1"
M = 10
WORDS = 48
SEED = 1  # the prompts of latent_mas were chosen on eight items of the usual sample
COLUMNS = ("team", "right, %", "prompt tokens", "computed", "saved", "latent steps", "decoded", "CPU s")


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


def teams(policy: Policy, n: int) -> list[tuple[str, ...]]:
    """A row for each team and kind of hand-over: the mean of a run on `n` sums, greedy."""
    knobs = Sampling(temperature=0, max_tokens=WORDS)
    tasks = load_suite(SUITE).sample(n, seed=SEED).tasks
    casts: dict[str, Callable[[], Any]] = {
        "words": lambda: Wordy(Torch(policy)),
        f"thoughts, m={M}": lambda: Torch(policy),
    }
    rows = [row("one call", direct.cast(Agent(Wordy(Torch(policy)), sampling=knobs)), tasks)]
    for team in (latent_mas(m=M), latent_hierarchy(m=M)):
        for name, make in casts.items():
            rows.append(row(f"{team.name}: {name}", team.cast(Agent(make(), sampling=knobs)), tasks))
    return rows


def row(name: str, team: Any, tasks: Sequence[Task]) -> tuple[str, ...]:
    """What a team got right and spent."""
    begun = time.process_time()
    runs = [team.run(task, store=Store.memory()) for task in tasks]
    seconds = (time.process_time() - begun) / len(tasks)
    right = [
        float(run.ok and extract(task, run.answer) == task.target)
        for run, task in zip(runs, tasks, strict=True)
    ]
    spent = [run.usage for run in runs]
    read, kept = fmean(u.input_tokens for u in spent), fmean(u.cached_tokens for u in spent)
    thought = fmean(u.reasoning_tokens for u in spent)
    said = fmean(u.output_tokens for u in spent) - thought
    return (
        name,
        percent(mean_ci(right)).replace("%", ""),
        f"{read:.0f}",
        f"{read - kept:.0f}",
        f"{kept / read:.0%}",
        f"{thought:.0f}",
        f"{said:.0f}",
        f"{seconds:.1f}",
    )


def lossless(policy: Policy) -> float:
    """Largest difference of a logit between prompts handed over (m = 0) and one long prompt."""
    ids = [policy.base.vocabulary.prompt([("user", b)]) for b in BEGINNINGS[:3]]
    before = Thought(policy.weights, ids[1], 0, (Thought(policy.weights, ids[0], 0),))
    cache, _ = Thinker().memory(policy.module, (before,))
    with torch.inference_mode():
        found = policy.module.lm_head(extend(policy.module, cache, ids=ids[2]))
    whole, _ = expected(policy, ids[0] + ids[1] + ids[2], None, ())
    return float((found - whole).abs().max())
