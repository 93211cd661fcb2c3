"""A sequential public-goods game, learned and checked.

The game is MAC-SPGG's (Liang et al. 2025, arXiv:2508.02076; catalogue 12). Three voices put in 0, 1 or 2 in
turn, each seeing what was put in before. Backward induction finds what rational voices do in every history;
the numbers of the game are such that they are never indifferent. Three policies (tables) learn it: each
payoff is compared with those of the runs that had the same history. Shown is in how many of the 13 histories
the most probable move is the rational one, and how probable that is: under the paper's rules, and under the
plain game without its mechanism.

    python -m recipes.public_goods [--seeds 8] [--iterations 60] [--processes 2]
"""

import argparse
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any

from msgspec.structs import replace

from motet.agent import compose
from motet.credit.public_goods import PLAIN, Rules, payoffs
from motet.evals.stats import mean_ci
from motet.tape import Store
from motet.teams import Team, team
from motet.train import Adam, Loss, Tasks, tabular_engine, train
from motet.train.recipes import Arms
from motet.train.selfplay import chances
from motet.train.source import Rollout
from motet.types import Reply, Task

MAC_SPGG = Rules(share=2.0, threshold=1.0)
"""With the paper's mechanism; unlike with a share of 1.5, no voice is indifferent in any history."""
LEVELS = ("0", "1", "2")
VOICES = ("first", "second", "third")
SUITE = Arms(dict.fromkeys(LEVELS, 0.0))


@team
async def give(task: Task, first: Any, second: Any, third: Any) -> Reply:
    """Each puts in something, seeing what was put in before."""
    one = await first.ask(task)
    two = await second.ask(task, one)
    last: Reply = await third.ask(task, one, two)
    return last


@dataclass(frozen=True)
class Goods(Tasks):
    """The team on its one task; every voice earns its own payoff."""

    rules: Rules = MAC_SPGG

    async def rollout(self, team: Team[...], number: int, seed: int, store: Store) -> Rollout:
        found = await super().rollout(team, number, seed, store)
        tape = found.run.tape
        given = [float(tape.path(call.node)[-1].text) for call in found.run.calls]
        return replace(found, rewards=dict(zip(VOICES, payoffs(given, sum(given), self.rules), strict=True)))


def rational(history: tuple[float, ...], rules: Rules) -> float:
    """What the next voice puts in when all after it are rational too."""

    def end(so_far: tuple[float, ...]) -> tuple[float, ...]:
        if len(so_far) == len(VOICES):
            return so_far
        ends = [end((*so_far, float(level))) for level in LEVELS]
        return max(ends, key=lambda e: payoffs(e, sum(e), rules)[len(so_far)])

    return end(history)[len(history)]


def learned(rules: Rules, seed: int, iterations: int) -> tuple[float, float]:
    """Share of the histories in which the rational contribution is the most probable, and its probability."""
    import torch

    torch.set_num_threads(1)
    engine = tabular_engine(LEVELS, VOICES)
    train(
        Goods(give, SUITE, rules=rules),
        engine=engine,
        policies={voice: voice for voice in VOICES},
        iterations=iterations,
        groups=1,
        group_size=128,
        credit="compose",
        options={"key": "state"},
        loss=Loss("ppo", entropy=0.3),
        adam=Adam(lr=0.2),
        final=0.2,
        seed=seed,
    )
    right, certain = [], []
    for length, voice in enumerate(VOICES):
        for history in product(LEVELS, repeat=length):
            asked, _ = compose((SUITE.tasks[0], *history))
            found = dict(zip(LEVELS, chances(engine, voice, asked, LEVELS), strict=True))
            best = f"{rational(tuple(map(float, history)), rules):g}"
            right.append(max(found, key=found.__getitem__) == best)
            certain.append(found[best])
    return sum(right) / len(right), sum(certain) / len(certain)


def main() -> None:
    """Train on every seed and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=60)
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    print("| rules | rational path | right histories | probability of the rational move |\n|---|---|--:|--:|")
    for name, rules in {"MAC-SPGG": MAC_SPGG, "plain": PLAIN}.items():
        path: tuple[float, ...] = ()
        while len(path) < len(VOICES):
            path = (*path, rational(path, rules))
        with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
            found = list(pool.map(partial(learned, rules, iterations=given.iterations), range(given.seeds)))
        right, certain = (mean_ci(list(column)) for column in zip(*found, strict=True))
        shown = " | ".join(f"{x.mean:.3f} [{x.low:.3f}, {x.high:.3f}]" for x in (right, certain))
        print(f"| {name} | {', '.join(f'{c:g}' for c in path)} | {shown} |", flush=True)


if __name__ == "__main__":
    main()
