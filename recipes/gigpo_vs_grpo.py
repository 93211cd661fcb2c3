"""GiGPO against GRPO in a household of words (Feng et al. 2025, arXiv:2505.10978; catalogue 337).

A thing must be found and put somewhere else: up to 40 commands, one reward at the very end, and the same
places seen again and again. A tabular policy chooses a line of the menu of legal commands. Both train on the
same two starts for the same number of episodes, and differ in the credit alone: GRPO gives the outcome of an
episode to all its steps, GiGPO compares, besides, what became of the steps that were taken in one and the
same state. With its weight ω at 0 it is GRPO to the last bit, which is checked here. The learning rate is
the best for GRPO of four (100, 300, 1000, 3000), found with seed 0.

    python -m recipes.gigpo_vs_grpo [--seeds 8] [--iterations 24] [--processes 2] [--first 10]
"""

import argparse
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from statistics import fmean
from typing import Any

import msgspec

from motet.envs.players import TURN
from motet.evals.stats import Interval, mean_ci, paired_bootstrap
from motet.models.protocol import Model
from motet.teams import Team
from motet.train import Adam, tabular_engine, train
from motet.train.source import Episodes
from motet.types import Message, Reply, Sampling

FIRST = 10
"""The first seed: those below were used to choose the setting."""
BARE = 4
"""Iterations of the check that GiGPO holds GRPO."""
LINES = tuple(map(str, range(8)))
CREDITS: dict[str, tuple[str, dict[str, Any]]] = {
    "GRPO": ("grpo", {}),
    "GiGPO": ("gigpo", {"omega": 1.0, "gamma": 0.95}),
    "GiGPO, ω = 0": ("gigpo", {"omega": 0.0}),
}


class Menu:
    """A policy of line numbers as a player: it says the command on that line of the legal ones."""

    def __init__(self, policy: Model) -> None:
        self._policy = policy
        self.name = policy.name

    @property
    def identity(self) -> str:
        return self._policy.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        turn = TURN.get()
        legal = turn.env.observe(turn.seat).legal if turn else None
        assert legal, "a menu is read in an environment that lists its actions"
        replies = await self._policy.sample(messages, n, sampling)
        chosen = [legal[int(reply.text) % len(legal)] for reply in replies]
        return [
            msgspec.structs.replace(reply, message=Message.say("assistant", action), data=action)
            for reply, action in zip(replies, chosen, strict=True)
        ]


@dataclass(frozen=True)
class House(Episodes):
    """Episodes in which policies choose from the menu."""

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        return super().cast({seat: Menu(model) for seat, model in models.items()})


def house(steps: int = 40, starts: int = 2, first: int = 2) -> House:
    """The house of this recipe."""
    return House("household", {"things": 3, "places": 7, "steps": steps}, starts=starts, first=first)


def learned(job: tuple[str, int], iterations: int, source: House | None = None, **plan: Any) -> list[float]:
    """Train with one kind of credit and one seed: the mean reward of every iteration."""
    import torch

    torch.set_num_threads(1)
    name, seed = job
    credit, options = CREDITS[name]
    source = source or house()
    settings = {
        "groups": source.starts,
        "group_size": 8,
        # With a large eps Adam is plain gradient descent: Adam itself hides how large an advantage is.
        "adam": Adam(lr=300.0, beta1=0.0, eps=1.0, clip=None),
        "evaluate_every": iterations,
        "checkpoint_every": iterations,
    }
    done = train(
        source,
        engine=tabular_engine(LINES),
        policies={"player": "policy"},
        iterations=iterations,
        credit=credit,
        options=options,
        seed=seed,
        **{**settings, **plan},
    )
    return [line["reward/player"] for line in done.curve[1:]]


def main() -> None:
    """Train with each kind of credit on every seed and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--iterations", type=int, default=24)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    jobs = [(name, seed) for seed in seeds for name in ("GRPO", "GiGPO")]
    bare = [("GRPO", 0), ("GiGPO, ω = 0", 0)]
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        short = [pool.submit(learned, job, BARE) for job in bare]
        curves = dict(zip(jobs, pool.map(partial(learned, iterations=given.iterations), jobs), strict=True))
        grpo, gigpo_0 = (one.result() for one in short)
    assert grpo == gigpo_0, "GiGPO without its weight is GRPO to the last bit"
    print("| credit | success, all iterations | success, last fifth |\n|---|--:|--:|")
    last = max(1, given.iterations // 5)
    table = {
        name: [(fmean(curves[name, seed]), fmean(curves[name, seed][-last:])) for seed in seeds]
        for name in ("GRPO", "GiGPO")
    }
    columns = {name: list(zip(*rows, strict=True)) for name, rows in table.items()}
    for name, found in columns.items():
        print(f"| {name} | " + " | ".join(shown(mean_ci(column)) for column in found) + " |")
    both = zip(columns["GiGPO"], columns["GRPO"], strict=True)
    print("| GiGPO − GRPO | " + " | ".join(shown(paired_bootstrap(a, b), "+") for a, b in both) + " |\n")
    for name, found in columns.items():
        print(f"{name}, seed by seed: {', '.join(f'{mean:.3f}' for mean in found[0])}.")
    print(f"With ω = 0 the curve of GRPO, to the last bit: {', '.join(f'{x:.3f}' for x in grpo)}.")


def shown(interval: Interval, sign: str = "") -> str:
    """A mean with its 95 % interval."""
    return f"{interval.mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


if __name__ == "__main__":
    main()
