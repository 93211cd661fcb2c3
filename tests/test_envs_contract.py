"""The contract test finds what breaks the contract."""

import asyncio
import random
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from motet.envs import EnvSpec, World, check_env, collect
from motet.envs.kuhn import Hand, Kuhn
from motet.envs.positions import Graph


@dataclass(frozen=True)
class Seeded:
    """A maker that pickles, of worlds under wrong rules."""

    rules: Any

    def __call__(self, seed: int) -> World[Any]:
        return World(Graph(self.rules), seed)


class GlobalChance(Kuhn):
    def step(self, state: Hand, actions: Any) -> Any:
        random.random()
        return super().step(state, actions)


class StrangerPaid(Kuhn):
    def step(self, state: Hand, actions: Any) -> Any:
        after, rewards = super().step(state, actions)
        return after, rewards | {"first": float("nan")}


class Forgetful(Kuhn):
    """What is seen changes from look to look."""

    looks: ClassVar[list[int]] = []

    def text(self, state: Hand, seat: str) -> str:
        self.looks.append(1)
        return f"{super().text(state, seat)} {len(self.looks)}"


@pytest.mark.parametrize(
    ("rules", "told"),
    [
        (GlobalChance(), "global random"),
        (StrangerPaid(), "reward of first is nan"),
        (Forgetful(), "different ways"),
    ],
)
def test_broken_worlds_are_found(rules: Any, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        check_env(Seeded(rules))


def test_a_maker_that_does_not_pickle_is_found() -> None:
    with pytest.raises(AssertionError, match="cannot be sent to another process"):
        check_env(lambda seed: EnvSpec("kuhn")(seed))


def test_collect_keeps_order_and_bounds() -> None:
    now, most = 0, 0

    async def episode(seed: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001 * (seed % 3))
        now -= 1
        return seed * seed

    assert asyncio.run(collect(episode, range(20), at_once=4)) == [seed * seed for seed in range(20)]
    assert most == 4


def test_collect_ends_with_the_first_failure() -> None:
    ended: list[int] = []

    async def episode(seed: int) -> None:
        if seed == 3:
            raise RuntimeError("seed 3")
        await asyncio.sleep(0.001)
        ended.append(seed)

    with pytest.raises(RuntimeError, match="seed 3"):
        asyncio.run(collect(episode, range(100), at_once=2))
    assert len(ended) < 10
