"""One contestant in this process: `python -m benchmarks.train.contestants NAME [--cpu]`.

It makes itself ready, then takes a step whenever a line comes in, and answers with its numbers as JSON.
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

PROMPTS, SAMPLES, NEW = 2, 8, 24
RANK, ALPHA, RATE = 8, 16, 1e-5
WEIGHTS = "smollm2-135m"
CLOCK = time.process_time if "--cpu" in sys.argv else time.perf_counter
PASSAGE = "The committee met on a rainy day to speak about the bridge, the school and the price of bread. "


class Contestant(Protocol):
    """Takes steps of its policies, one after another."""

    def step(self) -> tuple[float, float]:
        """Seconds that rollouts took, and updates."""
        ...


def prompt(number: int) -> str:
    """About 60 tokens, of which no two numbers share many."""
    return f"Minutes number {number}. " + PASSAGE * 2 + "What was said about the bridge, and by whom? Answer:"


class Ours:
    """Motet's engine, with a LoRA for each policy on one base."""

    def __init__(self, policies: int) -> None:
        from motet.models.trainable.adapters import Lora
        from motet.models.trainable.weights import load_base
        from motet.train import Adam, torch_engine

        base = load_base(WEIGHTS)
        self.vocabulary: Any = base.vocabulary
        self.vocabulary.ends = frozenset()
        names = [f"policy{i}" for i in range(policies)]
        self.engine = torch_engine(base, dict.fromkeys(names, Lora(r=RANK, alpha=ALPHA)), device="cpu")
        self.adam = Adam(lr=RATE)
        self.steps = 0

    def step(self) -> tuple[float, float]:
        """Every policy draws and learns."""
        spent = [self._step(policy) for policy in self.engine.policies]
        return sum(s[0] for s in spent), sum(s[1] for s in spent)

    def _step(self, policy: str) -> tuple[float, float]:
        from motet.train import Loss
        from motet.types import Sampling

        ids = [self.vocabulary.encode(prompt(self.steps + i)) for i in range(PROMPTS)]
        self.steps += PROMPTS
        begun = CLOCK()
        drawn = self.engine.sample(policy, ids, SAMPLES, Sampling(max_tokens=NEW))
        rolled = CLOCK()
        rows = [self._row(tokens, i) for group in drawn for i, tokens in enumerate(group)]
        self.engine.forward_backward(policy, rows, Loss("ppo", reduction="sequence"))
        self.engine.optim_step(policy, self.adam)
        return rolled - begun, CLOCK() - rolled

    def _row(self, tokens: Any, number: int) -> Any:
        from motet.train import Row

        assert len(tokens.ids) == NEW, f"{len(tokens.ids)} tokens instead of {NEW}"
        before, new = len(tokens.prompt_ids), len(tokens.ids)
        return Row(
            ids=tokens.prompt_ids + tokens.ids,
            mask=(False,) * before + (True,) * new,
            logprobs=(float("nan"),) * before + tokens.logprobs,
            advantages=(0.0,) * before + (number % 2 - 0.5,) * new,
        )


class Theirs:
    """TRL's GRPOTrainer, one for each policy, as it knows one policy only.

    Args:
        recompute: activations are not kept but computed again on the way back.
    """

    def __init__(self, policies: int, *, recompute: bool = False) -> None:
        from datasets import Dataset, disable_progress_bars

        disable_progress_bars()
        rows = Dataset.from_list([{"prompt": prompt(i)} for i in range(64)])
        self.folder = tempfile.TemporaryDirectory()
        self.clocks = [
            _trainer(rows, str(Path(self.folder.name) / str(i)), recompute) for i in range(policies)
        ]

    def step(self) -> tuple[float, float]:
        """Every trainer draws and learns."""
        for trainer, _ in self.clocks:
            trainer.train()
        spent = [clock.spent() for _, clock in self.clocks]
        return sum(s[0] for s in spent), sum(s[1] for s in spent)


class _Clock:
    """When TRL's trainer began a step, had its rollouts, and ended."""

    def __init__(self) -> None:
        self.drawing = self.preparing = self.whole = 0.0

    def spent(self) -> tuple[float, float]:
        """Seconds of rollout and of update: all of the step but preparing the batch."""
        return self.drawing, self.whole - self.preparing

    def timed(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        """The function, whose time is kept under a name."""

        def call(*args: Any, **kwargs: Any) -> Any:
            begun = CLOCK()
            found = function(*args, **kwargs)
            setattr(self, name, CLOCK() - begun)
            return found

        return call


def _reward(completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
    assert all(len(ids) == NEW for ids in completion_ids), "a reply ended early"
    return [float(i % 2) for i in range(len(completion_ids))]


def _trainer(rows: Any, folder: str, recompute: bool) -> tuple[Any, _Clock]:
    import trl
    from peft import LoraConfig
    from transformers import TrainerCallback

    clock = _Clock()

    class Steps(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.begun = CLOCK()

        def on_step_end(self, *_: Any, **__: Any) -> None:
            clock.whole = CLOCK() - self.begun

    config = trl.GRPOConfig(
        output_dir=folder,
        max_steps=1,
        per_device_train_batch_size=PROMPTS * SAMPLES,
        num_generations=SAMPLES,
        max_completion_length=NEW,
        generation_kwargs={"min_new_tokens": NEW},
        learning_rate=RATE,
        lr_scheduler_type="constant",
        beta=0.0,
        model_init_kwargs={"dtype": "float32"},
        gradient_checkpointing=recompute,
        bf16=False,
        use_cpu=True,
        save_strategy="no",
        report_to=[],
        disable_tqdm=True,
    )
    lora = LoraConfig(r=RANK, lora_alpha=ALPHA, target_modules="all-linear")
    made = trl.GRPOTrainer(
        model=str(converted_weights()),
        reward_funcs=_reward,
        args=config,
        train_dataset=rows,
        peft_config=lora,
        callbacks=[Steps()],
    )
    made._generate_single_turn = clock.timed(made._generate_single_turn, "drawing")
    made._prepare_inputs = clock.timed(made._prepare_inputs, "preparing")
    return made, clock


CONTESTANTS: dict[str, Callable[[], Contestant]] = {
    "motet": lambda: Ours(1),
    "trl": lambda: Theirs(1),
    "trl-recompute": lambda: Theirs(1, recompute=True),
    "motet-two": lambda: Ours(2),
    "trl-two": lambda: Theirs(2),
}
POLICIES = {"motet": 1, "trl": 1, "trl-recompute": 1, "motet-two": 2, "trl-two": 2}


def converted_weights() -> Path:
    """The folder with the weights; the first call makes it from the embedded model."""
    from motet.models.trainable.weights import converted

    return converted(WEIGHTS)


def peak_mib() -> float:
    """The most memory that this process has held."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(name: str) -> None:
    """Take steps as asked for on standard input."""
    answers, sys.stdout = sys.stdout, sys.stderr
    os.environ["HF_HUB_OFFLINE"] = "1"
    contestant = CONTESTANTS[name]()
    tokens = POLICIES[name] * PROMPTS * SAMPLES * NEW
    for _ in sys.stdin:
        rollout, update = contestant.step()
        numbers = {"rollout": tokens / rollout, "update": tokens / update, "mib": peak_mib()}
        print(json.dumps(numbers), file=answers, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
