"""What servers and client libraries raise, as `motet.errors`."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from motet.errors import (
    AuthFailed,
    BadRequest,
    ConnectionLost,
    ContextOverflow,
    MalformedReply,
    ModelError,
    ModelTimeout,
    RateLimited,
    Refused,
    ServerError,
)

LONGEST_MESSAGE = 500

_OVERFLOW = re.compile(
    r"context[ _-]?(length|window|size)|maximum context|exceed\w* (the |available )*context|n_ctx"
    r"|(prompt|input) is too long|too many (input )?tokens",
    re.IGNORECASE,
)
_FILTERED = re.compile(r"content[ _-]?(filter|policy|management)|safety (filter|system)", re.IGNORECASE)

# By name and not by class, so that one table serves the openai client, any version of httpx below it,
# and any-llm. The first name found among the bases of an exception decides.
_BY_NAME: dict[str, type[ModelError]] = {
    "APITimeoutError": ModelTimeout,
    "TimeoutException": ModelTimeout,
    "GatewayTimeoutError": ModelTimeout,
    "TimeoutError": ModelTimeout,
    "APIConnectionError": ConnectionLost,
    "TransportError": ConnectionLost,
    "ConnectionError": ConnectionLost,
    "ContextLengthExceededError": ContextOverflow,
    "ContentFilterError": Refused,
    "MissingApiKeyError": AuthFailed,
    "AuthenticationError": AuthFailed,
    "RateLimitError": RateLimited,
    "UnsupportedParameterError": BadRequest,
    "InvalidRequestError": BadRequest,
    "ModelNotFoundError": BadRequest,
    "InsufficientFundsError": BadRequest,
    "APIResponseValidationError": MalformedReply,
    "JSONDecodeError": MalformedReply,
    "DecodeError": MalformedReply,
    "ValidationError": MalformedReply,
    "AnyLLMError": ServerError,
}


def of_status(status: int, words: str) -> type[ModelError]:
    """The class of error that an HTTP status and the words that came with it stand for."""
    by_status = {401: AuthFailed, 403: AuthFailed, 408: ModelTimeout, 429: RateLimited}
    if found := by_status.get(status):
        return found
    if status >= 500:
        return ServerError
    if _OVERFLOW.search(words):
        return ContextOverflow
    return Refused if _FILTERED.search(words) else BadRequest


def of_body(error: object, model: str) -> ModelError:
    """The error that a server sent inside an answer of status 200: in a stream, or in place of choices."""
    fields = error if isinstance(error, Mapping) else {"message": error}
    words = str(fields.get("message") or error)[:LONGEST_MESSAGE]
    status = fields.get("code") if isinstance(fields.get("code"), int) else fields.get("status")
    described = f"{words} {fields.get('code')} {fields.get('type')}"
    kind = of_status(status if isinstance(status, int) else 400, described)
    if kind is BadRequest and not isinstance(status, int):
        kind = ServerError
    return kind(f"{model}: the server broke off: {words}")


def translate(error: Exception, model: str, secret: str) -> ModelError | None:
    """Say what a client library's exception means, or None when it is no failure of the server.

    Args:
        error: as raised by openai, httpx or any-llm.
        model: name of the model, for the message.
        secret: the API key, which is cut out of the message should a server repeat it.
    """
    if isinstance(error, ModelError):
        return type(error)(_clean(str(error), secret), retry_after_s=error.retry_after_s)
    inner = getattr(error, "original_exception", None) or error  # what any-llm has wrapped says more
    status = next((s for e in (inner, error) if isinstance(s := getattr(e, "status_code", None), int)), 0)
    words = _words(inner)
    kind = of_status(status, words) if status >= 400 else _named(inner)
    if kind in (None, BadRequest):
        kind = _named(error) or kind
    if kind is None:
        return None
    prefix = f"HTTP {status}: " if status else ""
    text = _clean(f"{model}: {prefix}{words or type(error).__name__}", secret)
    return kind(text, retry_after_s=_retry_after_s(inner))


def _named(error: BaseException) -> type[ModelError] | None:
    return next((_BY_NAME[c.__name__] for c in type(error).__mro__ if c.__name__ in _BY_NAME), None)


def _words(error: Exception) -> str:
    """The server's own words and codes, or else the exception's and its cause's."""
    body = getattr(error, "body", None)
    if isinstance(body, Mapping) and body.get("message"):
        codes = [str(body[key]) for key in ("code", "type") if body.get(key)]
        return f"{body['message']} ({', '.join(codes)})" if codes else str(body["message"])
    cause = error.__cause__ or error.__context__
    return f"{error} ({cause})" if cause and str(cause) not in ("", str(error)) else str(error)


def _clean(text: str, secret: str) -> str:
    text = text.replace(secret, "[key]") if secret else text
    return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"


def _retry_after_s(error: BaseException) -> float | None:
    """How long the server asks us to wait, in seconds; it says so in seconds or as a date."""
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    value = headers.get("retry-after")
    if value is None:
        milliseconds = headers.get("retry-after-ms")
        value = _number(milliseconds, 1000) if milliseconds else None
    else:
        seconds = _number(value)
        value = seconds if seconds is not None else _seconds_until(str(value))
    return None if value is None else max(0.0, value)


def _number(text: str, divisor: float = 1) -> float | None:
    try:
        return float(text) / divisor
    except ValueError:
        return None


def _seconds_until(date: str) -> float | None:
    try:
        when = parsedate_to_datetime(date)
    except ValueError:
        return None
    return ((when if when.tzinfo else when.replace(tzinfo=UTC)) - datetime.now(UTC)).total_seconds()
