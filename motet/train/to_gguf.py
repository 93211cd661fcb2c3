"""Weights on their way to the embedded engine: adapters and whole models as GGUF files.

Rollouts come several times faster from the embedded engine than from torch. On the 16-bit form of the very
weights that are trained (`rollout_weights`) its log-probabilities are within some thousandths of torch's.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.errors import BadInput, MissingExtra
from motet.models.embedded.adapter import BASE_NAME, OF_BASE
from motet.models.trainable.checkpoint import address, merged
from motet.models.trainable.weights import Base, Policy, load_base
from motet.models.weights import WHEELS, cache_folder, resolve_weights

if TYPE_CHECKING:
    import numpy as np

ROTATED = ("llama", "mistral")
"""Model types whose rotary halves llama.cpp keeps interleaved: rows of q and k change places."""
ARCHITECTURES = {"llama": "llama", "mistral": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
"""What llama.cpp calls the types of `transformers`."""


def adapter_gguf(policy: Policy, file: str | Path) -> Path:
    """Write a policy's LoRA adapter as a GGUF file, in 32-bit floats, for the engine that runs its base.

    Raises:
        BadInput: the policy has no adapter, or its base is of a type that is not known here.
    """
    if policy.adapter is None:
        raise BadInput(
            f"policy {policy.id!r} has weights of its own and no adapter; write it with model_gguf"
        )
    gguf, target = _library(), Path(file)
    architecture, names = _names(policy.base)
    config = policy.module.peft_config[policy.adapter]
    writer = gguf.GGUFWriter(_fresh(target), architecture)
    writer.add_string(OF_BASE, policy.base.digest)
    writer.add_string(BASE_NAME, address(policy.base))
    writer.add_string("general.type", "adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", float(config.lora_alpha))
    for name, parameter in policy.parameters().items():
        layer, _, half = name.removesuffix(".weight").rpartition(".lora_")
        rows = parameter.detach().float().cpu().numpy()
        if half == "B":
            rows = _rotated(rows, layer, policy.base)
        writer.add_tensor(f"{_name(names, layer)}.weight.lora_{half.lower()}", rows.copy())
    return _written(writer, target)


def model_gguf(policy: Policy, file: str | Path, like: str | Path) -> Path:
    """Write a policy with its base as one 16-bit GGUF file; adapters are merged.

    Args:
        like: a GGUF file of the same base, from which the vocabulary and the settings are taken.

    Raises:
        BadInput: the base is of a type that is not known here, or `like` is of another.
    """
    import numpy as np

    gguf, target = _library(), Path(file)
    architecture, names = _names(policy.base)
    reader = gguf.GGUFReader(like)
    if (found := reader.fields["general.architecture"].contents()) != architecture:
        raise BadInput(f"{like} is a model of type {found!r}, the policy's base is {architecture!r}")
    writer = gguf.GGUFWriter(_fresh(target), architecture)
    # In front of the vocabulary, where it is found without reading that.
    writer.add_string(OF_BASE, f"{policy.base.digest}/{policy.digest}" if policy.id else policy.base.digest)
    for field in reader.fields.values():
        if not field.name.startswith("GGUF.") and field.name not in _OWN:
            inner = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(field.name, field.contents(), field.types[0], sub_type=inner)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    with policy.active() as module:
        state = merged(module, policy.adapter)
    tied = policy.base.module.config.tie_word_embeddings
    for name, tensor in state.items():
        layer = name.removesuffix(".weight")
        if layer == "lm_head" and tied:
            continue
        rows = _rotated(tensor.detach().float().cpu().numpy(), layer, policy.base)
        writer.add_tensor(
            f"{_name(names, layer)}.weight", rows.astype(np.float16) if rows.ndim > 1 else rows.copy()
        )
    return _written(writer, target)


_OWN = (OF_BASE, "general.architecture", "general.file_type", "general.quantization_version")


def rollout_weights(name: str = "smollm2-135m", policy: Policy | None = None) -> Path:
    """The 16-bit GGUF of `torch:NAME`, for `local:FILE.gguf`; made once and kept in the cache.

    Args:
        policy: merge this policy into it; then it is made each time, in the cache, by the policy's version.

    Raises:
        BadInput: `name` is not one of the weights that come by name.
    """
    if name not in WHEELS:
        raise BadInput(f"{name!r} does not come as a GGUF; use model_gguf with one of the same base")
    like = resolve_weights(f"local:{name}").path
    if policy is not None:
        return model_gguf(policy, cache_folder() / f"{name}-{policy.version}.f16.gguf", like)
    file = cache_folder() / f"{name}.f16.gguf"
    if not file.is_file():
        base = load_base(name)
        model_gguf(Policy(base, base.module), file, like)
    return file


def _fresh(target: Path) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    return target.with_name(f".{target.name}.part")


def _written(writer: Any, target: Path) -> Path:
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return _fresh(target).replace(target)


def _names(base: Base) -> tuple[str, Any]:
    """What llama.cpp calls the base, and its names for the layers."""
    gguf, config = _library(), base.module.config
    if config.model_type not in ARCHITECTURES:
        raise BadInput(f"no GGUF for models of type {config.model_type!r}; known: {', '.join(ARCHITECTURES)}")
    architecture = ARCHITECTURES[config.model_type]
    number = next(key for key, value in gguf.MODEL_ARCH_NAMES.items() if value == architecture)
    return architecture, gguf.get_tensor_name_map(number, config.num_hidden_layers)


def _name(names: Any, layer: str) -> str:
    found = names.get_name(layer)
    if found is None:
        raise BadInput(f"llama.cpp has no name for the layer {layer!r}")
    return str(found)


def _rotated(rows: "np.ndarray[Any, Any]", layer: str, base: Base) -> "np.ndarray[Any, Any]":
    """Rows of q and k in llama.cpp's order; all others as they are."""
    config = base.module.config
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    count = heads.get(layer.rpartition(".")[2])
    if count is None or config.model_type not in ROTATED:
        return rows
    return rows.reshape(count, 2, -1, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _library() -> Any:
    try:
        import gguf
    except ImportError:
        raise MissingExtra("gguf", "train") from None
    return gguf
