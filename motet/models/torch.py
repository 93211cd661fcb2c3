"""A model that can be trained: weights in this process, computed by torch.

Samples come from the model's plain distribution unless asked otherwise; ids and log-probabilities are always
recorded. In a conversation the model's earlier replies keep the ids they were sampled with: only what is new
is tokenised.
"""

import asyncio
import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence

from motet.errors import BadRequest, ContextOverflow, EmptyReply
from motet.models.local_tools import offered
from motet.models.torch_weights import Policy, load_base, need_torch
from motet.models.torch_words import Turn
from motet.models.turns import turns
from motet.tape.context import CALL
from motet.types import Message, Part, Reply, Sampling, Text, Tokens, ToolCall, Usage

DEFAULT_MAX_TOKENS = 256
KEPT_CHATS = 4096

_LOADING = threading.RLock()
_Chat = tuple[Turn, ...]


class Torch:
    """A model on weights that can be trained.

    Args:
        source: what follows `torch:` in the name (`motet.models.torch_weights`), or a policy of an engine.
        keep_empty: a reply without words is returned, and not raised as `EmptyReply`: to learn not to be
            silent, a model has to be shown its silence. Policies in training have it on.

    Raises:
        MissingExtra: torch or transformers is not installed.
    """

    def __init__(self, source: str | Policy, *, keep_empty: bool = False) -> None:
        need_torch()
        self._policy = source if isinstance(source, Policy) else None
        self.name = (
            f"torch:{source.base.name}#{source.id}" if isinstance(source, Policy) else f"torch:{source}"
        )
        self._keep_empty = keep_empty
        self._said: OrderedDict[_Chat, tuple[tuple[int, ...], tuple[int, ...]]] = OrderedDict()

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
        policy = self.policy
        return f"{self.name}@{policy.base.digest}" + (f"/{policy.digest}" if policy.id else "")

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Draw `n` replies. The prompt is computed once for all of them.

        A schema is put to the model in words; nothing holds it to them.

        Raises:
            ContextOverflow: it does not fit. BadRequest: media, or a tool that must be called.
            EmptyReply: nothing was said.
        """
        from motet.models.torch_batch import waves
        from motet.models.torch_sample import Request

        if sampling.tools and sampling.tool_choice not in ("auto", "none"):
            raise BadRequest(f"a torch model cannot be made to call {sampling.tool_choice!r}; use `local`")
        policy = await asyncio.to_thread(lambda: self.policy)
        chat = tuple((turn["role"], turn["content"]) for turn in turns(_told(messages, sampling), sampling))
        prompt = await asyncio.to_thread(self._prompt, chat)
        request = Request(prompt, self._seeds(n, sampling), sampling, self._room(prompt, sampling.max_tokens))
        version, drawn = await (await waves(policy.base)).draw(policy, request)
        context = CALL.get()
        if context and context.on_delta:
            context.on_delta(drawn[0].text)
        replies = []
        for number, one in enumerate(drawn):
            part = _part(one.text, sampling, f"{prompt}{request.seeds[number]}")
            if not one.text.strip() and not self._keep_empty:
                raise EmptyReply(f"{self.name} said nothing (stop: {one.stop}); ask again or otherwise")
            self._remember((*chat, ("assistant", one.text)), prompt, one.ids)
            replies.append(
                Reply(
                    message=Message("assistant", (part,)),
                    stop=one.stop,
                    usage=Usage(0 if number else len(prompt), len(one.ids), calls=1),
                    model=self.name,
                    version=version,
                    tokens=Tokens(policy.base.vocabulary.label, prompt, one.ids, one.logprobs),
                )
            )
        return replies

    def _prompt(self, chat: _Chat) -> tuple[int, ...]:
        """Ids of the chat, going on from the latest reply in it that was sampled here."""
        vocabulary = self.policy.base.vocabulary
        for known in range(len(chat), 0, -1):
            if chat[known - 1][0] == "assistant" and (said := self._said.get(chat[:known])):
                if ids := vocabulary.onward(chat, known, *said):
                    return ids
                break
        return vocabulary.prompt(chat)

    def _remember(self, chat: _Chat, prompt: tuple[int, ...], ids: tuple[int, ...]) -> None:
        self._said.setdefault(chat, (prompt, ids))
        if len(self._said) > KEPT_CHATS:
            self._said.popitem(last=False)

    def _room(self, prompt: tuple[int, ...], max_tokens: int | None) -> int:
        wanted, available = max_tokens or 1, self.policy.base.n_ctx
        if len(prompt) + wanted > available:
            raise ContextOverflow(
                f"the prompt has {len(prompt)} tokens and the reply wants {wanted}: {len(prompt) + wanted} "
                f"needed, {available} available; shorten the prompt or lower max_tokens"
            )
        return max_tokens or min(DEFAULT_MAX_TOKENS, available - len(prompt))

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


def _told(messages: Sequence[Message], sampling: Sampling) -> Sequence[Message]:
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
        from motet.models.torch_checkpoint import open_policy

        return open_policy(name)
    base = load_base(name)
    return Policy(base, base.module)


def _part(text: str, sampling: Sampling, seed: str) -> Part:
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
