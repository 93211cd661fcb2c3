"""Credit by absence: what a team is without a voice, found by replaying its tapes (Wolpert & Tumer 2002;
Shapley 1953).

Voices vote. Planted among them are a useless one, which never gives an answer, and a harmful one, which
always gives the same wrong answer. First, simulated voices of known skill: does worth rank them rightly, and
does the team do as well, with fewer calls, without those whose worth is not surely above 0? Then tabular
voices that begin with nothing, beside the planted two: the reward shared by all (GRPO within each voice's
group) against each voice's difference reward under the same normaliser, at the same number of rollouts. A
vote asks no model anew when a voice is left out, so the replays cost no calls.

    python -m recipes.counterfactual [--seeds 8] [--iterations 30] [--processes 2]
"""

import argparse
import asyncio
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from random import Random
from statistics import fmean as mean
from typing import Any, NamedTuple

import motet
from motet.combine import ask_all, majority
from motet.credit.counterfactual import from_table, shapley
from motet.evals.stats import Interval, mean_ci, paired_bootstrap
from motet.models.rule import Rule
from motet.models.sim import Sim
from motet.teams import Team, Voices
from motet.train import Adam, Plan, Tasks, tabular_engine, train
from motet.train.assign import replayed
from motet.train.recipes import Marked
from motet.types import Linked, Task

ANSWERS = ("1", "2", "3", "4")
SOLVERS = 5


@dataclass(frozen=True)
class Quiz:
    """Questions with four answers, one of them right."""

    tasks: tuple[Task, ...]
    name: str = "quiz"

    @property
    def scorer(self) -> "Quiz":
        return self

    async def __call__(self, task: Task, answer: str) -> Marked:
        return Marked(float(answer == task.target))


def quiz(n: int, seed: int) -> Quiz:
    """A quiz of `n` questions."""
    rng = Random(seed)
    return Quiz(
        tuple(
            Task(f"Question {seed}.{i}: 1, 2, 3 or 4?", rng.choice(ANSWERS), f"{seed}.{i}", "number")
            for i in range(n)
        )
    )


@motet.team
async def ballot(task: Task, voters: Voices) -> Linked:
    """All vote."""
    return majority(task, await ask_all(voters.take(len(voters)), task))


@motet.team
async def school(task: Task, pupils: Voices, planted: Voices) -> Linked:
    """Pupils and planted voices vote together."""
    everyone = (*pupils.take(len(pupils)), *planted.take(len(planted)))
    return majority(task, await ask_all(everyone, task))


def planted() -> tuple[Any, Any]:
    """The useless and the harmful voice."""
    return Rule(lambda said: "I cannot tell.", "useless"), Sim(deceive=1.0, wrong=3, skew=1.0)


class Panel(NamedTuple):
    """What came of one panel: the worth of its kinds of voices, and how it did whole and pruned."""

    solver: float
    useless: float
    harmful: float
    ranked: bool
    whole: float
    pruned: float
    kept: int


def ranked(seed: int, items: int = 60, held_out: int = 100) -> Panel:
    """Find the worth of seven voices, drop those whose worth is not surely above 0, and try the rest."""
    kinds = [("solver", Sim(skill=0.5, wrong=3, skew=1.0, seed=seed * SOLVERS + i)) for i in range(SOLVERS)]
    kinds += zip(("useless", "harmful"), planted(), strict=True)
    Random(seed).shuffle(kinds)
    panel = ballot.cast(voters=[voice for _, voice in kinds])
    values = asyncio.run(worth(panel, quiz(items, seed)))
    names = [f"voters_{i}" for i in range(1, len(kinds) + 1)]
    found: dict[str, list[float]] = {}
    for name, (kind, _) in zip(names, kinds, strict=True):
        found.setdefault(kind, []).append(mean([v[name] for v in values]))
    sure = [mean_ci([v[name] for v in values]).low > 0 for name in names]
    few = ballot.cast(voters=[voice for (_, voice), keep in zip(kinds, sure, strict=True) if keep])
    return Panel(
        mean(found["solver"]),
        found["useless"][0],
        found["harmful"][0],
        min(found["solver"]) > found["useless"][0] > found["harmful"][0],
        accuracy(panel, held_out, seed),
        accuracy(few, held_out, seed),
        sum(sure),
    )


async def worth(team: Team[...], questions: Quiz) -> list[dict[str, float]]:
    """The Shapley value of every voice in every question, from replays without the others."""
    source, store, plan = Tasks(team, questions), motet.Store.memory(), Plan(credit="shapley")
    voices = [f"voters_{i}" for i in range(1, len(team.parts["voters"]) + 1)]
    found = []
    for number in range(len(questions.tasks)):
        rollout = await source.rollout(team, number, number, store)
        rollout = await replayed(source, team, rollout, voices, plan, store)
        found.append(shapley(voices, from_table(rollout.coalitions)))
    store.close()
    return found


def accuracy(team: Team[...], n: int, seed: int) -> float:
    """The share of held-out questions that a team gets right."""
    store = motet.Store.memory()
    tasks = quiz(n, 1000 + seed).tasks
    runs = [team.run(task, seed=seed, store=store) for task in tasks]
    store.close()
    return mean([float(run.ok and run.answer == task.target) for run, task in zip(runs, tasks, strict=True)])


CREDITS: dict[str, tuple[str, dict[str, Any]]] = {
    "shared": ("grpo", {"key": "task_voice"}),
    "difference": ("difference", {"key": "task_voice", "baseline": "mean", "scale": "std"}),
}


def learned(job: tuple[str, int], iterations: int) -> tuple[float, float]:
    """Train five tabular pupils: the team's mean reward over all iterations, and over the last five."""
    import torch

    torch.set_num_threads(1)
    name, seed = job
    credit, options = CREDITS[name]
    pupils = [motet.Agent(Rule(str), f"You are pupil {i}.") for i in range(SOLVERS)]
    done = train(
        school.cast(pupils=pupils, planted=list(planted())),
        quiz(4, seed),
        engine=tabular_engine(ANSWERS),
        policies={"pupils": "policy"},
        iterations=iterations,
        groups=4,
        group_size=8,
        credit=credit,
        options=options,
        adam=Adam(lr=0.1),
        seed=seed,
        evaluate_every=iterations,
        checkpoint_every=iterations,
        keep_tapes=False,
    )
    rewards = [line["reward/pupils"] for line in done.curve[1:]]
    return mean(rewards), mean(rewards[-5:])


def shown(interval: Interval, sign: str = "") -> str:
    """A mean with its 95 % interval."""
    return f"{interval.mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


def main() -> None:
    """Rank, prune and train on every seed, and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    seeds = range(given.seeds)
    jobs = list(product(CREDITS, seeds))
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        panels = list(pool.map(ranked, seeds))
        curves = dict(zip(jobs, pool.map(partial(learned, iterations=given.iterations), jobs), strict=True))
    print("| voice | Shapley value |\n|---|--:|")
    for kind in ("solver", "useless", "harmful"):
        found = [getattr(p, kind) for p in panels]
        same = f"{found[0]:+.3f} on every seed" if len(set(found)) == 1 else ""
        print(f"| {kind} | {same or shown(mean_ci(found), '+')} |")
    print(f"\nAll voices in the right order: {sum(p.ranked for p in panels)} of {given.seeds} seeds.\n")
    print("| panel | calls a question | held-out accuracy |\n|---|--:|--:|")
    whole, pruned = [p.whole for p in panels], [p.pruned for p in panels]
    print(f"| whole | {SOLVERS + 2} | {shown(mean_ci(whole))} |")
    print(f"| pruned | {mean([float(p.kept) for p in panels]):.2f} | {shown(mean_ci(pruned))} |")
    print(f"| pruned − whole | | {shown(paired_bootstrap(pruned, whole), '+')} |\n")
    print("| credit | reward, all iterations | reward, last five |\n|---|--:|--:|")
    table = {name: list(zip(*[curves[name, seed] for seed in seeds], strict=True)) for name in CREDITS}
    for name, columns in table.items():
        print(f"| {name} | " + " | ".join(shown(mean_ci(column)) for column in columns) + " |")
    both = zip(table["difference"], table["shared"], strict=True)
    print("| difference − shared | " + " | ".join(shown(paired_bootstrap(a, b), "+") for a, b in both) + " |")


if __name__ == "__main__":
    main()
