"""What TRL and verl make of the cases: `python -m benchmarks.golden.theirs` in an environment with both.

Their own functions compute; where TRL has its formula inside a trainer, a trainer is made on a tiny model,
and a stand-in hands it the log-probabilities. Prints JSON: a list of numbers for each name.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from benchmarks.golden import cases as c

Numbers = list[float]


def tensor(rows: Any) -> Tensor:
    """Numbers in 64 bits, so that all that differs is the formula."""
    return torch.tensor(rows, dtype=torch.float64)


MASK = tensor([[float(t < n) for t in range(c.WIDTH)] for n in c.LENGTHS])
ADVANTAGES = tensor(c.ADVANTAGES)[:, None].expand(c.ROWS, c.WIDTH)
OUTCOMES = torch.zeros(c.ROWS, c.WIDTH, dtype=torch.float64)
OUTCOMES[range(c.ROWS), [n - 1 for n in c.LENGTHS]] = tensor(c.REWARDS)


def numbers(values: Tensor) -> Numbers:
    """All numbers in one row."""
    return values.detach().double().flatten().tolist()


def with_gradient(loss: Callable[[Tensor], Tensor], at: Any = c.LOGP) -> Numbers:
    """A loss and its gradient with respect to the log-probabilities."""
    logp = tensor(at).requires_grad_()
    value = loss(logp)
    value.backward()
    assert logp.grad is not None
    return [value.item(), *numbers(logp.grad)]


def verl() -> dict[str, Numbers]:
    """The functions of verl's core_algos."""
    import numpy as np
    from verl.trainer.config import AlgoConfig
    from verl.trainer.ppo import core_algos as v
    from verl.workers.config import ActorConfig

    index = np.repeat(np.arange(c.GROUPS), c.SIZE)
    short = tensor(c.REWARDS)[:, None], torch.ones(c.ROWS, 1, dtype=torch.float64)
    seen = MASK.clone()
    seen[c.OBSERVED] = 0
    actor = ActorConfig(
        strategy="fsdp",
        rollout_n=c.SIZE,
        ppo_micro_batch_size_per_gpu=1,
        clip_ratio_low=c.LOW,
        clip_ratio_high=c.HIGH,
        clip_ratio_c=c.DUAL,
    )

    def loss(name: str, mode: str) -> Numbers:
        function = v.get_policy_loss_fn(name)
        return with_gradient(lambda p: function(tensor(c.OLD), p, ADVANTAGES, MASK, mode, actor)[0])

    def kl(form: str) -> Numbers:
        return with_gradient(lambda p: (v.kl_penalty(p, tensor(c.REFERENCE), form) * MASK).sum())

    def grpo(scaled: bool, outcomes: Tensor = OUTCOMES) -> Numbers:
        found = v.compute_grpo_outcome_advantage(outcomes, MASK, index, norm_adv_by_std_in_grpo=scaled)
        return numbers(found[0][:, 0])

    gae = v.compute_gae_advantage_return(OUTCOMES, tensor(c.VALUES), seen, c.GAMMA, c.LAMBDA)[0]
    plus = v.compute_reinforce_plus_plus_outcome_advantage(*short, config=AlgoConfig(gamma=1.0))[0]
    based = v.compute_reinforce_plus_plus_baseline_outcome_advantage(*short, index)[0]
    return {
        "verl grpo": grpo(True),
        "verl dr_grpo": grpo(False),
        "verl rloo": numbers(v.compute_rloo_outcome_advantage(OUTCOMES, MASK, index)[0][:, 0]),
        "verl gae of tokens": numbers(gae[seen.bool()]),
        "verl reinforce++": numbers(plus),
        "verl reinforce++ baseline": numbers(based),
        "verl ppo, dual clip, of tokens": loss("vanilla", "token-mean"),
        "verl ppo, dual clip, of rows": loss("vanilla", "seq-mean-token-mean"),
        "verl ppo, dual clip, constant": loss("vanilla", "seq-mean-token-sum-norm"),
        "verl gspo": loss("gspo", "seq-mean-token-mean"),
        "verl cispo": loss("cispo", "token-mean"),
        "verl kl k1": kl("k1"),
        "verl kl k2": kl("k2"),
        "verl kl k3": kl("k3"),
    }


class Given(torch.nn.Module):
    """Stands in for a model and says the log-probabilities that it is told."""

    def __init__(self, logp: Tensor) -> None:
        super().__init__()
        self.logp = logp

    def forward(self, **_: Any) -> Any:
        """What TRL reads of a model's output; all but the first is for its metrics."""
        other = torch.zeros_like(self.logp)
        return SimpleNamespace(
            log_probs=self.logp * MASK,
            entropy=other,
            mean_logits=other,
            logits=torch.zeros(c.ROWS, c.WIDTH + 1, 3),
            is_top1=other.bool(),
        )


def trl(folder: str) -> dict[str, Numbers]:
    """The trainers of TRL, on a tiny model."""
    from trl.rewards import get_soft_overlong_punishment

    penalty = get_soft_overlong_punishment(c.LONGEST, c.CACHE)
    return {
        "trl overlong": penalty([[0] * n for n in c.LENGTHS]),
        "trl grpo": _advantages(folder, "GRPO"),
        "trl dr_grpo": _advantages(folder, "GRPO", scale_rewards="none"),
        "trl rloo": _advantages(folder, "RLOO"),
        "trl grpo loss, of rows": _grpo(folder, loss_type="grpo"),
        "trl dapo loss, of tokens": _grpo(folder, loss_type="dapo"),
        "trl dr_grpo loss, constant": _grpo(folder, loss_type="dr_grpo"),
        "trl two-sided clip": _grpo(folder, loss_type="grpo", delta=c.DUAL),
        "trl gspo": _grpo(folder, loss_type="grpo", importance_sampling_level="sequence"),
        "trl cispo": _grpo(folder, loss_type="cispo", epsilon_high=1.0 + c.HIGH),
        "trl grpo loss with kl": _grpo(folder, loss_type="grpo", beta=c.BETA, use_bias_correction_kl=False),
        "trl dpo": _preference(folder, "DPO"),
        "trl kto": _preference(folder, "KTO"),
    }


def _trainer(folder: str, kind: str, rows: list[dict[str, Any]], **options: Any) -> Any:
    import trl
    from datasets import Dataset

    common = {"output_dir": folder, "report_to": [], "use_cpu": True, "bf16": False, "disable_tqdm": True}
    config = getattr(trl, f"{kind}Config")(
        max_steps=1, save_strategy="no", gradient_checkpointing=False, **common, **options
    )
    more = {"reward_funcs": lambda completions, **_: list(c.REWARDS)} if kind in ("GRPO", "RLOO") else {}
    return getattr(trl, f"{kind}Trainer")(
        model=folder, args=config, train_dataset=Dataset.from_list(rows), **more
    )


def _online(folder: str, kind: str, **options: Any) -> Any:
    sizes = {"per_device_train_batch_size": c.ROWS, "num_generations": c.SIZE}
    rows = [{"prompt": "ab"}] * c.GROUPS
    return _trainer(folder, kind, rows, max_completion_length=c.WIDTH, **sizes, **options)


def _advantages(folder: str, kind: str, **options: Any) -> Numbers:
    trainer = _online(folder, kind, beta=0.0, **options)
    trainer.train()
    return list(trainer._logs["advantages"])


def _grpo(folder: str, **options: Any) -> Numbers:
    trainer = _online(folder, "GRPO", **{"epsilon": c.LOW, "epsilon_high": c.HIGH, "beta": 0.0} | options)
    trainer.model.eval()
    ids = torch.ones(c.ROWS, c.WIDTH, dtype=torch.long)
    inputs = {
        "prompt_ids": ids[:, :1],
        "prompt_mask": ids[:, :1],
        "completion_ids": ids,
        "completion_mask": MASK.long(),
        "advantages": tensor(c.ADVANTAGES),
        "old_per_token_logps": tensor(c.OLD),
        "ref_per_token_logps": tensor(c.REFERENCE),
        "num_items_in_batch": MASK.sum(),
    }
    return with_gradient(lambda p: trainer._compute_loss(Given(p), inputs))


def _preference(folder: str, kind: str) -> Numbers:
    said = {"chosen": "a", "rejected": "b"} if kind == "DPO" else {"completion": "a", "label": True}
    # KTO's estimate of the KL wants two rows.
    trainer = _trainer(folder, kind, [{"prompt": "a", **said}] * 2, beta=c.BETA)
    trainer.model.eval()
    trainer.ref_model = Given(tensor(c.REFERENCE))
    ids = torch.ones(c.ROWS, c.WIDTH + 1, dtype=torch.long)
    on = torch.nn.functional.pad(MASK.long(), (1, 0))
    inputs = {"input_ids": ids, "attention_mask": ids, "completion_mask": on}
    if kind == "KTO":
        inputs |= {"KL_input_ids": ids, "KL_attention_mask": ids, "KL_completion_mask": on}
        inputs["label"] = torch.tensor(c.DESIRED)
    return with_gradient(lambda p: trainer._compute_loss(Given(p), inputs, False))


def tiny(folder: str) -> None:
    """Put a model of one layer into a folder, with a tokenizer of three words."""
    from tokenizers import Tokenizer, models
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.BPE(vocab={"a": 0, "b": 1, "<end>": 2, "<pad>": 3}, merges=[]))
    PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<end>", pad_token="<pad>").save_pretrained(
        folder
    )
    small = {"hidden_size": 8, "intermediate_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = LlamaConfig(vocab_size=4, eos_token_id=2, pad_token_id=3, bos_token_id=None, **small)
    LlamaForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    out, sys.stdout = sys.stdout, sys.stderr  # they print
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as home:
        tiny(home)
        print(json.dumps(verl() | trl(home)), file=out)
