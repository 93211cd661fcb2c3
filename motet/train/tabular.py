"""A policy as a table: logits for every context that was met, 0 until trained, in 64-bit numbers.

It is an engine like any other, and small enough for tests in which the right answer is known.
"""

import hashlib
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

import torch
from torch import Tensor

from motet.errors import BadInput
from motet.losses import entropy as entropy_of
from motet.models.trainable.checkpoint import WEIGHT, About
from motet.tape.context import CALL
from motet.train.batch import Batch
from motet.train.engine import REFERENCE
from motet.train.gradient import GradientEngine
from motet.types import Message, Reply, Sampling, StopReason, Tokens, Usage

Context = tuple[int, ...]


class Table:
    """Logits over a few words for every context; see `motet.train.gradient.Body`.

    An id is the place of a word; what is no reply of the policy's own is one id, a hash of its text.
    """

    def __init__(self, words: Sequence[str], policies: Sequence[str], end: str | None = None) -> None:
        self.words, self.policies, self.end = tuple(words), tuple(policies), end
        self._tables: dict[str, dict[Context, Tensor]] = {name: {} for name in policies}
        self._steps = dict.fromkeys(policies, 0)
        self._digests: dict[str, str] = {}
        self.drawn = 0

    @property
    def lock(self) -> AbstractContextManager[object]:
        return nullcontext()  # a table is used from one thread

    def about(self, policy: str) -> About:
        base = hashlib.blake2b("\n".join(self.words).encode(), digest_size=6).hexdigest()
        return About(
            policy=policy,
            step=self._steps[policy],
            base=base,
            base_name=f"a table of {len(self.words)} words",
            drawn=self.drawn,
            made_by="tabular",
        )

    def step(self, policy: str) -> int:
        return self._steps.get(policy, 0)

    def stepped(self, policy: str, step: int) -> None:
        self._steps[policy] = step
        self._digests.pop(policy, None)

    def digest(self, policy: str) -> str:
        """Hash of the logits, found once a step."""
        if policy not in self._digests:
            rows = sorted((k, v.tolist()) for k, v in self.parameters(policy).items() if v.any())
            self._digests[policy] = hashlib.blake2b(repr(rows).encode(), digest_size=6).hexdigest()
        return self._digests[policy]

    def model(self, policy: str) -> "TableModel":
        return TableModel(self, policy)

    def parameters(self, policy: str) -> dict[str, Tensor]:
        return {",".join(map(str, context)): row for context, row in self._tables[policy].items()}

    def logits(self, policy: str, context: Context, *, keep: bool = False) -> Tensor:
        """The logits in a context; with `keep` they become a parameter of the policy."""
        table = self._tables.get(policy, {})
        if context not in table:
            fresh = torch.zeros(len(self.words), dtype=torch.float64, requires_grad=keep)
            if not keep:
                return fresh
            table[context] = fresh
        return table[context]

    def score(self, policy: str, batch: Batch, entropy: bool) -> tuple[Tensor, Tensor | None]:
        logp, spread = torch.zeros_like(batch.sampler_B_T), torch.zeros_like(batch.sampler_B_T)
        for b, t in batch.mask_B_T.nonzero().tolist():
            *context, token = batch.ids_B_T[b, : t + 1].tolist()
            logits = self.logits(policy, tuple(context), keep=policy != REFERENCE and torch.is_grad_enabled())
            logp[b, t] = logits.log_softmax(-1)[token]
            if entropy:
                spread[b, t] = entropy_of(logits)
        return logp, spread if entropy else None

    def sample(
        self, policy: str, prompts: Sequence[Sequence[int]], n: int, sampling: Sampling
    ) -> list[list[Tokens]]:
        first = 0
        if sampling.seed is None:
            first, self.drawn = self.drawn, self.drawn + n
        return [
            [self._draw(policy, tuple(prompt), sampling, first + i) for i in range(n)] for prompt in prompts
        ]

    def _draw(self, policy: str, prompt: Context, sampling: Sampling, number: int) -> Tokens:
        name = repr((sampling.seed, number, prompt)).encode()
        seed = int.from_bytes(hashlib.blake2b(name, digest_size=7).digest())
        generator = torch.Generator().manual_seed(seed)
        ids: Context = ()
        logprobs: list[float] = []
        while len(ids) < (sampling.max_tokens or 1):
            with torch.no_grad():
                logits = self.logits(policy, prompt + ids)
                heat = 1.0 if sampling.temperature is None else sampling.temperature
                shaped = (logits / heat).softmax(-1) if heat else (logits == logits.max()).double()
                token = int(torch.multinomial(shaped, 1, generator=generator))
                logprobs.append(logits.log_softmax(-1)[token].item())
            ids = (*ids, token)
            if self.words[token] == self.end:
                break
        return Tokens("table", prompt, ids, tuple(logprobs))

    def restore(self, policy: str, saved: dict[str, Tensor], about: About, path: str | Path) -> None:
        if about.made_by != "tabular":
            raise BadInput(f"the checkpoint {path} is of a {about.made_by} engine, this one has tables")
        rows = {k.removeprefix(WEIGHT): t for k, t in saved.items() if k.startswith(WEIGHT)}
        self._tables[policy] = {
            tuple(map(int, name.split(","))): row.clone().requires_grad_() for name, row in rows.items()
        }
        self.drawn = about.drawn

    def share(self, policy: str, batches: list[list[int]]) -> list[list[int]]:
        return batches

    def add_up(self, tensor: Tensor) -> Tensor:
        return tensor

    def encode(self, messages: Sequence[Message]) -> Context:
        """Ids of a chat: a reply made of known words is those words, anything else is one id."""
        ids: list[int] = []
        for message in messages:
            spoken = message.text.split()
            if message.role == "assistant" and spoken and all(word in self.words for word in spoken):
                ids += [self.words.index(word) for word in spoken]
            else:
                text = f"{message.role}\n{message.text}".encode()
                ids.append(len(self.words) + int.from_bytes(hashlib.blake2b(text, digest_size=6).digest()))
        return tuple(ids)


class TableModel:
    """A policy in a table as a model that voices can be cast with. It says one word unless asked for more."""

    def __init__(self, table: Table, policy: str) -> None:
        self._table, self._policy = table, policy
        self.name = f"table#{policy}"

    @property
    def identity(self) -> str:
        """The name and the logits."""
        return f"{self.name}@{self._table.digest(self._policy)}"

    def spell(self, text: str) -> tuple[int, ...]:
        """The ids of a text of known words; none for any other."""
        words, said = self._table.words, text.split()
        return tuple(words.index(word) for word in said) if set(said) <= set(words) else ()

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Draw `n` replies."""
        table, context = self._table, CALL.get()
        prompt, wanted = table.encode(messages), sampling
        if context and sampling.seed is None:
            wanted = sampling.but(seed=context.seed * 1_000_003 + context.index)
        replies = []
        for number, tokens in enumerate(table.sample(self._policy, [prompt], n, wanted)[0]):
            said = [table.words[i] for i in tokens.ids]
            ended = bool(said) and said[-1] == table.end
            replies.append(
                Reply(
                    message=Message.say("assistant", " ".join(said[:-1] if ended else said)),
                    stop=StopReason.END if ended else StopReason.LENGTH,
                    usage=Usage(0 if number else len(prompt), len(tokens.ids), calls=1),
                    model=self.name,
                    version=f"{self._policy}@{table.step(self._policy)}",
                    tokens=tokens,
                    cost=0.0,
                )
            )
        return replies


def tabular_engine(
    words: Sequence[str], policies: Sequence[str] = ("policy",), *, end: str | None = None
) -> GradientEngine:
    """An engine whose policies are tables.

    Args:
        words: all that can be said; a reply is words with spaces between them.
        policies: their ids.
        end: the word that ends a reply.
    """
    return GradientEngine(Table(words, policies, end))
