"""Policies on a base: one LoRA adapter each (Hu et al. 2021, by way of PEFT), or weights of their own."""

import copy
import re
import warnings
from typing import Any

from msgspec import Struct

from motet.errors import BadInput, MissingExtra
from motet.models.trainable.weights import Base, Policy


class Lora(Struct, frozen=True):
    """The shape of an adapter.

    Args:
        r: rank.
        alpha: the adapter's output is scaled by alpha / r.
        targets: names of the linear layers that get one; all but the output layer when left out.
        seed: of the random half; the other half is 0, so that a new policy is its base.
    """

    r: int = 8
    alpha: float = 16.0
    targets: tuple[str, ...] = ()
    seed: int = 0


def adapted(base: Base, policy: str, lora: Lora = Lora()) -> Policy:
    """A new policy: the base with an adapter.

    Raises:
        BadInput: the policy's id cannot name an adapter. MissingExtra: peft is not installed.
    """
    import torch

    try:
        from peft import LoraConfig
    except ImportError:
        raise MissingExtra("peft", "train") from None
    _check(policy)
    module: Any = base.module
    taken = getattr(module, "peft_config", {})
    # Checkpoints of equal policies may be open on one base.
    name = next(n for n in (policy, *(f"{policy}_{i}" for i in range(2, 10_000))) if n not in taken)
    targets: Any = list(lora.targets) or "all-linear"
    with base.lock, torch.random.fork_rng(devices=[]):
        digest = base.digest  # of the weights before anything is put into the module
        torch.manual_seed(lora.seed)
        config = LoraConfig(r=lora.r, lora_alpha=lora.alpha, target_modules=targets)  # type: ignore[arg-type]
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "Already found a `peft_config`")  # several are meant
                warnings.filterwarnings("ignore", "fan_in_fan_out is set")  # and mended by PEFT itself
                module.add_adapter(config, adapter_name=name)
        except ValueError as error:
            raise BadInput(f"{lora!r} does not fit {base.name!r}: {error}") from error
        module.eval()
    assert base.digest == digest
    return Policy(base, module, policy, name)


def whole(base: Base, policy: str) -> Policy:
    """A new policy: a copy of the base's weights, all of which are trained.

    Raises:
        BadInput: the policy's id is no plain word.
    """
    _check(policy)
    if getattr(base.module, "peft_config", None):
        raise BadInput(
            f"policy {policy!r} cannot have weights of its own on a base that already carries adapters: "
            f"make the policies with weights of their own first"
        )
    with base.lock:
        _ = base.digest
        module = copy.deepcopy(base.module).requires_grad_(True)
    return Policy(base, module, policy)


def _check(policy: str) -> None:
    if not re.fullmatch(r"[A-Za-z][\w-]*", policy):
        raise BadInput(
            f"{policy!r} cannot be a policy's id; expected letters, digits, _ and -, a letter first"
        )
