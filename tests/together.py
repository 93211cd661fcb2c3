"""What an engine finds, in one process or in those of a launcher: python together.py OUT IN, two folders."""

import json
import sys
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import motet
from motet import Agent, Sampling, Task
from motet.errors import BadInput
from motet.models.trainable.adapters import Lora
from motet.train import REFERENCE, Adam, Engine, Loss, Row, torch_engine, train

TINY = "tiny:hidden=32,layers=2,heads=2,context=128"
POLICIES = {"adapter": Lora(r=2), "whole": None, "other": Lora(r=4)}
IDS = [(1, 2, 3), (1, 2, 3, 4, 5), (7, 8, 9, 10, 11, 12)]
ROWS = [
    Row(
        ids=ids,
        mask=(False, False, *[True] * (len(ids) - 2)),
        logprobs=(nan, nan, *[-1.0] * (len(ids) - 2)),
        advantages=(nan, nan, *[advantage] * (len(ids) - 2)),
    )
    for ids, advantage in zip(IDS, (1.0, -0.5, 2.0), strict=True)
]
"""One micro-batch each where micro-batches are small: an odd number for two processes."""


@motet.team
async def say(task, voice):
    """Ask once."""
    return await voice.ask(task)


class SmallLetters:
    """Pays for the share of small letters in an answer."""

    name = "small letters"
    tasks = (Task("Say something."),)

    @property
    def scorer(self) -> "SmallLetters":
        return self

    async def __call__(self, task: Task, answer: str) -> Any:
        return SimpleNamespace(value=sum(c.islower() for c in answer) / max(1, len(answer)))


def engine() -> Engine:
    return torch_engine(TINY, POLICIES, micro_tokens=1)


def scores(made: Engine, policy: str) -> list[float]:
    return [x for line in made.logprobs(policy, ROWS) for x in line if x == x]


def found(out: Path, other: Path) -> dict[str, Any]:
    """Everything that must not depend on the number of processes. Checkpoints are written to `out`, and read
    from `other`, where there are some."""
    made, told = engine(), dict[str, Any]()
    told["identities"] = [made.model(policy).identity for policy in POLICIES]
    for policy in ("adapter", "whole"):
        for _ in range(2):
            learned = made.forward_backward(policy, ROWS, Loss("ppo"))
            made.logprobs(policy, ROWS)
            learned |= made.optim_step(policy, Adam(lr=1e-2))
        drawn = made.sample(policy, [(1, 2), (5,), (5, 6, 7)], 3, Sampling(max_tokens=9, seed=4))
        told[policy] = learned | {
            "ids": [tokens.ids for group in drawn for tokens in group],
            "logp": [x for group in drawn for tokens in group for x in tokens.logprobs],
            "scores": scores(made, policy),
        }
        ((one,),) = made.sample(policy, [(3, 4)], 1, Sampling(max_tokens=5, seed=1))
        told[policy]["one"] = one.ids  # too few for all to have something to do
        made.save(policy, out / f"{policy}.safetensors")
    told["untouched"] = [scores(made, policy) for policy in (REFERENCE, "other")]
    try:
        made.forward_backward("whole", [], Loss("ppo"))
    except BadInput as error:
        told["refused"] = str(error)
    told["loaded"] = continued(other) if (other / "whole.safetensors").is_file() else None
    done = train(
        say.cast(Agent(f"torch:{TINY}", sampling=Sampling(max_tokens=4, temperature=1))),
        SmallLetters(),
        policies={"voice": "full"},
        iterations=2,
        groups=2,
        group_size=4,
        adam=Adam(lr=0.03),
        out=out / "run",
    )
    told["curve"] = [{k: v for k, v in line.items() if k != "seconds"} for line in done.curve]
    return told


def continued(folder: Path) -> dict[str, list[float]]:
    """Log-probabilities after one more step from the checkpoints in a folder."""
    made = engine()
    for policy in ("adapter", "whole"):
        made.load(policy, folder / f"{policy}.safetensors")
        made.forward_backward(policy, ROWS, Loss("ppo"))
        made.optim_step(policy, Adam(lr=1e-2))
    return {policy: scores(made, policy) for policy in ("adapter", "whole")}


if __name__ == "__main__":
    import torch

    torch.set_num_threads(1)
    here, there = map(Path, sys.argv[1:])
    told = found(here, there)
    (here / "found.json").write_text(json.dumps(told))
