"""The embedded model: a language model inside this process, with no server, key or network.

`local` is SmolLM2-135M-Instruct (Q4_1, 98 MB, Apache-2.0, fetched once). **It is for smoke tests, demos and
training, and no capable agent.** Of 30 small items, greedy, it gets 16 right: sentiment 5 of 5, JSON
extraction 4 of 5, sums of one digit 3 of 5 and of two digits 1 of 5, yes or no 2 of 5 (nearly always "no"),
one-word answers 1 of 5; it picks the right tool in 3 of 8 cases. A schema makes its JSON valid, not true, and
a schema that forces a bare number makes it worse. Real work takes `local:FILE.gguf`,
`local:hf:OWNER/NAME/FILE.gguf` or an endpoint.

Samples are drawn at temperature 0.7, unless asked otherwise, and nothing is cut off: for the model's plain
distribution, as training on its samples wants it, say `temperature=1`. Sampled ids and their
log-probabilities are always recorded. Seeds make runs repeat as far as the engine's arithmetic does, which
differs a little between batch shapes: for an exact replay, read the tape.
"""

import asyncio
import hashlib
import importlib.util
import json
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from motet.errors import BadRequest, EmptyReply, MissingExtra
from motet.models.embedded.adapter import Adapter, parted, refuse_adapter, resolve_adapter
from motet.models.embedded.batch import Ask, Drawn, batcher
from motet.models.embedded.llama import Choice, Llama
from motet.models.embedded.pool import leased
from motet.models.embedded.tools import call_schema, strict
from motet.models.turns import turns
from motet.models.weights import WHEELS, Weights, resolve_weights, source_of
from motet.tape.context import CALL
from motet.types import (
    Message,
    Part,
    Reply,
    Sampling,
    StopReason,
    Text,
    Tokens,
    ToolCall,
    Usage,
)

TEMPERATURE = 0.7
"""At 1, every second reply of so small a model wanders off."""

_STOPS = {"eos": StopReason.END, "limit": StopReason.LENGTH, "word": StopReason.STOP}


class Local:
    """A model that runs in this process.

    Instances with the same weights and size share one engine, which starts at the first sample (half a
    second) and stops at exit. Asks in flight at the same time are sampled together (`embedded.batch`).

    Args:
        name: `local`, `local:NAME`, `local:FILE.gguf` or `local:hf:OWNER/NAME/FILE.gguf`; any of the last
            three with `+ADAPTER.gguf` behind it for a LoRA adapter on those weights.
        n_ctx: the most tokens of a prompt and its reply together.
        slots: how many samples are drawn side by side; each takes the memory of `n_ctx` tokens
            (94 MB at 4096 for the default weights). Left out, they follow the load: 4, or 8 when more
            than four samples are wanted at once.

    Raises:
        BadInput: `name` is no such name. MissingExtra: xllamacpp is not installed.
    """

    def __init__(self, name: str = "local", *, n_ctx: int = 4096, slots: int | None = None) -> None:
        self._base, self._file = parted(name)
        self._source = source_of(self._base)
        if importlib.util.find_spec("xllamacpp") is None:
            raise MissingExtra("xllamacpp", "local")
        self.name, self._n_ctx, self._slots = name, n_ctx, slots

    @property
    def identity(self) -> str:
        """The name and the beginning of the weights' sha256; of the adapter's too, if there is one."""
        wheel = WHEELS.get(self._source)
        sha256 = wheel.sha256 if wheel and not self._file else self._weights.sha256
        return f"{self.name}@{sha256[:12]}{self._adapted}"

    @cached_property
    def _weights(self) -> Weights:
        found = resolve_weights(self._base)
        return found if self._source in WHEELS else refuse_adapter(self._base, found)

    @cached_property
    def _adapter(self) -> Adapter | None:
        return resolve_adapter(self._base, self._file, self._weights) if self._file else None

    @property
    def _adapted(self) -> str:
        return f"+{self._adapter.sha256[:12]}" if self._adapter else ""

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Draw `n` replies.

        A tool call is always valid JSON for its tool's schema, and the text of a reply to a schema is
        valid for it, unless the reply ends early (`StopReason.LENGTH`).

        Raises:
            ContextOverflow: it does not fit. BadRequest: media, or a schema that the engine does not know.
            EmptyReply: nothing was said. MotetError: the weights could not be fetched.
        """
        wanted = _schema(sampling)
        if not self.__dict__.keys() >= {"_weights", "_adapter"}:
            await asyncio.to_thread(lambda: (self._weights, self._adapter))
        context = CALL.get()
        listener = context.on_delta if context else None
        ask = Ask(
            json.dumps(turns(messages, sampling)), json.dumps(_options(sampling, wanted)), sampling.max_tokens
        )
        adapter = self._adapter.path if self._adapter else None
        async with leased(self._weights.path, self._n_ctx, self._slots, n, adapter) as engine:
            seeds = _seeds(n, sampling, engine)
            drawn = await (await batcher(engine)).draw(ask, seeds, None if wanted else listener)
        replies = [self._reply(drawn, i, sampling, seed) for i, seed in enumerate(seeds)]
        if wanted and listener and replies[0].text:
            listener(replies[0].text)
        return replies

    def _reply(self, drawn: Drawn, number: int, sampling: Sampling, seed: int) -> Reply:
        choice, prompt = drawn.choices[number], drawn.prompt
        part = _part(choice, sampling, prompt, seed)
        usage = Usage(output_tokens=len(choice.ids), calls=1)
        if number == 0:
            usage += Usage(input_tokens=len(prompt), cached_tokens=choice.cached)
        return Reply(
            message=Message("assistant", (part,)),
            stop=StopReason.TOOL_CALLS if isinstance(part, ToolCall) else _STOPS[choice.stop],
            usage=usage,
            model=self.name,
            version=f"{self._weights.sha256[:12]}{self._adapted}",
            tokens=Tokens(self._weights.label, prompt, choice.ids, choice.logprobs),
            cost=0.0,
        )


def _seeds(n: int, sampling: Sampling, engine: Llama) -> range:
    """Seeds of the samples: those of one request are consecutive, so that asking again goes on counting."""
    context, seed = CALL.get(), sampling.seed
    if context:
        seed, first = context.seed if seed is None else seed, context.index
    elif seed is not None:
        first = 0
    else:
        seed, first = 0, engine.drawn
        engine.drawn += n
    start = int.from_bytes(hashlib.blake2b(str(seed).encode(), digest_size=4).digest()) // 2 + first
    return range(start, start + n)


def _schema(sampling: Sampling) -> dict[str, Any] | None:
    """The JSON schema of what is to be sampled, or None for plain words."""
    if sampling.tools and sampling.tool_choice != "none":
        return call_schema(sampling)
    return None if sampling.schema is None else strict(sampling.schema)


def _options(sampling: Sampling, schema: dict[str, Any] | None) -> dict[str, Any]:
    """The engine's options. Samplers are named, or its own defaults would cut the distribution off."""
    cuts = {"top_k": sampling.top_k, "top_p": sampling.top_p, "min_p": sampling.min_p}
    cuts = {knob: value for knob, value in cuts.items() if value is not None}
    options = {"samplers": ["temperature", *cuts], **cuts, "stop": sampling.stop}
    options["temperature"] = TEMPERATURE if sampling.temperature is None else sampling.temperature
    return options if schema is None else options | {"json_schema": schema}


def _part(choice: Choice, sampling: Sampling, prompt: tuple[int, ...], seed: int) -> Part:
    """What was said: words, or a call of a tool."""
    text = choice.text
    calling = bool(sampling.tools) and sampling.tool_choice != "none"
    if choice.stop == "eos" and (calling or sampling.schema is not None):
        try:
            said = json.loads(text)
        except ValueError:  # llama.cpp goes on without a grammar when it cannot read the schema
            raise BadRequest(
                f"the engine cannot enforce the schema {_schema(sampling)!r}; simplify it"
            ) from None
        if calling and "tool" in said:
            # The prompt is in the id: a later turn of this conversation may well have the same seed.
            call = hashlib.blake2b(repr((prompt, seed)).encode(), digest_size=6).hexdigest()
            return ToolCall(f"call_{call}", said["tool"], json.dumps(said["arguments"], ensure_ascii=False))
        if calling:
            answer = said["answer"]
            text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
    if not text.strip():
        raise EmptyReply(f"the embedded model said nothing (stop: {choice.stop}); ask again or otherwise")
    return Text(text)
