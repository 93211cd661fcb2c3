"""The particle world: both contestants of the comparison get one setting and the same held-out starts."""

from math import isfinite

import pytest
from mpe2 import simple_spread_v3

from benchmarks.mpe.jobs import jobs, name_of
from motet.agent import Agent
from motet.envs.registry import make
from motet.types import Sampling
from recipes.mpe_mappo import SETTING, SPREAD, WORLD, Work, learn, returns


def test_both_contestants_get_one_setting() -> None:
    every = jobs(seeds=2, frames=2000, groups=40, episodes=3)
    assert len({name_of(job) for job in every}) == len(every) == 2 * 2 * 3
    assert [job["seed"] for job in every] == [0] * 6 + [1] * 6
    cut, ended = (next(job for job in every if job["who"] == who) for who in ("benchmarl", "benchmarl-ends"))
    assert ended == cut | {"who": "benchmarl-ends", "ends": True}
    assert cut["ends"] is False
    theirs = cut["experiment"]
    assert theirs["on_policy_collected_frames_per_batch"] == 1000
    assert theirs["on_policy_minibatch_size"] * SETTING["minibatches"] == 1000
    assert theirs["lr"] == SETTING["lr"]
    with pytest.raises(SystemExit, match="2001 frames are not a whole number of iterations of 1000"):
        jobs(seeds=1, frames=2001, groups=40, episodes=3)


def test_both_contestants_are_marked_on_the_same_starts() -> None:
    (job, *_) = jobs(seeds=1, frames=1000, groups=40, episodes=3)
    for start in (job["first"], job["first"] + 7):
        seen, _ = simple_spread_v3.parallel_env(**job["world"]).reset(seed=start)
        episode = make(SPREAD, start, **WORLD)
        assert {seat: episode.observe(seat).array.tolist() for seat in episode.seats} == {
            agent: array.tolist() for agent, array in seen.items()
        }
        episode.close()


def test_the_recipe_learns_and_is_marked() -> None:
    engine = learn(Work("mappo", seed=0, iterations=1, groups=2))
    assert engine.step("agent") == engine.step("critic") == SETTING["epochs"] * SETTING["minibatches"]
    player = Agent(engine.model("agent"), sampling=Sampling(temperature=0.0))
    found = returns(player, 2)
    assert len(found) == 2
    assert all(map(isfinite, found))
    assert max(found) < 0, "distances and collisions cost"
    assert found == returns(player, 2)
