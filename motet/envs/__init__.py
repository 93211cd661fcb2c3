"""Environments: worlds in which voices act in seats and are rewarded, and adapters to those of others.

env = make("kuhn", seed=3)
while seats := env.acting():
    env.step({seat: choose(env.observe(seat)) for seat in seats})
env.returns()
"""

from motet.envs.collect import collect
from motet.envs.contract import check_env
from motet.envs.protocol import Action, Env, Maker, Observation, Seat, Solved, Step
from motet.envs.referee import Illegal
from motet.envs.registry import ENVS, EnvInfo, EnvSpec, make
from motet.envs.world import Rules, World

__all__ = [
    "ENVS",
    "Action",
    "Env",
    "EnvInfo",
    "EnvSpec",
    "Illegal",
    "Maker",
    "Observation",
    "Rules",
    "Seat",
    "Solved",
    "Step",
    "World",
    "check_env",
    "collect",
    "make",
]
