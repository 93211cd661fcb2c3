"""Replies from a chat completion in OpenAI's shape: words, tool calls, ids, and who paid for what."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import msgspec

from motet.errors import EmptyReply, MalformedReply, ModelError, Refused
from motet.models.openai_api.wire import Choice, Completion, Said, Spent
from motet.types import Message, Part, Reply, StopReason, Text, Tokens, ToolCall, Usage

_STOPS = {
    "length": StopReason.LENGTH,
    "tool_calls": StopReason.TOOL_CALLS,
    "function_call": StopReason.TOOL_CALLS,
    "content_filter": StopReason.FILTER,
}


def replies(completion: Completion, n: int, model: str) -> list[Reply]:
    """Replies of a completion, at most `n`, without their price.

    Raises:
        MalformedReply: there are no choices.
        EmptyReply: a choice has neither words nor tool calls.
        Refused: the model or a filter declined. Both carry the usage that was billed all the same.
    """
    choices = sorted(completion.choices or (), key=lambda choice: choice.index)[:n]
    if not choices:
        raise MalformedReply(f"{model}: the completion has no choices")
    version = "/".join(part for part in (completion.model, completion.system_fingerprint) if part)
    try:
        messages = [_message(choice, model) for choice in choices]
    except ModelError as error:
        if spent := completion.usage:
            error.usage = Usage(spent.prompt_tokens or 0, spent.completion_tokens or 0)
        raise
    usages = _usages(completion.usage, choices, messages)
    return [
        Reply(
            message=message,
            stop=_stop(choice, message),
            usage=usage,
            model=model,
            version=version,
            tokens=_tokens(choice, completion.prompt_token_ids, model),
        )
        for choice, message, usage in zip(choices, messages, usages, strict=True)
    ]


def words(content: str | list[Any] | None) -> str:
    """The text of a content, which some servers send as a list of parts."""
    if isinstance(content, list):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return content or ""


def as_json(arguments: str | dict[str, Any] | None) -> str:
    """The arguments of a tool call as JSON text; some servers have parsed it already."""
    return msgspec.json.encode(arguments).decode() if isinstance(arguments, dict) else arguments or ""


def unique(ids: Iterable[str]) -> list[str]:
    """Make ids unique and non-empty, keeping those that already are.

    >>> unique(["a", "a", ""])
    ['a', 'a_2', 'call_3']
    """
    found: dict[str, None] = {}
    for position, wanted in enumerate(ids, 1):
        name = base = wanted or f"call_{position}"
        suffix = 2
        while name in found:
            name, suffix = f"{base}_{suffix}", suffix + 1
        found[name] = None
    return list(found)


def share(total: int, weights: Sequence[int]) -> list[int]:
    """Split a whole number in proportion to `weights`; the shares add up to `total`.

    >>> share(10, [1, 1, 2])
    [2, 3, 5]
    """
    scale, run, cuts = sum(weights) or len(weights), 0, [0]
    for weight in weights if sum(weights) else [1] * len(weights):
        run += weight
        cuts.append(total * run // scale)
    return [after - before for before, after in pairwise(cuts)]


def _message(choice: Choice, model: str) -> Message:
    said = choice.message or Said()
    text, calls = words(said.content), said.tool_calls or []
    if said.refusal or (choice.finish_reason == "content_filter" and not text):
        raise Refused(f"{model} declined: {said.refusal or 'a content filter left nothing of the reply'}")
    ids = unique(call.id or "" for call in calls)
    parts: list[Part] = [Text(text)] if text else []
    for call_id, call in zip(ids, calls, strict=True):
        if not call.function.name:
            raise MalformedReply(f"{model}: a tool call without a name: {call!r}")
        parts.append(ToolCall(call_id, call.function.name, as_json(call.function.arguments) or "{}"))
    if not parts:
        cut = choice.finish_reason == "length"
        why = " (did all tokens go into reasoning? raise max_tokens)" if cut else ""
        raise EmptyReply(f"{model} answered with neither words nor tool calls{why}")
    return Message("assistant", tuple(parts))


def _stop(choice: Choice, message: Message) -> StopReason:
    if found := _STOPS.get(choice.finish_reason or ""):
        return found
    if message.tool_calls:
        return StopReason.TOOL_CALLS
    named = isinstance(choice.stop_reason, str)  # vLLM names the stop word
    return StopReason.STOP if named else StopReason.END


def _usages(spent: Spent | None, choices: list[Choice], messages: list[Message]) -> list[Usage]:
    """Split what was spent: the prompt goes to the first reply, the rest by size.

    A size is the number of tokens where the server lists them, else of characters.
    """
    if spent is None:
        return [Usage(calls=1) for _ in choices]
    listed = [
        len(choice.token_ids or (choice.logprobs and choice.logprobs.content) or ()) for choice in choices
    ]
    sizes = listed if all(listed) else [_characters(message) for message in messages]
    given = spent.prompt_tokens or 0
    # completion_tokens may be too low: some servers leave reasoning out of it, but none leaves it out of the
    # total; and llama.cpp reports one choice of several.
    output = max(spent.completion_tokens or 0, (spent.total_tokens or 0) - given, sum(listed))
    details, cached = spent.completion_tokens_details, spent.prompt_tokens_details
    thought = min(output, (details.reasoning_tokens if details else None) or 0)
    thoughts, said = share(thought, sizes), share(output - thought, sizes)
    usages = [
        Usage(output_tokens=t + s, reasoning_tokens=t, calls=1) for t, s in zip(thoughts, said, strict=True)
    ]
    reused = (cached.cached_tokens if cached else None) or 0
    return [usages[0] + Usage(given, cached_tokens=min(given, reused)), *usages[1:]]


def _characters(message: Message) -> int:
    return len(message.text) + sum(len(call.arguments) for call in message.tool_calls)


def _tokens(choice: Choice, prompt_ids: list[int] | None, model: str) -> Tokens | None:
    """The sampler's ids, from vLLM's `token_ids` or llama.cpp's `id` beside each log-probability."""
    listed = (choice.logprobs.content if choice.logprobs else None) or []
    ids = choice.token_ids or [token.id for token in listed if token.id is not None]
    if not ids or (choice.token_ids is None and len(ids) < len(listed)):
        return None
    logprobs = tuple(token.logprob for token in listed) if len(listed) == len(ids) else ()
    return Tokens(model, tuple(prompt_ids or ()), tuple(ids), logprobs)
