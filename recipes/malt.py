"""MALT on the embedded model's weights: a trio learns from a tree of its own samples.

The method is MALT (Motwani et al. 2024, arXiv:2412.01928; catalogue 62): a generator answers, a verifier says
what is wrong, a refiner writes the final answer. On training items the untrained trio samples a tree (n
generations, n verifications of each, n refinements of each of those); leaves are marked by the truth, a node
is worth the mean of its children. Each role is a LoRA adapter of its own on SmolLM2-135M, tuned on its
positive replies, then verifier and refiner by preferences (DPO) between siblings, against what they then are.

Held-out items, three calls for everybody: the trio before and after; one model that votes, before and after.
The last is the fair rival: the tuned generator alone, on the same data.

    python -m recipes.malt [--seed 0] [--quick] [--out FOLDER]
"""

import argparse
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from motet.agent import Agent, Voice
from motet.answers import instruction
from motet.combine import majority
from motet.evals.stats import mean_ci, paired_bootstrap
from motet.evals.suite import load_suite
from motet.models.protocol import Model
from motet.teams import Team, team
from motet.train import REFERENCE, Adam, Engine, Loss, Row, torch_engine
from motet.train.builders.data import Built
from motet.train.builders.malt import GENERATE, ROLES, malt, malt_tree
from motet.train.builders.reading import mark_of
from motet.train.play import play
from motet.train.progress import shown
from motet.train.taught import taught
from motet.train.tune import Lesson, steps, tune
from motet.types import Linked, Sampling, Task, fill

SUITE = "rg:chain_sum?min_terms=2&max_terms=2&min_digits=1&max_digits=1"
DRAWN = 1500
"""Items that are made; the family has some two hundred different ones, and each counts once."""


@dataclass(frozen=True)
class Size:
    """How much is done.

    Args:
        train, held: items. draws: runs of each held-out item.
        n: branches at each level of the tree.
        examples, pairs: the most that a role learns from; examples `epochs` times, pairs once.
        tokens: the most of a reply.
    """

    train: int = 72
    held: int = 120
    draws: int = 1
    n: int = 3
    examples: int = 128
    pairs: int = 48
    epochs: int = 2
    tokens: int = 24


QUICK = Size(train=10, held=24, draws=1, examples=24, pairs=8)


@dataclass(frozen=True)
class Lab:
    """The engine with a policy for each role, its vocabulary, and who sings in the trees."""

    engine: Engine
    vocabulary: Any
    sampler: Model


@team
async def votes(task: Task, solver: Voice, *, n: int = 3) -> Linked:
    """Self-consistency under the generator's own prompt."""
    return majority(task, await solver.ask_many(fill(GENERATE, task=task, form=instruction(task)), n=n))


def items(seed: int, size: Size) -> tuple[list[Task], list[Task]]:
    """Training items and held-out ones; no question is in both."""
    every = list({task.prompt: task for task in load_suite(SUITE, DRAWN, 0)}.values())
    random.Random(seed).shuffle(every)
    return every[: size.train], every[size.train : size.train + size.held]


def chosen(built: Built, size: Size, seed: int) -> Built:
    """At most so many different examples and pairs of each role."""
    order = random.Random(seed)

    def some(found: Sequence[Any], most: int, key: Callable[[Any], object]) -> tuple[Any, ...]:
        kept = []
        for role in ROLES:
            mine = list({key(x): x for x in found if x.voice == role}.values())
            kept += order.sample(mine, min(most, len(mine)))
        return tuple(kept)

    return Built(
        some(built.sft, size.examples, lambda x: x.messages),
        some(built.dpo, size.pairs, lambda x: (x.prompt, x.chosen, x.rejected)),
        counts=built.counts,
    )


def learn(lab: Lab, built: Built, size: Size, seed: int) -> None:
    """Supervised tuning of all roles, then preferences."""
    stages = (
        (
            "imitation",
            Built(sft=built.sft),
            Lesson(epochs=size.epochs, batch=4, adam=Adam(lr=2e-3), seed=seed),
        ),
        (
            "preferences",
            Built(dpo=built.dpo),
            Lesson(Loss("dpo", {"beta": 0.1}), batch=4, adam=Adam(lr=2e-4), seed=seed),
        ),
    )
    for name, data, lesson in stages:
        rows: list[Row] = taught(data, lab.vocabulary, {role: role for role in ROLES})
        if not rows:
            note(f"{name}: nothing to learn from")
            continue
        begun = time.perf_counter()
        with shown(steps(rows, lesson), name) as show:
            losses = tune(lab.engine, rows, lesson, lambda _, done, facts: show(done, facts))
        curves = ", ".join(
            f"{role} {len(found)} steps {found[0]:.3f} → {found[-1]:.3f}" for role, found in losses.items()
        )
        note(f"{name}: {len(rows)} rows; {curves}; {time.perf_counter() - begun:.0f} s")


def measured(engine: Engine, size: Size, held: Sequence[Task], names: Mapping[str, str]) -> list[list[float]]:
    """The mark of each held-out item, a mean over its draws: of the trio, and of the generator that votes."""

    def agent(role: str) -> Agent:
        return Agent(engine.model(names[role]), sampling=Sampling(temperature=0.7, max_tokens=size.tokens))

    when = "untrained" if names["generator"] == REFERENCE else "tuned"
    work = [(task, draw) for task in held for draw in range(size.draws)]
    casts: dict[str, Team[Any]] = {
        f"{when} trio": malt_tree(n=1).cast(**{role: agent(role) for role in ROLES}),
        f"{when} voting": votes(n=3).cast(agent("generator")),
    }
    found = []
    for title, cast in casts.items():
        marks = [mark_of(run.tape) or 0.0 for run in play(cast, work, title)]
        note(f"{title}: {sum(marks) / len(marks):.3f} right")
        found.append([sum(marks[i : i + size.draws]) / size.draws for i in range(0, len(marks), size.draws)])
    return found


def table(marks: Mapping[str, list[float]]) -> str:
    """Accuracies with their intervals, and what the tuned trio gains over each, item by item."""
    lines = ["| three calls each | right | the tuned trio is better by |", "|---|--:|--:|"]
    trio = marks["tuned trio"]
    for name, found in marks.items():
        mean = mean_ci(found)
        gain = paired_bootstrap(trio, found)
        over = "" if found is trio else f"{gain.mean:+.3f} [{gain.low:+.3f}, {gain.high:+.3f}]"
        lines.append(f"| {name} | {mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}] | {over} |")
    return "\n".join(lines)


def experiment(
    lab: Lab, train: Sequence[Task], held: Sequence[Task], size: Size, seed: int
) -> dict[str, list[float]]:
    """All of it: measure, sample the trees, tune, measure again; the marks of the held-out items."""
    engine = lab.engine
    untrained = measured(engine, size, held, dict.fromkeys(ROLES, REFERENCE))
    voice = Agent(lab.sampler, sampling=Sampling(temperature=0.7, max_tokens=size.tokens))
    trees = play(malt_tree(n=size.n).cast(voice), [(task, seed) for task in train], "trees")
    built = malt([run.tape for run in trees])
    data = chosen(built, size, seed)
    for role in ROLES:
        mine, kept = built.of(role), data.of(role)
        note(
            f"{role}: {len(kept.sft)} of {len(mine.sft)} positives, {len(kept.dpo)} of {len(mine.dpo)} pairs"
        )
    learn(lab, data, size, seed)
    tuned = measured(engine, size, held, {role: role for role in ROLES})
    names = ("untrained trio", "untrained generator, vote of 3", "tuned trio", "tuned generator, vote of 3")
    return dict(zip(names, [*untrained, *tuned], strict=True))


def note(words: str) -> None:
    """A line of progress, with the seconds of this process."""
    print(f"{time.process_time():5.0f} s of a core  {words}", file=sys.stderr, flush=True)


def main() -> None:
    """Run the experiment and print the table."""
    from motet.models.trainable.model import Torch
    from motet.models.trainable.weights import Policy, load_base

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--quick", action="store_true", help="a few items: shows that it runs, proves nothing"
    )
    parser.add_argument("--out", metavar="FOLDER", help="keep the three adapters there")
    given = parser.parse_args()
    begun, size = time.perf_counter(), QUICK if given.quick else Size()
    base = load_base("smollm2-135m")
    engine = torch_engine(base, ROLES)
    rough = load_base("smollm2-135m", "bfloat16")  # draws 1.6 times as fast, and need not be exact
    sampler = Torch(Policy(rough, rough.module), keep_empty=True)
    train, held = items(given.seed, size)
    marks = experiment(Lab(engine, base.vocabulary, sampler), train, held, size, given.seed)
    print(f"SmolLM2-135M, {size.held} held-out items of {SUITE}, {size.draws} runs each, seed {given.seed}\n")
    print(table(marks), flush=True)
    if given.out:
        for role in ROLES:
            engine.save(role, file := Path(given.out) / f"{role}.safetensors")
            note(f"kept: torch:{file}")
    note(f"{(time.perf_counter() - begun) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
