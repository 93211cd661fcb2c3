"""Policies on disk: one safetensors file holds weights, optimiser and what is known of them.

A file is written beside its place and moved there, so that it is whole or not there at all.
"""

import os
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from motet.errors import BadInput, MotetError
from motet.models.trainable.adapters import Lora, adapted, whole
from motet.models.trainable.weights import Base, Policy, load_base, need_torch

if TYPE_CHECKING:
    from torch import Tensor

WEIGHT = "weight."
"""What names of trained weights begin with in a checkpoint."""


class About(Struct, frozen=True, kw_only=True):
    """What a checkpoint says of itself.

    Args:
        base: hash of the weights that the policy started from or adapts.
        base_name: as after `torch:`.
        lora: the adapter's shape; None when all weights are trained.
        drawn: how many samples were drawn without a seed.
        made_by: how the engine was made, for tables (`tabular`) or weights (`torch`).
    """

    policy: str
    step: int
    base: str
    base_name: str
    lora: Lora | None = None
    drawn: int = 0
    made_by: str = "torch"
    format: int = 1


def write_checkpoint(path: str | Path, tensors: Mapping[str, "Tensor"], about: About) -> None:
    """Put a checkpoint into place.

    Raises:
        MotetError: the folder cannot be written.
    """
    from safetensors.torch import save_file

    path = Path(path)
    metadata = {"motet": msgspec.json.encode(about).decode()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        try:
            save_file({k: t.detach().cpu().contiguous() for k, t in tensors.items()}, name, metadata)
            with Path(name).open("rb") as file:
                os.fsync(file.fileno())
            Path(name).replace(path)
        finally:
            Path(name).unlink(missing_ok=True)
    except OSError as error:
        raise MotetError(f"cannot write the checkpoint {path}: {error}") from error


def read_checkpoint(path: str | Path) -> tuple[dict[str, "Tensor"], About]:
    """All that was written.

    Raises:
        BadInput: there is no such file, or it is no checkpoint of a policy. MotetError: it is cut short.
    """
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise BadInput(f"there is no checkpoint {str(path)!r}; expected a .safetensors file of a policy")
    try:
        with safe_open(path, "pt") as opened:
            told: dict[str, str] = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise MotetError(
            f"the checkpoint {path} is cut short or damaged ({error}); go back to an earlier one"
        ) from error
    try:
        return tensors, msgspec.json.decode(told["motet"], type=About)
    except (KeyError, msgspec.DecodeError) as error:
        raise BadInput(
            f"{path} is no checkpoint of a policy (no valid `motet` in its header): {error!r}"
        ) from error


def check_base(about: About, base: str, path: str | Path) -> None:
    """Refuse a policy of another base.

    Raises:
        BadInput: that is what it is; names both.
    """
    if about.base != base:
        raise BadInput(
            f"the checkpoint {path} belongs to the base {about.base_name!r} ({about.base}), not to this one "
            f"({base}); load it on its own base, or train a new policy on this one"
        )


def restore(policy: Policy, tensors: Mapping[str, "Tensor"], path: str | Path) -> None:
    """Put weights of a checkpoint into a policy of the same shape.

    Raises:
        BadInput: names or shapes differ; the policy is as before.
    """
    import torch

    parameters = policy.parameters()
    saved = {k.removeprefix(WEIGHT): t for k, t in tensors.items() if k.startswith(WEIGHT)}
    wrong = sorted(parameters.keys() ^ saved.keys()) or [
        name for name, p in parameters.items() if p.shape != saved[name].shape
    ]
    if wrong:
        raise BadInput(
            f"the checkpoint {path} does not fit policy {policy.id!r}: {wrong[0]} and "
            f"{len(wrong) - 1} more differ; "
            f"give the policy the same adapter (rank, targets) as the one that was saved"
        )
    with policy.base.lock, torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(placed(saved[name], parameter))
    policy.touched()


def placed(tensor: "Tensor", like: Any) -> "Tensor":
    """A whole tensor on the device of another, and split among processes as that one is."""
    moved = tensor.to(like.device)
    if not hasattr(like, "placements"):
        return moved
    from torch.distributed.tensor import distribute_tensor

    return distribute_tensor(moved, like.device_mesh, like.placements)


def open_policy(name: str) -> Policy:
    """A checkpoint as a policy on its base; policies on one base share it in memory.

    Raises:
        BadInput: it is none, or its base is not there or another one. MotetError: it is damaged.
    """
    need_torch()
    tensors, about = read_checkpoint(name)
    if about.made_by != "torch":
        raise BadInput(f"{name} is a policy of a {about.made_by} engine; torch: opens those of torch")
    base = _base(about.base_name)
    check_base(about, base.digest, name)
    make = whole(base, about.policy) if about.lora is None else adapted(base, about.policy, about.lora)
    restore(make, tensors, name)
    make.step = about.step
    return make


@lru_cache(maxsize=4)
def _base(name: str) -> Base:
    return load_base(name)


def address(base: Base) -> str:
    """The name by which the base is found again from anywhere."""
    return str(base.source.resolve()) if base.source and Path(base.name).exists() else base.name


def save_module(policy: Policy, folder: str | Path) -> None:
    """Write the policy as a model of its own: adapters are merged into the weights.

    Afterwards `torch:FOLDER` names it, and `transformers` reads it.
    """
    import torch

    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    with policy.active() as module, torch.no_grad():
        state = merged(module, policy.adapter)
        module.config.save_pretrained(target)
        if module.generation_config is not None:
            module.generation_config.save_pretrained(target)
        _save_state(state, target)
    policy.base.vocabulary.save(str(target))


def _save_state(state: dict[str, "Tensor"], folder: Path) -> None:
    from safetensors.torch import save_file

    seen: dict[int, str] = {}
    unique = {n: t.contiguous() for n, t in state.items() if seen.setdefault(t.data_ptr(), n) == n}
    save_file(unique, folder / "model.safetensors", {"format": "pt"})
    (folder / "model.safetensors.index.json").unlink(missing_ok=True)


def merged(module: Any, adapter: str | None) -> dict[str, "Tensor"]:
    """Weights of the module by their plain names, with one adapter added to them.

    Raises:
        BadInput: they are split among processes.
    """
    if hasattr(module, "reshard"):
        raise BadInput(
            "these weights are split among processes: save a checkpoint, and open it in one process"
        )
    state: dict[str, Any] = {}
    layers = dict(module.named_modules())
    for name, tensor in module.state_dict().items():
        if ".lora_" in name:
            continue
        plain = name.replace(".base_layer.", ".")
        if ".base_layer.weight" in name and adapter is not None:
            layer = layers[name.removesuffix(".base_layer.weight")]
            tensor = tensor + layer.get_delta_weight(adapter)
        state[plain] = tensor
    return state
