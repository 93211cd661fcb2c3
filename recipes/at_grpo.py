"""AT-GRPO against GRPO of whole episodes, for two in a maze (Zhao et al. 2025, arXiv:2510.11062; catalogue
192).

Two walk through a maze of which each sees a part. They speak in turn, and a step is taken when the second
agrees with what the first proposed. Each has a tabular policy of its own, which sees its part and the
proposal. The team earns 1 at the goal; a role earns a tenth for a move that leads nearer to it, or that
agrees with such a proposal. GRPO compares the sums of episodes that began alike. AT-GRPO draws k replies of
one role in one state, compares what they bring at once, and goes on with the best (`motet.train.branching`).
GiGPO, which looks for equal states in plain episodes, stands beside them.

All get as many sampled calls. Counted is how often the goal is reached afterwards, with one reply a turn. The
learning rate is the best for GRPO of five (0.03, 0.1, 0.3, 1, 3), found with seeds 0 and 1.

    python -m recipes.at_grpo [--seeds 8] [--calls 6000] [--processes 2] [--first 10]
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import product
from multiprocessing import get_context
from typing import Any

import msgspec

from motet.envs.collect import collect
from motet.envs.maze import MOVE, WAYS, Cell, Walk, step_from, way
from motet.envs.players import TURN
from motet.envs.protocol import Env
from motet.envs.world import World
from motet.evals.stats import Interval, mean_ci, paired_bootstrap
from motet.models.protocol import Model
from motet.tape import CALL, Store
from motet.teams import Team
from motet.train import Adam, Stop, tabular_engine, train
from motet.train.branching import Branches, Branching
from motet.train.source import Rollout, derived
from motet.types import Message, Reply, Sampling

FIRST = 10
"""The first seed: those below were used to choose the setting."""
FOREVER = 100_000


class Glance:
    """A policy that sees the maze as its seat sees it and the move proposed, and not all that was said."""

    def __init__(self, policy: Model) -> None:
        self._policy = policy
        self.name = policy.name

    @property
    def identity(self) -> str:
        return self._policy.identity

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        turn, call = TURN.get(), CALL.get()
        assert turn and call, "a glance is taken in a maze"
        assert isinstance(turn.env, World)
        rules, state = turn.env.rules, turn.env.state
        short = Walk(state.grid, state.hidden, state.at, state.goal, (state.proposed,) * bool(state.proposed))
        seen = Message.say("user", rules.text(short, turn.seat))
        # Places are seen again, and must not bring the same draw again.
        seed = derived(call.seed, turn.seat, turn.number)
        return await self._policy.sample([seen], n, sampling.but(seed=seed))


@lru_cache(maxsize=4096)
def distance(grid: tuple[str, ...], at: Cell, goal: Cell) -> int:
    """Steps of a shortest way."""
    return len(way(grid, at, goal))


def advice(env: Env, seat: str, action: Any) -> float:
    """A role's own reward: a tenth for a move that leads nearer to the goal; where such a move is proposed,
    for no other."""
    assert isinstance(env, World)
    state: Walk = env.state
    here = distance(state.grid, state.at, state.goal)

    def nearer(move: str) -> bool:
        return move in WAYS and distance(state.grid, step_from(state.grid, state.at, move), state.goal) < here

    move = "".join(MOVE.findall(str(action))[-1:]).lower()
    good = move == state.proposed if nearer(state.proposed) else nearer(move)
    return 0.1 * good


WORDS = tuple(f"move:{w}" for w in WAYS)
MIXED = Branches(k=1, alpha=1.0, local=advice)
GOAL = Branches(k=1, alpha=1.0)
ARMS: dict[str, tuple[str, dict[str, Any], Branches]] = {
    "GRPO": ("grpo", {}, MIXED),
    "GiGPO": ("gigpo", {"gamma": 0.95}, MIXED),
    "AT-GRPO": ("at_grpo", {}, replace(MIXED, k=4)),
    "AT-GRPO, any goes on": ("at_grpo", {}, replace(MIXED, k=4, follow="first")),
    "GRPO, goal alone": ("grpo", {}, GOAL),
    "AT-GRPO, goal alone": ("at_grpo", {}, replace(GOAL, k=4)),
}


@dataclass(frozen=True)
class Two(Branching):
    """Two who glance, and how often they were asked."""

    asked: Counter[str] = field(default_factory=Counter, compare=False)

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        return super().cast({seat: Glance(model) for seat, model in models.items()})

    async def rollout(self, team: Team[...], number: int, seed: int, store: Store) -> Rollout:
        found = await super().rollout(team, number, seed, store)
        self.asked["calls"] += len(found.run.calls)
        # States are equal, for GiGPO, where policies cannot tell them apart.
        tape = found.run.tape
        glances = {call.id: str(tape.ids(call.prompt, "table")) for call in found.run.calls}
        return msgspec.structs.replace(found, seen=glances)


def maze(branches: Branches, first: int = 0, size: int = 6, turns: int = 36, starts: int = 3) -> Two:
    """The mazes of this recipe."""
    return Two("maze", {"size": size, "turns": turns}, starts=starts, first=first, branches=branches)


def learned(job: tuple[str, int], calls: int, source: Two | None = None, lr: float = 1.0) -> float:
    """Train in one way with one seed on its own mazes until so many calls are spent: success afterwards."""
    import torch

    torch.set_num_threads(1)
    name, seed = job
    credit, options, branches = ARMS[name]
    source = replace(source or maze(branches, first=1000 * seed), branches=branches, asked=Counter())
    done = train(
        source,
        engine=tabular_engine(WORDS, ("first", "second")),
        policies={"first": "first", "second": "second"},
        evaluate=lambda _: dict(source.asked),
        evaluate_every=1,
        checkpoint_every=FOREVER,
        stop=Stop("calls", patience=FOREVER, target=calls),
        iterations=FOREVER,
        groups=source.starts,
        group_size=8 // branches.k,
        credit=credit,
        options=options,
        adam=Adam(lr=lr),
        keep_tapes=False,
        seed=seed,
    )
    return success(done.team, source, seed)


def success(team: Team[...], source: Two, seed: int, episodes: int = 100) -> float:
    """How often the goal is reached, one reply a turn."""
    plain, store = replace(source, branches=GOAL), Store.memory()
    walkers = team.configured(branches=GOAL)

    async def walk(number: int) -> Rollout:
        return await plain.rollout(walkers, number, derived(seed, "test", number), store)

    found = asyncio.run(collect(walk, range(episodes)))
    store.close()
    return sum(rollout.reward("first") or 0.0 for rollout in found) / episodes


def main() -> None:
    """Train in every way on every seed and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--calls", type=int, default=6000, help="sampled calls of one training run")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed")
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.seeds)
    jobs = list(product(ARMS, seeds))
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        found = dict(zip(jobs, pool.map(partial(learned, calls=given.calls), jobs), strict=True))
    print(f"| credit, {given.calls} calls | success | − GRPO, same rewards |\n|---|--:|--:|")
    for name in ARMS:
        mine = [found[name, seed] for seed in seeds]
        rival = "GRPO, goal alone" if name.endswith("goal alone") else "GRPO"
        against = [found[rival, seed] for seed in seeds]
        gain = "" if name == rival else shown(paired_bootstrap(mine, against), "+")
        print(f"| {name} | {shown(mean_ci(mine))} | {gain} |")
    print()
    for name in ARMS:
        print(f"{name}, seed by seed: {', '.join(f'{found[name, seed]:.2f}' for seed in seeds)}.")


def shown(interval: Interval, sign: str = "") -> str:
    """A mean with its 95 % interval."""
    return f"{interval.mean:{sign}.3f} [{interval.low:{sign}.3f}, {interval.high:{sign}.3f}]"


if __name__ == "__main__":
    main()
