"""Weights that can be trained: what `torch:` names mean, and who owns the tensors.

`torch:smollm2-135m` is made once from the embedded model's GGUF and kept beside it. `torch:FOLDER` is any
causal language model as `transformers` saves it, `torch:FILE.safetensors` a checkpoint of a policy
(`motet.train`), `torch:FILE.json` a configuration with random weights over bytes, `torch:tiny` one built in.
"""

import hashlib
import json
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, field
from functools import cached_property
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.errors import BadInput, MissingExtra, MotetError
from motet.models.trainable.tiny import END, PAD, VOCABULARY, Bytes, tiny_config, tiny_options
from motet.models.trainable.words import Vocabulary, Words
from motet.models.weights import WHEELS, cache_folder, resolve_weights

if TYPE_CHECKING:
    from torch import Tensor

    from motet.models.trainable.sample import Drawing, Request


@dataclass(eq=False)
class Base:
    """One set of weights in memory, and all that is needed to use it.

    Args:
        name: as after `torch:`.
        module: a causal language model of `transformers`, in evaluation mode.
        vocabulary: its tokenizer.
        source: where the weights were read from; None for those made from a configuration.
        lock: held while the module computes: which adapter is on is a property of the module.
        drawn: how many samples were drawn without a seed.
        draw: how several processes draw samples of a policy; None where one process is all there is.
        sharded: the weights are split among processes.
    """

    name: str
    module: Any
    vocabulary: Vocabulary
    source: Path | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)
    drawn: int = 0
    draw: "Callable[[Policy, Sequence[Request]], Drawing] | None" = None
    sharded: bool = False

    @property
    def n_ctx(self) -> int:
        """The most tokens of a prompt and its reply together."""
        return int(self.module.config.max_position_embeddings)

    @cached_property
    def digest(self) -> str:
        """Hash of the weights as they were read; 12 hexadecimal digits."""
        return _hash({n: p for n, p in self.module.named_parameters() if ".lora_" not in n})

    @property
    def device(self) -> Any:
        """Where the weights are."""
        return self.module.device


@dataclass(eq=False)
class Policy:
    """Weights by name: a base as it is, an adapter on it, or a module of its own.

    Args:
        id: name of the policy; empty for the base as it is.
        module: the base's own, or a copy that is trained as a whole.
        adapter: name of the LoRA adapter in `module`, or None.
        step: how many optimiser steps made it.
    """

    base: Base
    module: Any
    id: str = ""
    adapter: str | None = None
    step: int = 0
    _known: tuple[int, str] = (-1, "")

    @property
    def version(self) -> str:
        """The policy and its step; for an untrained base the hash of its weights."""
        return f"{self.id}@{self.step}" if self.id else self.base.digest

    @property
    def weights(self) -> str:
        """Hash of the base and of what is trained on it: equal weights have equal names."""
        return f"{self.base.digest}/{self.digest}" if self.id else self.base.digest

    @property
    def digest(self) -> str:
        """Hash of what is trained, computed once a step."""
        if not self.id:
            return self.base.digest
        if self._known[0] != self.step:
            self._known = self.step, _hash(self.parameters())
        return self._known[1]

    def touched(self) -> None:
        """The weights were replaced without a step."""
        self._known = -1, ""

    def parameters(self) -> dict[str, "Tensor"]:
        """What is trained, by names in which the policy's own does not occur."""
        if not self.id:
            return {}
        every = self.module.named_parameters()
        if self.adapter is None:
            return dict(every)
        mark = f".{self.adapter}."
        return {name.replace(mark, "."): p for name, p in every if mark in name and ".lora_" in name}

    @contextmanager
    def active(self) -> Iterator[Any]:
        """The module, set to compute this policy; nobody else uses it meanwhile."""
        with self.base.lock:
            if getattr(self.module, "_hf_peft_config_loaded", False):
                if self.adapter is None:
                    self.module.disable_adapters()
                else:
                    self.module.enable_adapters()
                    self.module.set_adapter(self.adapter)
            yield self.module


@contextmanager
def quiet() -> Iterator[None]:
    """No progress bars of `transformers` meanwhile."""
    import transformers

    logging: Any = transformers.utils.logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def gathered(tensor: "Tensor") -> "Tensor":
    """The whole of a tensor; where it is split among processes, all of them ask for it together."""
    whole: Tensor = tensor.full_tensor() if hasattr(tensor, "full_tensor") else tensor
    return whole


def _hash(tensors: dict[str, "Tensor"]) -> str:
    import torch

    digest = hashlib.blake2b(digest_size=6)
    for name, tensor in sorted(tensors.items()):
        digest.update(name.encode())
        digest.update(gathered(tensor.detach()).cpu().contiguous().view(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def need_torch() -> None:
    """Raises:
    MissingExtra: torch or transformers is not installed.
    """
    import importlib.util

    for package in ("torch", "transformers"):
        if importlib.util.find_spec(package) is None:
            raise MissingExtra(package, "train")


def load_base(name: str, dtype: str = "float32") -> Base:
    """Read the weights called `name` (what follows `torch:`).

    Args:
        dtype: what to compute in, as torch calls it; random weights are always of 32 bits.

    Raises:
        BadInput: there are no such weights. MissingExtra: torch or transformers is not installed.
        MotetError: the embedded model's weights could not be fetched.
    """
    need_torch()
    if name == "tiny" or name.startswith("tiny:"):
        options = tiny_options(name.partition(":")[2])
        return Base(name, random_module(tiny_config(options), options["seed"]), Bytes())
    if name in WHEELS:
        return _read(name, converted(name), WHEELS[name].vocabulary, dtype)
    path = Path(name).expanduser()
    if path.suffix == ".json" and path.is_file():
        return Base(name, random_module(_config(path), 0), Bytes(), path)
    if not (path / "config.json").is_file():
        raise BadInput(
            f"torch:{name}: expected {', '.join(WHEELS)}, tiny, a folder with config.json and safetensors, "
            f"a configuration (.json) or a checkpoint (.safetensors) that is there"
        )
    return _read(name, path, path.name.lower(), dtype)


def random_module(config: Any, seed: int) -> Any:
    """A module with random weights that depend on the seed alone."""
    import torch
    import transformers

    maker: Any = transformers.AutoModelForCausalLM
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return maker.from_config(config, dtype=torch.float32).eval()


_OF_BYTES = {"vocab_size": VOCABULARY, "bos_token_id": None, "eos_token_id": END, "pad_token_id": PAD}


def _config(path: Path) -> Any:
    from transformers import AutoConfig

    try:
        fields = json.loads(path.read_text())
        return AutoConfig.for_model(fields.pop("model_type"), **_OF_BYTES | fields)
    except (ValueError, KeyError, TypeError) as error:
        raise BadInput(f"{path} is no configuration of a model: {error!r}; it needs `model_type`") from error


def _read(name: str, folder: Path, label: str, dtype: str) -> Base:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    try:
        with quiet(), redirect_stderr(StringIO()):  # the reader of GGUF files has a bar of its own
            module: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=getattr(torch, dtype))
        module.eval()
        if module.config.vocab_size == VOCABULARY and not list(folder.glob("tokenizer*")):
            return Base(name, module, Bytes(), folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    except (OSError, ValueError) as error:
        raise BadInput(f"torch:{name}: {folder} holds no causal language model: {error}") from error
    ends = module.generation_config.eos_token_id if module.generation_config else None
    ends = frozenset([ends] if isinstance(ends, int) else ends or ())
    return Base(name, module, Words(tokenizer, label, ends), folder)


def converted(name: str) -> Path:
    """The folder with weights made from the GGUF called `local:NAME`; the first call takes half a minute.

    They are rounded to 16-bit floats, so that an F16 GGUF made of them is exactly these weights.
    """
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    folder = cache_folder() / f"{name}-torch"
    if (folder / "config.json").is_file():
        return folder
    weights = resolve_weights(f"local:{name}")
    scratch = Path(tempfile.mkdtemp(dir=folder.parent, prefix="convert-"))
    try:
        where: dict[str, Any] = {"gguf_file": weights.path.name}
        with quiet(), redirect_stderr(StringIO()):  # the reader of GGUF files has a bar of its own
            module: Any = AutoModelForCausalLM.from_pretrained(
                weights.path.parent, dtype=torch.float32, **where
            )
            # transformers takes a model read from a GGUF for a quantised one and would not save it.
            module.hf_quantizer, module.is_quantized = None, False
            module.config.__dict__.pop("quantization_config", None)
            module.half().save_pretrained(scratch)
        AutoTokenizer.from_pretrained(weights.path.parent, **where).save_pretrained(scratch)
        scratch.rename(folder)
    except OSError as error:
        if not (folder / "config.json").is_file():  # another process may have been quicker
            raise MotetError(f"cannot keep weights in {folder} ({error}); set MOTET_WEIGHTS") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return folder
