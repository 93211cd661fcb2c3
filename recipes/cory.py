"""CORY: a pioneer, and an observer who sees its answer (Ma et al. 2024, arXiv:2410.06101; catalogue 393).

A query is two digits from 0 to 2, and right is the word for their sum modulo 3. Every call reads the query
for itself: both digits, or, in the second of two worlds, two times out of three one of them alone. There the
answer of a pioneer tells an observer something; in the first it tells nothing that is not in the query.

CORY trains two copies on the sum of both rewards and swaps their roles; alone, one policy learns by the same
PPO with as many sampled calls. Tables for policies, a table for a critic, KL to the untrained policy in the
loss. What is shown is exact, over all queries, readings and words: the mean of both copies in a role, and
without a swap of roles the copy that learned the role.

    python -m recipes.cory [--seeds 8] [--calls 2880] [--beta 0.05] [--processes 2] [--first 10]
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from math import log
from multiprocessing import get_context
from random import Random
from statistics import fmean
from typing import NamedTuple

import motet
from motet.agent import Voice
from motet.evals.stats import Interval, mean_ci, paired_bootstrap
from motet.models.protocol import Model
from motet.performance import Performance
from motet.tape import Store
from motet.teams import Team
from motet.train import Adam, Engine, Loss, tabular_engine, train
from motet.train.selfplay import chances
from motet.train.source import Rollout
from motet.types import Linked, Message, Task, fill

WORDS = ("zero", "one", "two")
PARTS = ("both", "first", "second")
"""What of a query is read."""
WORLDS = {"whole": (1.0, 0.0, 0.0), "in part": (1 / 3, 1 / 3, 1 / 3)}
"""How likely each is."""
FIRST = 10
"""The first seed: those below were used to try settings."""
EACH = 16
"""Sampled calls of an iteration for each of the nine queries."""


def read(query: tuple[int, int], part: str) -> str:
    """What a voice is shown of a query."""
    x, y = query
    shown = {"both": (x, y), "first": (x, "?"), "second": ("?", y)}[part]
    return "The sum of {} and {}, modulo 3?".format(*shown)


def right(query: tuple[int, int]) -> str:
    """The right word."""
    return WORDS[sum(query) % 3]


@motet.team
async def alone(task: Task, solver: Voice, *, readings: tuple[str, ...] = ("",)) -> Linked:
    """One answers."""
    return fill("{word}", word=await solver.ask(readings[0]))


@motet.team
async def in_turn(
    task: Task, pioneer: Voice, observer: Voice, *, readings: tuple[str, ...] = ("", "")
) -> Linked:
    """The observer answers the query with the pioneer's answer beside it."""
    first = await pioneer.ask(readings[0])
    return fill("{first} {second}", first=first, second=await observer.ask(readings[1], first))


@dataclass(frozen=True)
class Queries:
    """Queries, each read by every voice for itself.

    Args:
        team: who answers.
        chances: of reading both digits, the first alone, the second alone.
        joint: whether the critic learns the sum of all rewards, or each voice's own.
        rate: how fast the critic learns.
        worth: the critic: what is expected of each voice at each prompt.
    """

    team: Team[...]
    chances: tuple[float, ...]
    joint: bool
    rate: float = 0.05
    worth: dict[tuple[str, str], float] = field(default_factory=dict, compare=False)
    name: str = "queries"

    @property
    def voices(self) -> tuple[str, ...]:
        return tuple(self.team.voices)

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        return self.team.cast(**models)

    async def rollout(self, team: Team[...], number: int, seed: int, store: Store) -> Rollout:
        query, rng = divmod(number % 9, 3), Random(seed)
        parts = rng.choices(PARTS, self.chances, k=len(self.voices))
        team = team.configured(readings=tuple(read(query, part) for part in parts))
        run = await Performance(team, seed=seed, store=store).run(Task(f"Query {number}"))
        marks = [float(word == right(query)) for word in run.answer.split()]
        notes = {}
        for call, mark in zip(run.calls, marks, strict=True):
            at = call.voice, call.prompt
            value = self.worth.get(at, 0.0)
            self.worth[at] = value + self.rate * ((sum(marks) if self.joint else mark) - value)
            notes[call.id] = {"value": value}
        rewards: dict[str, float | None] = dict(zip(self.voices, marks, strict=True))
        return Rollout(run, rewards, str(number), str(query), self.name, notes=notes)


class Arm(NamedTuple):
    """One way to train: who answers, the credit, and after how many iterations roles are swapped."""

    team: Team[...]
    credit: str
    swap_every: int = 0


ARMS = {
    "PPO": Arm(alone, "ppo_token_gae"),
    "CORY": Arm(in_turn, "cory", 5),
    "CORY without swap": Arm(in_turn, "cory"),
    "own rewards": Arm(in_turn, "ppo_token_gae", 5),
}


class Found(NamedTuple):
    """Reward and KL to the untrained policy, alone (as the pioneer is) and as the observer."""

    alone: float
    alone_kl: float
    observer: float
    observer_kl: float


def learned(job: tuple[str, str, float, int], calls: int, lr: float = 0.3) -> Found:
    """Train in one way, in one world, with one weight of the KL and one seed."""
    import torch

    torch.set_num_threads(1)
    name, world, beta, seed = job
    arm = ARMS[name]
    voices = tuple(arm.team.voices)
    engine = tabular_engine(WORDS, ("a", "b"))
    each = EACH // len(voices)
    train(
        Queries(arm.team, WORLDS[world], joint=arm.credit == "cory"),
        engine=engine,
        policies=dict(zip(voices, "ab", strict=False)),
        iterations=calls // (9 * each * len(voices)),
        groups=9,
        group_size=each,
        credit=arm.credit,
        # The gradient of k2 is that of KL(π‖π_ref); with k3 in the loss it would be that of KL(π_ref‖π).
        loss=Loss("ppo", kl=beta, kl_form="k2"),
        adam=Adam(lr=lr, clip=None),
        epochs=2,
        swap_every=arm.swap_every,
        evaluate_every=10_000,
        checkpoint_every=10_000,
        keep_tapes=False,
        seed=seed,
    )
    orders = ["ab", "ba"] if arm.swap_every else ["ab"[: len(voices)]]
    return Found(*map(fmean, zip(*[measured(engine, order, world) for order in orders], strict=True)))


def measured(engine: Engine, order: str, world: str) -> Found:
    """Reward and KL of two copies in these roles, exactly; of one, the observer's are its own."""
    known: dict[tuple[str, str], list[float]] = {}

    def policy(name: str, *said: str) -> list[float]:
        asked = "\n\n".join(said)
        if (name, asked) not in known:
            known[name, asked] = chances(engine, name, Message.say("user", asked), WORDS)
        return known[name, asked]

    total = [0.0] * 4
    for chance, query, mine, yours in readings(world):
        first = policy(order[0], read(query, mine))
        found = [*score(first, query)] * 2
        if order[1:]:
            seconds = [score(policy(order[1], read(query, yours), word), query) for word in WORDS]
            found[2:] = [expected(first, column) for column in zip(*seconds, strict=True)]
        total = [t + chance * f for t, f in zip(total, found, strict=True)]
    return Found(*total)


def readings(world: str) -> Iterator[tuple[float, tuple[int, int], str, str]]:
    """Every query, read by two, with its probability."""
    likely = dict(zip(PARTS, WORLDS[world], strict=True))
    for x, y, mine, yours in product(range(3), range(3), PARTS, PARTS):
        if chance := likely[mine] * likely[yours] / 9:
            yield chance, (x, y), mine, yours


def expected(p: Sequence[float], values: Sequence[float]) -> float:
    """What is expected."""
    return sum(a * b for a, b in zip(p, values, strict=True))


def score(said: list[float], query: tuple[int, int]) -> tuple[float, float]:
    """How likely the right word is, and KL to the untrained policy, to which all words are alike."""
    kl = sum(p * log(p * len(WORDS)) for p in said if p > 0)
    return said[WORDS.index(right(query))], kl


def main() -> None:
    """Train in every way on every seed in both worlds and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--calls", type=int, default=2880, help="sampled calls of one training run")
    parser.add_argument("--beta", type=float, default=0.05, help="weight of the KL")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    jobs = [(name, world, given.beta, seed) for world in WORLDS for name in ARMS for seed in seeds]
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        found = dict(zip(jobs, pool.map(partial(learned, calls=given.calls), jobs), strict=True))
    for world in WORLDS:
        table = {name: [found[name, world, given.beta, seed] for seed in seeds] for name in ARMS}
        print(f"\nThe query is read {world}; β = {given.beta:g}, {given.calls} sampled calls.\n")
        print("| | reward alone | KL | J alone − PPO | reward of the observer | KL | J − PPO |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        for name, mine in table.items():
            print(line(name, mine, table["PPO"], given.beta))


def line(name: str, mine: Sequence[Found], ppo: Sequence[Found], beta: float) -> str:
    """One way to train as a line of the table; J is reward − β·KL."""
    cells = []
    for reward, kl in ((0, 1), (2, 3)):
        if reward and mine is ppo:
            cells += ["", "", ""]
            continue
        goal = [one[reward] - beta * one[kl] for one in mine]
        gain = paired_bootstrap(goal, [one.alone - beta * one.alone_kl for one in ppo])
        cells += [shown(mean_ci([one[reward] for one in mine])), f"{fmean(one[kl] for one in mine):.3f}"]
        cells += ["" if mine is ppo else shown(gain, "+")]
    return f"| {name} | {' | '.join(cells)} |"


def shown(interval: Interval, sign: str = "") -> str:
    """A mean with its 95 % interval."""
    return f"{interval.mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


if __name__ == "__main__":
    main()
