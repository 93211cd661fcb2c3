"""A model that can be trained: weights in this process, computed by torch.

Samples come from the model's plain distribution unless asked otherwise; ids and log-probabilities are always
recorded. In a conversation the model's earlier replies keep the ids they were sampled with: only what is new
is tokenised.
"""

import asyncio
import hashlib
import json
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import msgspec

from motet.errors import BadRequest, ContextOverflow, EmptyReply
from motet.models.embedded.tools import offered
from motet.models.latent import Read, Thought, read
from motet.models.trainable.weights import Policy, load_base, need_torch
from motet.models.trainable.words import Chats, Turn
from motet.models.turns import turns
from motet.tape.context import CALL
from motet.types import Message, Part, Reply, Sampling, Text, Tokens, ToolCall, Usage

if TYPE_CHECKING:
    from motet.models.trainable.reuse import KvPool
    from motet.models.trainable.sample import Start

DEFAULT_MAX_TOKENS = 256

_LOADING = threading.RLock()


class Torch:
    """A model on weights that can be trained.

    Args:
        source: what follows `torch:` in the name (`trainable.weights`), or a policy of an engine.
        keep_empty: a reply without words is returned, and not raised as `EmptyReply`: to learn not to be
            silent, a model has to be shown its silence. Policies in training have it on.
        reuse: where keys and values of texts are kept that several prompts have in common. Replies are then
            close to the model's own, depend a little on what was asked before, and prompts cost less.

    Raises:
        MissingExtra: torch or transformers is not installed.
    """

    def __init__(
        self, source: str | Policy, *, keep_empty: bool = False, reuse: "KvPool | None" = None
    ) -> None:
        need_torch()
        self._policy = source if isinstance(source, Policy) else None
        weights = f"{source.base.name}#{source.id}" if isinstance(source, Policy) else source
        self.name = f"{'kvcomm' if reuse else 'torch'}:{weights}"
        self._keep_empty, self._reuse = keep_empty, reuse
        self._chats = Chats()

    @property
    def policy(self) -> Policy:
        """The weights; they are read when first asked for."""
        with _LOADING:
            if self._policy is None:
                self._policy = load_policy(self.name.partition(":")[2])
        return self._policy

    @property
    def identity(self) -> str:
        """The name, and a hash of base and trained weights: it changes with every step."""
        return f"{self.name}@{self.policy.weights}" + (f"+{self._reuse.name}" if self._reuse else "")

    @property
    def latent_space(self) -> str | None:
        """Hash of the weights, which alone can take over thoughts of each other (`motet.models.latent`).

        None for a model whose keys and values cannot be moved to other positions.
        """
        return self.policy.weights if self._turns else None

    @cached_property
    def _turns(self) -> bool:
        from motet.models.trainable.kv import can_turn

        with self.policy.active() as module:
            return can_turn(module)

    def spell(self, text: str) -> tuple[int, ...]:
        """The ids of a text, without a chat around it."""
        return self.policy.base.vocabulary.encode(text)

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Draw `n` replies. The prompt is computed once for all of them.

        A schema is put to the model in words; nothing holds it to them. Asked to `think`, it gives a reply
        without words, the same each time, that can be passed to whoever has the same weights.

        Raises:
            ContextOverflow: it does not fit. BadRequest: media, thoughts of other weights, or a tool that
            must be called. EmptyReply: nothing was said.
        """
        if sampling.tools and sampling.tool_choice not in ("auto", "none"):
            raise BadRequest(f"a torch model cannot be made to call {sampling.tool_choice!r}; use `local`")
        policy = await asyncio.to_thread(lambda: self.policy)
        latent = read(messages)
        if strange := [t.space for t in latent.before if t.space != policy.weights]:
            raise BadRequest(
                f"thoughts of {strange} mean nothing to {policy.weights}; hand over words instead"
            )
        chat = tuple((t["role"], t["content"]) for t in turns(told(latent.messages, sampling), sampling))
        prompt = await asyncio.to_thread(self._chats.prompt, policy.base.vocabulary, chat)
        if latent.steps is not None:
            return await self._think(prompt, latent, n)
        return await self._say(chat, prompt, latent.before, n, sampling)

    async def _say(
        self,
        chat: tuple[Turn, ...],
        prompt: tuple[int, ...],
        before: tuple[Thought, ...],
        n: int,
        sampling: Sampling,
    ) -> list[Reply]:
        """Draw `n` replies in words."""
        from motet.models.trainable.batch import waves
        from motet.models.trainable.sample import Request

        policy, known = self.policy, sum(t.length for t in before)
        room = self._room(known + len(prompt), sampling.max_tokens)
        start = self._start(prompt, before)
        request = Request(prompt, self._seeds(n, sampling), sampling, room, start=start)
        version, drawn = await (await waves(policy.base)).draw(policy, request)
        context = CALL.get()
        if context and context.on_delta:
            context.on_delta(drawn[0].text)
        read_in, saved = known + len(prompt), max(0, known + len(prompt) - start.computed) if start else 0
        replies = []
        for number, one in enumerate(drawn):
            part = part_of(one.text, sampling, f"{prompt}{request.seeds[number]}")
            if not one.text.strip() and not self._keep_empty:
                raise EmptyReply(f"{self.name} said nothing (stop: {one.stop}); ask again or otherwise")
            if not before:
                self._chats.remember((*chat, ("assistant", one.text)), prompt, one.ids)
            tokens = Tokens(policy.base.vocabulary.label, prompt, one.ids, one.logprobs)
            usage = Usage(0 if number else read_in, len(one.ids), 0 if number else saved, calls=1)
            replies.append(
                Reply(
                    message=Message("assistant", (part,)),
                    stop=one.stop,
                    usage=usage,
                    model=self.name,
                    version=version,
                    # A prompt that begins with thoughts has no ids, and so nothing to train on.
                    tokens=None if before else tokens,
                )
            )
        return replies

    async def _think(self, prompt: tuple[int, ...], latent: Read, n: int) -> list[Reply]:
        """One thought without words, `n` times over: chance has no part in it."""
        from motet.models.trainable.batch import compute
        from motet.models.trainable.latent import thinker

        policy, steps = self.policy, latent.steps or 0
        thought = Thought(policy.weights, prompt, steps, latent.before)
        self._room(thought.length, None)
        computed = await compute(policy, lambda module: thinker(policy.base).think(module, thought))
        read_in = thought.length - steps
        spent = Usage(read_in, steps, max(0, thought.length - computed), steps, calls=1)
        reply = Reply(
            message=Message("assistant", (thought.part(),)),
            usage=spent,
            model=self.name,
            version=policy.version,
        )
        return [reply, *[msgspec.structs.replace(reply, usage=Usage(calls=1))] * (n - 1)]

    def _start(self, prompt: tuple[int, ...], before: tuple[Thought, ...]) -> "Start | None":
        """Where samples begin when there are thoughts in front of them, or texts that are known already."""
        if before:
            from motet.models.trainable.latent import Remembering

            return Remembering(self.policy.base, before, prompt)
        return self._reuse.start(self.policy, prompt, self.spell) if self._reuse else None

    def _room(self, length: int, max_tokens: int | None) -> int:
        wanted, available = max_tokens or 1, self.policy.base.n_ctx
        if length + wanted > available:
            raise ContextOverflow(
                f"the prompt has {length} tokens and the reply wants {wanted}: {length + wanted} "
                f"needed, {available} available; shorten the prompt or lower max_tokens"
            )
        return max_tokens or min(DEFAULT_MAX_TOKENS, available - length)

    def _seeds(self, n: int, sampling: Sampling) -> tuple[int, ...]:
        """Seeds of the samples; those of a run follow from its seed and the sample's index."""
        context, seed, base = CALL.get(), sampling.seed, self.policy.base
        if context:
            seed, first = context.seed if seed is None else seed, context.index
        elif seed is not None:
            first = 0
        else:
            seed, first = 0, base.drawn
            base.drawn += n
        start = int.from_bytes(hashlib.blake2b(str(seed).encode(), digest_size=6).digest()) + first
        return tuple(range(start, start + n))


SCHEMA = "Answer with JSON alone, valid for this schema: {schema}"


def told(messages: Sequence[Message], sampling: Sampling) -> Sequence[Message]:
    """The messages, and in front of them what the reply must look like."""
    if sampling.schema is None:
        return messages
    return [Message.say("system", SCHEMA.format(schema=json.dumps(sampling.schema))), *messages]


def load_policy(name: str) -> Policy:
    """The weights called `name` (what follows `torch:`): a base as it is, or a checkpoint on its base.

    Raises:
        BadInput: there are no such weights.
    """
    if name.endswith(".safetensors"):
        from motet.models.trainable.checkpoint import open_policy

        return open_policy(name)
    base = load_base(name)
    return Policy(base, base.module)


def part_of(text: str, sampling: Sampling, seed: str) -> Part:
    """What was said: a call of an offered tool when it is valid JSON of one, words otherwise."""
    if sampling.tools and sampling.tool_choice != "none":
        try:
            said = json.loads(text)
            name, arguments = said["tool"], json.dumps(said["arguments"], ensure_ascii=False)
        except (ValueError, KeyError, TypeError):
            return Text(text)
        if name in {tool.name for tool in offered(sampling)}:
            return ToolCall(
                f"call_{hashlib.blake2b(seed.encode(), digest_size=6).hexdigest()}", name, arguments
            )
    return Text(text)
