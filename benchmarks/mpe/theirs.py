"""One training run of BenchMARL, in its own environment.

Reads the job as JSON (see `benchmarks.mpe.jobs`), prints JSON: the mean return of an agent in each held-out
episode, and the seconds of training. BenchMARL's trainer runs as it is; only the world is handed to it, since
it looks for `simple_spread` in PettingZoo, from which it has moved to `mpe2`.
"""

import json
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from itertools import count
from typing import Any

import torch
from benchmarl.algorithms import IppoConfig, MappoConfig
from benchmarl.environments.pettingzoo.common import PettingZooClass
from benchmarl.experiment import Experiment, ExperimentConfig
from benchmarl.models.mlp import MlpConfig
from mpe2 import simple_spread_v3
from pettingzoo.utils.wrappers import BaseParallelWrapper
from tensordict import TensorDict
from torchrl.envs import PettingZooWrapper
from torchrl.envs.utils import ExplorationType, set_exploration_type

ALGORITHMS = {"ippo": IppoConfig, "mappo": MappoConfig}
COPIES = 10_000
"""More than there are copies of the world in a run; the seeds of held-out starts are far above."""
QUIET = {"evaluation": False, "render": False, "loggers": [], "create_json": False}


class Ending(BaseParallelWrapper):
    """A world whose last step is its end, and not a cut that BenchMARL's critic looks beyond."""

    def step(self, actions: Any) -> Any:
        """One step; who is cut short has ended."""
        seen, rewards, ended, cut, infos = self.env.step(actions)
        return seen, rewards, {who: ended[who] or cut[who] for who in cut}, dict.fromkeys(cut, False), infos


class Spread(PettingZooClass):
    """BenchMARL's task with the world of `mpe2`; its critic may see the state, all observations in a row.

    BenchMARL gives all copies of a PettingZoo world one seed, so that they begin alike in every episode. Here
    each has its own.
    """

    def get_env_fun(
        self, num_envs: int, continuous_actions: bool, seed: int, device: Any
    ) -> Callable[[], Any]:
        """A maker of the world, for BenchMARL to make copies with."""
        seeds, options = count(COPIES * seed), dict(self.config)
        ending = Ending if options.pop("ends") else BaseParallelWrapper
        return lambda: PettingZooWrapper(
            ending(simple_spread_v3.parallel_env(**options)),
            return_state=True,
            categorical_actions=True,
            seed=next(seeds),
            device=device,
        )


def experiment(job: dict[str, Any], folder: str) -> Any:
    """BenchMARL's experiment with its defaults, but for what the job says."""
    config = ExperimentConfig.get_from_yaml()
    for name, value in {**QUIET, **job["experiment"]}.items():
        assert hasattr(config, name), name
        setattr(config, name, value)
    config.prefer_continuous_actions, config.save_folder = False, folder
    config.max_n_frames = job["frames"]
    algorithm = ALGORITHMS[job["algorithm"]].get_from_yaml()
    for name, value in job["of_algorithm"].items():
        assert hasattr(algorithm, name), name
        setattr(algorithm, name, value)
    model = MlpConfig.get_from_yaml()
    for name, value in job["model"].items():
        assert hasattr(model, name), name
        setattr(model, name, value)
    task = Spread("SIMPLE_SPREAD", {**job["world"], "ends": job["ends"]})
    return Experiment(task, algorithm, model, job["seed"], config)


def returns(policy: Any, world: dict[str, Any], starts: range) -> list[float]:
    """Mean return of the agents in each episode, with the most probable action."""
    worlds = [simple_spread_v3.parallel_env(**world) for _ in starts]
    seen = [one.reset(seed=start)[0] for one, start in zip(worlds, starts, strict=True)]
    agents = worlds[0].possible_agents
    earned = [0.0] * len(worlds)
    with torch.no_grad(), set_exploration_type(ExplorationType.DETERMINISTIC):
        while worlds[0].agents:
            array = torch.tensor([[one[agent].tolist() for agent in agents] for one in seen])
            batch = TensorDict({"agent": {"observation": array}}, [len(worlds)])
            chosen = policy(batch)["agent", "action"].tolist()
            for i, (one, actions) in enumerate(zip(worlds, chosen, strict=True)):
                seen[i], rewards, *_ = one.step(dict(zip(agents, actions, strict=True)))
                earned[i] += sum(rewards.values()) / len(agents)
    return earned


def main() -> None:
    """Do the job that is on standard input."""
    job, out, sys.stdout = json.load(sys.stdin), sys.stdout, sys.stderr  # they print
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        made = experiment(job, folder)
        wall, cpu = time.perf_counter(), time.process_time()
        made.run()
        spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    found = returns(made.policy, job["world"], range(job["first"], job["first"] + job["episodes"]))
    print(json.dumps({"returns": found, "frames": made.total_frames, **spent}), file=out)
