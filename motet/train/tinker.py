"""Policies on a Tinker server (Thinking Machines' hosted one, or a SkyRL server of one's own).

The server knows a few losses; Motet's are computed here. A pass forward brings the log-probabilities, the
loss is differentiated with respect to them here, and the result goes back as the advantages of the server's
`importance_sampling`, whose gradient at a ratio of 1 is Σ advantage · ∇ log p: the same, to rounding.
"""

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
import torch
from msgspec import Struct
from torch import Tensor

from motet.errors import BadInput, MissingExtra, MotetError, UnknownName
from motet.models.tinker import Tinker, derived, parameters, tokens_of
from motet.models.trainable.words import Vocabulary, Words
from motet.train.around import checked, metrics, pairs_in_order, rollouts_of, with_reference_point
from motet.train.batch import Batch, tensors
from motet.train.engine import REFERENCE, Adam
from motet.train.objective import Loss, kind_of, total, weights_of
from motet.train.rows import Row
from motet.types import Sampling, Tokens

if TYPE_CHECKING:
    from motet.models.protocol import Model

Sums = Literal["sum", "mean"]


class Saved(Struct, frozen=True, kw_only=True):
    """What a checkpoint file holds: where on the server the weights and the optimiser are."""

    path: str
    base: str
    policy: str
    step: int
    rank: int
    made_by: str = "tinker"


class _Policy:
    """A LoRA on the server, and whoever samples from it as it is."""

    def __init__(self, service: Any, base: str, name: str, rank: int, seed: int, words: Vocabulary) -> None:
        self.client = service.create_lora_training_client(base_model=base, rank=rank, seed=seed)
        self.name, self.vocabulary, self.step = name, words, 0
        self._sampler: tuple[int, Any] | None = None
        self._loaded = 0

    @property
    def version(self) -> str:
        """Changes with every step and every checkpoint that is taken over."""
        return f"{self.step}.{self._loaded}"

    def sampler(self) -> Any:
        """Samples from the weights as they are."""
        if self._sampler is None:
            name = f"{self.name}-{self.step}-{self._loaded}"
            self._sampler = self.step, self.client.save_weights_and_get_sampling_client(name=name)
        return self._sampler[1]

    def moved(self, step: int, *, loaded: bool = False) -> None:
        """The weights have changed."""
        self.step, self._sampler = step, None
        self._loaded += loaded

    async def draw(self, prompt: Sequence[int], n: int, sampling: Any) -> Any:
        import asyncio

        from tinker import types

        sampler = await asyncio.to_thread(self.sampler)
        given = types.ModelInput.from_ints(list(prompt))
        return (await sampler.sample_async(given, n, sampling)).sequences


class TinkerEngine:
    """The engine of a Tinker server; see `motet.train.engine.Engine` for what its methods promise.

    The reference is an adapter that is never trained. The server does not tell the norm of a gradient.

    Args:
        service: a `tinker.ServiceClient`, or what behaves as one.
        base: the server's name of the base model.
        policies: the rank of each policy's LoRA.
        gradient: how the server adds up; `mean` undoes an average over each sequence's tokens and sequences.
    """

    def __init__(
        self, service: Any, base: str, policies: Mapping[str, int], words: Vocabulary, gradient: Sums = "sum"
    ) -> None:
        self._base, self._gradient = base, gradient
        ranks = {**policies, REFERENCE: min(policies.values())}
        self._ranks = ranks
        self._held = {
            name: _Policy(service, base, name, rank, seed, words)
            for seed, (name, rank) in enumerate(ranks.items())
        }
        self._models = {name: Tinker(f"tinker:{base}#{name}", held) for name, held in self._held.items()}
        self._words, self._drawn = words, 0

    @property
    def policies(self) -> tuple[str, ...]:
        """Ids of the policies that can be trained."""
        return tuple(name for name in self._held if name != REFERENCE)

    def step(self, policy: str) -> int:
        """How many steps the policy has taken."""
        return self._known(policy).step

    def model(self, policy: str) -> "Model":
        """The policy as a model; `REFERENCE` is one too."""
        self._known(policy, REFERENCE)
        return self._models[policy]

    def forward_backward(self, policy: str, rows: Sequence[Row], loss: Loss) -> dict[str, float]:
        """Add the gradient of a loss over these rows to the policy's.

        Raises:
            BadInput: the loss reads entropies, which the server does not give.
        """
        held, kind = self._known(policy), kind_of(loss)
        if loss.needs_entropy:
            raise BadInput("a Tinker server gives no entropies: leave out `entropy` and `smoothing`")
        batch = checked(rows, loss, kind)
        if loss.name == "dpo":
            order = pairs_in_order(list(range(len(rows))), batch)
            rows, batch = [rows[i] for i in order], Batch(*(tensor[order] for tensor in batch))
        logp = self._scores(held, rows, batch).requires_grad_()
        if loss.name == "kto" and "reference" not in loss.options:
            loss = with_reference_point(loss, batch, logp.detach())
        weight = weights_of(batch, rollouts_of(rows), loss)
        value = total(batch, logp, None, weight[: len(rows) // 2] if loss.name == "dpo" else weight, loss)
        (slope,) = torch.autograd.grad(value, logp, allow_unused=True)
        push = torch.zeros_like(logp) if slope is None else -slope
        data = [self._datum(row, push[i], logp[i].detach(), len(rows)) for i, row in enumerate(rows)]
        held.client.forward_backward(data, "importance_sampling").result()
        return metrics(batch, logp.detach(), value.item(), loss, kind)

    def optim_step(self, policy: str, optimizer: Adam) -> dict[str, float]:
        """Take one step along the gradient and forget it."""
        from tinker import types

        held = self._known(policy)
        told = held.client.optim_step(
            types.AdamParams(
                learning_rate=optimizer.lr,
                beta1=optimizer.beta1,
                beta2=optimizer.beta2,
                eps=optimizer.eps,
                **_where_known(types.AdamParams, optimizer),
            )
        ).result()
        held.moved(held.step + 1)
        return {"step": float(held.step)} | {k: float(v) for k, v in (told.metrics or {}).items()}

    def sample(
        self, policy: str, prompts: Sequence[Sequence[int]], n: int, sampling: Sampling
    ) -> list[list[Tokens]]:
        """Draw `n` continuations of each prompt of ids."""
        from tinker import types

        held = self._known(policy, REFERENCE)
        if sampling.seed is None:
            self._drawn += 1
        seed = self._drawn if sampling.seed is None else sampling.seed
        asked = [
            held.sampler().sample(
                types.ModelInput.from_ints(list(prompt)),
                n,
                parameters(self._words, sampling, derived(seed, number)),
            )
            for number, prompt in enumerate(prompts)
        ]
        return [
            [tokens_of(self._words, prompt, one) for one in told.result().sequences]
            for prompt, told in zip(prompts, asked, strict=True)
        ]

    def logprobs(self, policy: str, rows: Sequence[Row]) -> list[tuple[float, ...]]:
        """The policy's log-probability of each id inside the mask of each row, NaN elsewhere."""
        held = self._known(policy, REFERENCE)
        if not rows:
            return []
        batch = tensors(rows)
        scored = self._scores(held, rows, batch).masked_fill(~batch.mask_B_T, nan)
        return [tuple(line[: len(row.ids)]) for line, row in zip(scored.tolist(), rows, strict=True)]

    def save(self, policy: str, path: str | Path) -> None:
        """Let the server keep all there is of the policy, and write down where."""
        held = self._known(policy)
        kept = held.client.save_state(f"{policy}-{held.version.replace('.', '-')}").result()
        saved = Saved(
            path=kept.path, base=self._base, policy=policy, step=held.step, rank=self._ranks[policy]
        )
        place = Path(path)
        beside = place.with_name(f".{place.name}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(msgspec.json.encode(saved))
            beside.replace(place)
        except OSError as error:
            raise MotetError(f"cannot write the checkpoint {place}: {error}") from error

    def load(self, policy: str, path: str | Path) -> None:
        """Make the policy what was saved."""
        held = self._known(policy)
        try:
            saved = msgspec.json.decode(Path(path).read_bytes(), type=Saved)
        except FileNotFoundError:
            raise BadInput(f"there is no checkpoint {str(path)!r}") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise MotetError(f"the checkpoint {path} is cut short or damaged: {error}") from error
        if (saved.base, saved.rank) != (self._base, self._ranks[policy]):
            raise BadInput(
                f"the checkpoint {path} is a LoRA of rank {saved.rank} on {saved.base!r}; policy {policy!r} "
                f"has rank {self._ranks[policy]} on {self._base!r}"
            )
        held.client.load_state_with_optimizer(saved.path).result()
        held.moved(saved.step, loaded=True)

    def _known(self, policy: str, *more: str) -> _Policy:
        if policy not in self.policies and policy not in more:
            raise UnknownName("policy", policy, self.policies)
        return self._held[policy]

    def _scores(self, held: _Policy, rows: Sequence[Row], batch: Batch) -> Tensor:
        """Log-probability at each id inside the mask, 0 elsewhere."""
        nothing = torch.zeros(batch.ids_B_T.shape[1], dtype=torch.float64)
        data = [self._datum(row, nothing, nothing, len(rows)) for row in rows]
        told = held.client.forward(data, "importance_sampling").result()
        logp = torch.zeros_like(batch.sampler_B_T)
        for i, (row, one) in enumerate(zip(rows, told.loss_fn_outputs, strict=True)):
            logp[i, 1 : len(row.ids)] = torch.tensor(one["logprobs"].data, dtype=torch.float64)
        return logp.masked_fill(~batch.mask_B_T, 0.0)

    def _datum(self, row: Row, push: Tensor, logp: Tensor, rows: int) -> Any:
        """A row as the server reads it: each entry belongs to the id that comes next."""
        from tinker import types

        size = len(row.ids)
        share = rows * (size - 1) if self._gradient == "mean" else 1
        return types.Datum(
            model_input=types.ModelInput.from_ints(list(row.ids[:-1])),
            loss_fn_inputs={
                "target_tokens": _data(row.ids[1:], "int64"),
                "logprobs": _data(logp[1:size].tolist(), "float32"),
                "advantages": _data((push[1:size] * share).tolist(), "float32"),
            },
        )


def _data(values: Sequence[float], dtype: Literal["int64", "float32"]) -> Any:
    from tinker import types

    return types.TensorData(data=list(values), dtype=dtype, shape=[len(values)])


def _where_known(kind: Any, optimizer: Adam) -> dict[str, float]:
    """What only later versions of the API can be told."""
    wanted = {"weight_decay": optimizer.weight_decay, "grad_clip_norm": optimizer.clip or 0.0}
    return {name: value for name, value in wanted.items() if name in kind.model_fields}


def tinker_engine(
    base: str,
    policies: Mapping[str, int] | Sequence[str] = ("policy",),
    *,
    url: str | None = None,
    api_key: str | None = None,
    tokenizer: Any = None,
    gradient: Sums = "sum",
) -> TinkerEngine:
    """An engine whose policies live on a Tinker server.

    Args:
        base: the base model, by its name there.
        policies: their ids, each with the rank of its LoRA; a list of ids gives each rank 8.
        url: of the server; the hosted one when left out.
        api_key: `TINKER_API_KEY` when left out.
        tokenizer: as `transformers` has it; that of `base` when left out.
        gradient: `sum` as the hosted server adds up, `mean` for SkyRL's JAX server.

    Raises:
        MissingExtra: tinker is not installed.
    """
    try:
        import tinker
    except ImportError:
        raise MissingExtra("tinker", "tinker") from None
    if tokenizer is None:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(base)
    given: dict[str, Any] = {"base_url": url} if url else {}
    given |= {"api_key": api_key} if api_key else {}
    ranks = policies if isinstance(policies, Mapping) else dict.fromkeys(policies, 8)
    words = Words(tokenizer, label=f"tinker:{base}")
    return TinkerEngine(tinker.ServiceClient(**given), base, ranks, words, gradient)
