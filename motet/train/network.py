"""Policies on a language model: one LoRA adapter each on shared weights, or weights of their own.

Of several processes (`motet.train.processes`), each computes its share of samples and micro-batches; their
gradients add up to those of one process, since each token's weight is known before the batch is dealt out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from motet.errors import BadInput, ContextOverflow
from motet.losses import entropy as entropy_of
from motet.models.trainable.adapters import Lora, adapted, whole
from motet.models.trainable.batch import drawn
from motet.models.trainable.checkpoint import About, address, restore
from motet.models.trainable.model import Torch
from motet.models.trainable.sample import Drawing, Request, generate
from motet.models.trainable.weights import Base, Policy, load_base
from motet.train.batch import Batch
from motet.train.engine import REFERENCE
from motet.train.gradient import GradientEngine
from motet.train.processes import Processes, Together, processes
from motet.train.tree import arguments, fits, grow
from motet.types import Sampling, Tokens


class Network:
    """Policies on one base; see `motet.train.gradient.Body`.

    Args:
        policies: the shape of each policy's adapter; None trains weights of its own.
        among: the processes that all have this network; None when there is one.
    """

    def __init__(
        self, base: Base, policies: Mapping[str, Lora | None], among: Processes | None = None
    ) -> None:
        base.module.requires_grad_(False)
        self.base = base
        order = sorted(policies.items(), key=lambda item: item[1] is not None)  # copies before adapters
        made = {
            name: whole(base, name) if lora is None else adapted(base, name, lora) for name, lora in order
        }
        self._policies = {name: made[name] for name in policies}
        self._lora = dict(policies)
        self._reference = Policy(base, base.module)
        self._models = {name: Torch(policy, keep_empty=True) for name, policy in self._policies.items()}
        self._models[REFERENCE] = Torch(self._reference, keep_empty=True)
        self._among = among
        if among and among.sharded:
            self._shard(among)

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(self._policies)

    @property
    def lock(self) -> AbstractContextManager[object]:
        return self.base.lock

    def policy(self, name: str) -> Policy:
        """The weights of a policy, or of the reference."""
        return self._reference if name == REFERENCE else self._policies[name]

    def about(self, policy: str) -> About:
        return About(
            policy=policy,
            step=self.step(policy),
            base=self.base.digest,
            base_name=address(self.base),
            lora=self._lora[policy],
            drawn=self.base.drawn,
        )

    def step(self, policy: str) -> int:
        return self.policy(policy).step

    def stepped(self, policy: str, step: int) -> None:
        mine = self._policies[policy]
        mine.step = step
        if self.base.sharded:
            _ = mine.digest  # while all processes are here: alone, none of them can know it

    def model(self, policy: str) -> Torch:
        return self._models[policy]

    def parameters(self, policy: str) -> dict[str, Tensor]:
        return self._policies[policy].parameters()

    def score(self, policy: str, batch: Batch, entropy: bool) -> tuple[Tensor, Tensor | None]:
        # A token is scored by the logits before it; causal attention never sees the padding behind.
        row, at = batch.mask_B_T.nonzero(as_tuple=True)
        logp, spread = torch.zeros_like(batch.sampler_B_T), torch.zeros_like(batch.sampler_B_T)
        with self.policy(policy).active() as module:
            tree = grow(batch) if len(at) and fits(module.config) else None
            if tree is not None:
                given, places = (
                    arguments(tree, module.device),
                    (torch.zeros_like(tree.scorer_M), tree.scorer_M),
                )
            else:
                given = {"input_ids": batch.ids_B_T[:, : int(at.max()) if len(at) else 1].to(module.device)}
                places = row, at - 1
            with _only(module, *places):
                logits_N_V = module(**given, use_cache=False).logits[0].float()
        token_N = batch.ids_B_T[row, at].to(logits_N_V.device)
        chosen = logits_N_V.gather(1, token_N[:, None])[:, 0] - logits_N_V.logsumexp(-1)
        logp = logp.index_put((row, at), chosen.double().cpu())
        if entropy:
            spread = spread.index_put((row, at), entropy_of(logits_N_V).double().cpu())
        return logp, spread if entropy else None

    def sample(
        self, policy: str, prompts: Sequence[Sequence[int]], n: int, sampling: Sampling
    ) -> list[list[Tokens]]:
        first, most = sampling.seed or 0, sampling.max_tokens or 256
        if sampling.seed is None:
            first, self.base.drawn = self.base.drawn, self.base.drawn + n
        if (longest := max(map(len, prompts), default=0) + most) > self.base.n_ctx:
            raise ContextOverflow(f"prompt and reply need {longest} tokens, {self.base.n_ctx} available")
        requests = [Request(tuple(p), tuple(range(first, first + n)), sampling, most) for p in prompts]
        words = self.base.vocabulary
        _, groups = drawn(self.policy(policy), requests)
        return [
            [Tokens(words.label, request.prompt, one.ids, one.logprobs) for one in group]
            for request, group in zip(requests, groups, strict=True)
        ]

    def draw(self, policy: str, requests: Sequence[Request]) -> Drawing:
        """Draw this process's share of the samples; all of them are known in all processes."""
        assert self._among
        mine, among = self.policy(policy), self._among
        with mine.active() as module, among.in_step(module):
            groups = generate(module, self.base.vocabulary, among.dealt(requests))
        parts = among.gather(groups)
        return mine.version, [[one for part in parts for one in part[i]] for i in range(len(requests))]

    def restore(self, policy: str, saved: dict[str, Tensor], about: About, path: str | Path) -> None:
        mine = self._policies[policy]
        if about.made_by != "torch":
            raise BadInput(f"the checkpoint {path} is of a {about.made_by} engine, this one has weights")
        if about.lora != self._lora[policy] and (about.lora is None) != (mine.adapter is None):
            raise BadInput(
                f"the checkpoint {path} is {about.lora or 'a whole model'!r}, and policy {policy!r} is "
                f"{self._lora[policy] or 'a whole model'!r}; make the policy as the one that was saved"
            )
        restore(mine, saved, path)
        self.base.drawn = about.drawn

    def share(self, policy: str, batches: list[list[int]]) -> Iterable[list[int]]:
        if not (among := self._among):
            yield from batches
            return
        mine = batches[among.index :: among.count]
        yield from mine
        if among.sharded and len(mine) * among.count < len(batches):
            with self.policy(policy).active() as module:
                among.idle(module)

    def add_up(self, tensor: Tensor) -> Tensor:
        return self._among.add_up(tensor) if self._among else tensor

    def _shard(self, among: Processes) -> None:
        for module in {id(p.module): p.module for p in (self._reference, *self._policies.values())}.values():
            among.shard(module)
            module.to(among.device)
        self.base.sharded = True
        for policy in self._policies.values():
            _ = policy.digest


@contextmanager
def _only(module: Any, row: Tensor, at: Tensor) -> Iterator[None]:
    """Logits at these places only, in one row: the output layer is shown nothing else.

    The rest of the module's own way from hidden states to logits (scaling, soft caps) stays as it is.
    """

    def select(_: Any, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        hidden = args[0]
        return (hidden[row.to(hidden.device), at.to(hidden.device)][None],)

    handle = module.get_output_embeddings().register_forward_pre_hook(select)
    try:
        yield
    finally:
        handle.remove()


def torch_engine(
    base: str | Base,
    policies: Mapping[str, Lora | None] | Sequence[str] = ("policy",),
    *,
    device: str | None = None,
    dtype: str = "float32",
    micro_tokens: int = 2048,
) -> GradientEngine:
    """An engine whose policies are language models.

    On several GPUs or machines, start the script, or `motet train FILE.py`, by the launcher of accelerate:

        accelerate launch --num_processes 4 --multi_gpu --no_python motet train FILE.py
        accelerate launch --num_processes 4 --use_fsdp --fsdp_version 2 --no_python motet train FILE.py

    Process 0 goes on from here, and the others work for it (`motet.train.processes`). With FSDP the layers of
    base and policies are split among them, adapters are not; each process still reads all weights into main
    memory. Results and checkpoints are those of one process.

    Args:
        base: what follows `torch:` in a model's name, or weights already read.
        policies: their ids, each with the shape of its adapter; None trains a copy of all weights. A list
            of ids gives each a LoRA of rank 8.
        device: where to compute; a GPU when there is one. Several processes compute where the launcher
            says. dtype: what in.
        micro_tokens: padded tokens that are computed at once; bounds the memory, changes no result.

    Raises:
        BadInput: no such weights, or FSDP other than version 2. MissingExtra: torch, transformers, peft or
            accelerate is not installed.
    """
    shapes = dict(policies) if isinstance(policies, Mapping) else dict.fromkeys(policies, Lora())
    among = processes()
    if among is None:
        found = base if isinstance(base, Base) else load_base(base.removeprefix("torch:"), dtype)
        found.module.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        return GradientEngine(Network(found, shapes), micro_tokens)
    if among.index:
        among.follow()
    # Weights that were read already are read again: what is in this process's memory is not in the others'.
    if isinstance(base, Base):
        dtype = str(base.module.dtype).removeprefix("torch.")
    name = address(base) if isinstance(base, Base) else base.removeprefix("torch:")
    return among.call(_made, name, shapes, dtype, micro_tokens)


def _made(name: str, shapes: dict[str, Lora | None], dtype: str, micro_tokens: int) -> GradientEngine:
    """This process's part of an engine."""
    among, base = processes(), load_base(name, dtype)
    assert among
    if not among.sharded:
        base.module.to(among.device)
    network = Network(base, shapes, among)
    engine = Together(network, micro_tokens, among)
    base.draw = engine.draw
    return engine
