"""A policy that a Tinker server holds, as a model: ids and log-probabilities are the server's own."""

import hashlib
from collections.abc import Sequence
from typing import Any, Protocol

from motet.errors import BadRequest, EmptyReply
from motet.models.trainable.model import part_of, told
from motet.models.trainable.words import Chats, Vocabulary
from motet.models.turns import turns
from motet.tape.context import CALL
from motet.types import Message, Reply, Sampling, StopReason, Tokens, Usage

DEFAULT_MAX_TOKENS = 256


class Weights(Protocol):
    """What a model asks of the policy that sings it."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    @property
    def version(self) -> str:
        """Changes with every step."""
        ...

    async def draw(self, prompt: Sequence[int], n: int, sampling: Any) -> Any:
        """`n` sequences of the server, sampled from the policy as it is."""
        ...


class Tinker:
    """A policy of a Tinker engine.

    Args:
        name: `tinker:BASE#POLICY`.
    """

    def __init__(self, name: str, weights: Weights) -> None:
        self.name, self._weights, self._chats = name, weights, Chats()

    @property
    def identity(self) -> str:
        """The name and the version: it changes with every step."""
        return f"{self.name}@{self._weights.version}"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Draw `n` replies. A schema is put to the model in words; nothing holds it to them.

        Raises:
            BadRequest: a tool that must be called. EmptyReply: nothing was sampled.
        """
        if sampling.tools and sampling.tool_choice not in ("auto", "none"):
            raise BadRequest(f"a Tinker model cannot be made to call {sampling.tool_choice!r}")
        words, version = self._weights.vocabulary, self._weights.version
        chat = tuple((turn["role"], turn["content"]) for turn in turns(told(messages, sampling), sampling))
        prompt = self._chats.prompt(words, chat)
        context = CALL.get()
        seed, first = (context.seed, context.index) if context else (0, 0)
        asked = parameters(words, sampling, derived(seed if sampling.seed is None else sampling.seed, first))
        drawn = await self._weights.draw(prompt, n, asked)
        replies = []
        for number, one in enumerate(drawn):
            tokens = tokens_of(words, prompt, one)
            text = words.decode(tokens.ids)
            if not tokens.ids:
                raise EmptyReply(f"{self.name} sampled nothing; ask again or otherwise")
            self._chats.remember((*chat, ("assistant", text)), prompt, tokens.ids)
            replies.append(
                Reply(
                    message=Message("assistant", (part_of(text, sampling, f"{prompt}{first + number}"),)),
                    stop=StopReason.LENGTH if one.stop_reason == "length" else StopReason.END,
                    usage=Usage(0 if number else len(prompt), len(tokens.ids), calls=1),
                    model=self.name,
                    version=version,
                    tokens=tokens,
                )
            )
        return replies


def derived(seed: int, index: int) -> int:
    """A seed that the server takes, for the sample `index` of a run."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{index}".encode(), digest_size=4).digest()) >> 1


def parameters(words: Vocabulary, sampling: Sampling, seed: int) -> Any:
    """What the server is asked for: the plain distribution unless something else is wanted."""
    from tinker import types

    stop: Any = list(sampling.stop) or sorted(words.ends)
    return types.SamplingParams(
        max_tokens=sampling.max_tokens or DEFAULT_MAX_TOKENS,
        seed=seed,
        stop=stop,
        temperature=1.0 if sampling.temperature is None else sampling.temperature,
        top_p=1.0 if sampling.top_p is None else sampling.top_p,
    )


def tokens_of(words: Vocabulary, prompt: Sequence[int], one: Any) -> Tokens:
    """A sequence of the server as ids with their log-probabilities."""
    return Tokens(words.label, tuple(prompt), tuple(one.tokens), tuple(one.logprobs or ()))
