"""Independent and centralised-critic PPO in a particle world, by the tape, credit and loop of dialogue.

Three agents have to cover three landmarks without bumping into each other (`simple_spread` of Lowe et al.
2017, arXiv:1706.02275; catalogue 229 has its setting: execution sees the own observation only, training may
see all). One small network acts for all agents. IPPO (de Witt et al. 2020, arXiv:2011.09533) and MAPPO (Yu et
al. 2022, arXiv:2103.01955) differ in one word: what the critic sees. Advantages are GAE(.95) with a discount
of .99. Shown is the mean return of an agent over an episode of 25 steps, on held-out episodes, with the most
probable action; and beside it the shared return of the original world, of which the code of Yu et al. is said
to reach about -120 in 20 million frames (issues 49 and 112 of marlbenchmark/on-policy).

    python -m recipes.mpe_mappo [--seeds 3] [--iterations 300] [--groups 40] [--processes 2]
"""

import argparse
import asyncio
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import product
from multiprocessing import get_context
from typing import Any, NamedTuple

from motet.agent import Agent
from motet.envs.collect import collect
from motet.envs.play import seat_players
from motet.envs.players import PLAYERS
from motet.evals.stats import mean_ci
from motet.models.protocol import Model
from motet.tape import Store
from motet.train import Adam, Critic, Engine, Episodes, Loss, numeric_engine, train
from motet.train.source import Rollout, derived
from motet.types import Sampling

STEPS = 25
WORLD: dict[str, Any] = {"max_cycles": STEPS, "N": 3, "local_ratio": 0.5, "words": False}
SPREAD = "pettingzoo:mpe2.simple_spread_v3"
SEES, ACTIONS, AGENTS = 18, 5, 3
GROUPS = 40
"""Episodes of one iteration."""
SETTING: dict[str, Any] = {
    "lr": 1e-3,
    "clip": 0.5,
    "gamma": 0.99,
    "lam": 0.95,
    "entropy": 0.01,
    "epochs": 10,
    "minibatches": 4,
    "hidden": [64, 64],
}
"""Of policy and critic, but for clipping and entropy, which the policy has alone."""
HELD_OUT = 1_000_000
"""Number of the first episode that is played for a mark."""
CRITICS: dict[str, Any] = {"ippo": "own", "mappo": "all"}


class Work(NamedTuple):
    """One training run."""

    algorithm: str
    seed: int
    iterations: int
    groups: int


def learn(work: Work) -> Engine:
    """Train, and give the engine that holds the policy."""
    import torch

    torch.set_num_threads(1)
    sees, s = CRITICS[work.algorithm], SETTING
    critics = {"critic": SEES * (AGENTS if sees == "all" else 1)}
    engine = numeric_engine(
        SEES, ACTIONS, ("agent",), critics, hidden=s["hidden"], scale=10.0, seed=work.seed
    )
    judged = {name: s[name] for name in ("gamma", "lam", "epochs", "minibatches")}
    train(
        Episodes(SPREAD, WORLD, first=HELD_OUT * (2 + work.seed)),
        engine=engine,
        policies={"*": "agent"},
        credit="ppo_turn_gae",
        options={"lam": s["lam"], "turn_gamma": s["gamma"], "whiten": True},
        critic=Critic({"agent": "critic"}, sees, adam=Adam(lr=s["lr"], clip=None), **judged),
        loss=Loss("ppo", entropy=s["entropy"]),
        adam=Adam(lr=s["lr"], clip=s["clip"]),
        final=0.1,
        epochs=s["epochs"],
        minibatches=s["minibatches"],
        iterations=work.iterations,
        groups=work.groups,
        group_size=1,
        at_once=work.groups,
        checkpoint_every=work.iterations,
        seed=work.seed,
    )
    return engine


def returns(player: Model | Agent, episodes: int) -> list[float]:
    """Mean return of the agents in each of the held-out episodes."""
    world = Episodes(SPREAD, WORLD, first=HELD_OUT)
    team = seat_players(SPREAD, dict.fromkeys(world.voices, player), **WORLD)
    store = Store.memory()

    async def play(number: int) -> Rollout:
        return await world.rollout(team, number, derived("held out", number), store)

    rollouts = asyncio.run(collect(play, range(episodes), at_once=100))
    return [sum(float(r or 0.0) for r in rollout.rewards.values()) / AGENTS for rollout in rollouts]


def one(work: Work, episodes: int, heat: float) -> float:
    """Mean return per agent on the held-out episodes after training."""
    after = returns(Agent(learn(work).model("agent"), sampling=Sampling(temperature=heat)), episodes)
    return sum(after) / len(after)


def main() -> None:
    """Train on every seed and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--algorithms", default="ippo,mappo")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--iterations", type=int, default=300)
    parser.add_argument("--groups", type=int, default=GROUPS, help="episodes in one iteration")
    parser.add_argument("--episodes", type=int, default=200, help="held-out episodes")
    parser.add_argument("--temperature", type=float, default=0.0, help="of the held-out episodes")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    names = given.algorithms.split(",")
    works = [Work(n, s, given.iterations, given.groups) for n, s in product(names, range(given.seeds))]
    frames = given.iterations * given.groups * STEPS
    print("| player | frames | return of an agent | shared return |\n|---|--:|--:|--:|", flush=True)
    print(f"| random | 0 | {shown(returns(PLAYERS['random'], given.episodes))} |", flush=True)
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        many = partial(one, episodes=given.episodes, heat=given.temperature)
        found = dict(zip(works, pool.map(many, works), strict=True))
    for name in names:
        after = [mean for work, mean in found.items() if work.algorithm == name]
        print(f"| {name}, {given.seeds} seeds | {frames:,} | {shown(after)} |")
        print(f"{name} by seed:", ", ".join(f"{x:.2f}" for x in after))


def shown(numbers: Sequence[float]) -> str:
    """A mean with its 95 % interval, which needs two numbers, and the mean as Yu et al. count it."""
    mean = sum(numbers) / len(numbers)
    interval = mean_ci(list(numbers)) if len(numbers) > 1 else None
    sides = f" [{interval.low:.2f}, {interval.high:.2f}]" if interval else ""
    return f"{mean:.2f}{sides} | {shared(mean):.0f}"


def shared(mean: float) -> float:
    """The return in the original world: rewards of all agents are added up, distances and collisions count in
    full, and each agent collides with itself in every step."""
    return AGENTS * (mean / float(WORLD["local_ratio"]) - STEPS)


if __name__ == "__main__":
    main()
