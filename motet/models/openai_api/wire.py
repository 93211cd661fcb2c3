"""A chat completion as it comes over the wire, whole or as a piece of a stream.

Only the fields that are read are declared; what a server adds is ignored, what it gets wrong is a
`MalformedReply`.
"""

from typing import Any

import msgspec
from msgspec import Struct

from motet.errors import MalformedReply
from motet.models.openai_api.errors import of_body


class Function(Struct):
    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class Call(Struct):
    id: str | None = None
    index: int | None = None
    function: Function = msgspec.field(default_factory=Function)


class Said(Struct):
    """A message, or in a stream a piece of one."""

    content: str | list[Any] | None = None
    refusal: str | None = None
    tool_calls: list[Call] | None = None


class Sampled(Struct):
    """One token with its log-probability; its id where the server says it (llama.cpp)."""

    logprob: float
    id: int | None = None


class Logprobs(Struct):
    content: list[Sampled] | None = None


class Choice(Struct):
    index: int = 0
    message: Said | None = None
    delta: Said | None = None
    finish_reason: str | None = None
    stop_reason: Any = None
    logprobs: Logprobs | None = None
    token_ids: list[int] | None = None


class PromptDetails(Struct):
    cached_tokens: int | None = None


class CompletionDetails(Struct):
    reasoning_tokens: int | None = None


class Spent(Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None


class Completion(Struct):
    choices: list[Choice] | None = None
    usage: Spent | None = None
    model: str | None = None
    system_fingerprint: str | None = None
    prompt_token_ids: list[int] | None = None
    error: Any = None


_DECODER = msgspec.json.Decoder(Completion)


def decode(data: bytes, model: str) -> Completion:
    """Read a completion, or a piece of one, from JSON."""
    try:
        return checked(_DECODER.decode(data), model)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        start = data[:80].decode("utf-8", "replace")
        raise MalformedReply(
            f"{model}: expected a chat completion as JSON, got {start!r} ({error})"
        ) from None


def convert(data: object, model: str) -> Completion:
    """Read a completion, or a piece of one, from plain Python objects."""
    try:
        return checked(msgspec.convert(data, Completion), model)
    except msgspec.ValidationError as error:
        raise MalformedReply(f"{model}: this is not a chat completion: {error}") from None


def checked(completion: Completion, model: str) -> Completion:
    """Return the completion, unless it is an error in disguise."""
    if completion.error:
        raise of_body(completion.error, model)
    return completion
