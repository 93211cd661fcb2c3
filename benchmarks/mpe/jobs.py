"""What is run: one training run of a contestant on a seed, in plain numbers."""

from itertools import product
from typing import Any

from recipes.mpe_mappo import HELD_OUT, SETTING, STEPS, WORLD

Job = dict[str, Any]
CONTESTANTS = ("motet", "benchmarl", "benchmarl-ends")
ALGORITHMS = ("ippo", "mappo")


def jobs(seeds: int, frames: int, groups: int, episodes: int) -> list[Job]:
    """Every run, seed by seed, so that what is finished early can be compared.

    Args:
        frames: steps of the world in a run.
        groups: episodes of an iteration.
        episodes: held-out episodes of a mark.
    """
    batch = groups * STEPS
    if frames % batch:
        raise SystemExit(f"{frames} frames are not a whole number of iterations of {batch} frames")
    return [
        {
            "who": who,
            "algorithm": algorithm,
            "seed": seed,
            "frames": frames,
            "groups": groups,
            "episodes": episodes,
            "first": HELD_OUT,
            "world": {name: value for name, value in WORLD.items() if name != "words"},
            "setting": SETTING,
            **({} if who == "motet" else {"ends": who == "benchmarl-ends", **_benchmarl(batch, groups)}),
        }
        for seed, algorithm, who in product(range(seeds), ALGORITHMS, CONTESTANTS)
    ]


def _benchmarl(batch: int, groups: int) -> Job:
    """The recipe's settings by BenchMARL's names."""
    return {
        "experiment": {
            "lr": SETTING["lr"],
            "clip_grad_val": SETTING["clip"],
            "gamma": SETTING["gamma"],
            "on_policy_collected_frames_per_batch": batch,
            "on_policy_n_envs_per_worker": groups,
            "on_policy_n_minibatch_iters": SETTING["epochs"],
            "on_policy_minibatch_size": batch // SETTING["minibatches"],
        },
        "of_algorithm": {"entropy_coef": SETTING["entropy"], "lmbda": SETTING["lam"]},
        "model": {"num_cells": SETTING["hidden"]},
    }


def name_of(job: Job) -> str:
    """The name under which a run is kept."""
    return f"{job['who']}-{job['algorithm']}-{job['frames']}-{job['seed']}"
