"""One training run of the recipe: `python -m benchmarks.mpe.ours`. Reads and prints what `theirs` does."""

import json
import sys
import time

import torch

from motet.agent import Agent
from motet.types import Sampling
from recipes.mpe_mappo import STEPS, Work, learn, returns


def main() -> None:
    """Do the job that is on standard input."""
    job = json.load(sys.stdin)
    torch.set_num_threads(1)
    iterations = job["frames"] // (job["groups"] * STEPS)
    wall, cpu = time.perf_counter(), time.process_time()
    engine = learn(Work(job["algorithm"], job["seed"], iterations, job["groups"]))
    spent = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    player = Agent(engine.model("agent"), sampling=Sampling(temperature=0.0))
    found = {"returns": returns(player, job["episodes"]), "frames": job["frames"], **spent}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
