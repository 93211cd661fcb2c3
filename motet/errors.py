"""What can go wrong, drawn as a tree.

    MotetError
    ├── BadInput                 words from outside: what arrived, what was expected, how to mend it
    │   └── UnknownName          no such method, model, voice, knob, suite; close matches are named
    ├── MissingExtra             an optional package is not installed; names the extra
    ├── ModelError               a call failed; `kind` says how, `retryable` whether to try again
    │   ├── ModelTimeout, RateLimited, ServerError, ConnectionLost        (retryable)
    │   └── AuthFailed, BadRequest, ContextOverflow, MalformedReply, EmptyReply, Refused,
    │       SchemaMismatch, ToolLoop, NoAnswer
    ├── BudgetExceeded           a hard limit was reached before a call
    ├── ToolError                a tool could not do what it was asked; told to the model
    ├── SandboxUnavailable       no sandbox of the wanted kind on this machine
    ├── RunFailed                the answer was read of a run that has none
    └── StoreError               the tape could not be kept or read
        └── StoreCorrupt, StoreReadOnly, StoreBusy, StoreFull, StoreTooNew

A failure of a voice is data (`Failure`): it is recorded with its kind and stays in every
denominator. Everything that is not a `MotetError` is a bug of ours or of the team's, and crashes.
"""

from collections.abc import Iterable
from typing import Any, ClassVar

from motet.types import Failure, FailureKind, Usage


class MotetError(Exception):
    """Root of all errors that Motet raises on purpose."""

    kind: ClassVar[FailureKind] = FailureKind.BAD_REQUEST

    @property
    def failure(self) -> Failure:
        """This error as data."""
        return Failure(self.kind, str(self))

    def __reduce__(self) -> tuple[Any, ...]:
        return _as_it_was, (type(self), self.args), self.__dict__


def _as_it_was(kind: type[MotetError], args: tuple[Any, ...]) -> MotetError:
    """An error from another process: what its constructor was given may not have come along."""
    error = kind.__new__(kind)
    error.args = args
    return error


class BadInput(MotetError, ValueError):
    """Words from outside that cannot be understood."""


class UnknownName(BadInput):
    """A name that is not in a list of names; the message names those that are close."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        import difflib

        known = sorted(known)
        close = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(known) or 'none'}"
        super().__init__(f"no {what} is called {name!r}; {hint}")
        self.what, self.name, self.close = what, name, close


class MissingExtra(MotetError, ImportError):
    """An optional package is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"this needs the package {package!r}: pip install 'motet[{extra}]'")


class ModelError(MotetError):
    """A call to a model failed.

    Args:
        message: what happened, in words.
        retry_after_s: how long the server asked us to wait, in seconds.
        usage: tokens that were spent all the same.
    """

    kind: ClassVar[FailureKind] = FailureKind.SERVER
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, *, retry_after_s: float | None = None, usage: Usage = Usage()) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s
        self.usage = usage


class ModelTimeout(ModelError):
    """No (complete) answer within the time allowed."""

    kind = FailureKind.TIMEOUT
    retryable = True


class RateLimited(ModelError):
    """HTTP 429."""

    kind = FailureKind.RATE_LIMIT
    retryable = True


class ServerError(ModelError):
    """HTTP 5xx, or an engine that broke."""

    kind = FailureKind.SERVER
    retryable = True


class ConnectionLost(ModelError):
    """No connection, or one that was cut in mid-answer."""

    kind = FailureKind.CONNECTION
    retryable = True


class AuthFailed(ModelError):
    """HTTP 401 or 403: the key is missing or wrong."""

    kind = FailureKind.AUTH


class BadRequest(ModelError):
    """HTTP 4xx: the server will not take this request."""

    kind = FailureKind.BAD_REQUEST


class ContextOverflow(ModelError):
    """Prompt and answer do not fit the model's context."""

    kind = FailureKind.OVERFLOW


class MalformedReply(ModelError):
    """The answer is not what the protocol says: broken JSON, a wrong content type, no choices."""

    kind = FailureKind.MALFORMED
    retryable = True


class EmptyReply(ModelError):
    """The answer holds neither words nor tool calls."""

    kind = FailureKind.EMPTY


class Refused(ModelError):
    """The model or a filter in front of it declined."""

    kind = FailureKind.REFUSED


class SchemaMismatch(ModelError):
    """The reply did not satisfy the wanted schema, even after repair."""

    kind = FailureKind.SCHEMA


class ToolLoop(ModelError):
    """The model went on calling tools past the allowed number of rounds."""

    kind = FailureKind.TOOL_LOOP


class NoAnswer(ModelError):
    """A team ended with nothing to return."""

    kind = FailureKind.NO_ANSWER


class BudgetExceeded(MotetError):
    """A hard limit was reached; the call was not made."""

    kind = FailureKind.BUDGET


class ToolError(MotetError):
    """A tool could not do what it was asked. The model is told the message and may try again."""

    kind = FailureKind.TOOL


class SandboxUnavailable(MotetError):
    """No sandbox of the wanted kind can be had on this machine."""

    kind = FailureKind.TOOL


class RunFailed(MotetError):
    """The answer was asked of a run that ended without one."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self._failure = failure

    @property
    def failure(self) -> Failure:
        """The failure that ended the run."""
        return self._failure


class StoreError(MotetError):
    """The tape could not be kept or read."""

    kind = FailureKind.STORE


class StoreCorrupt(StoreError):
    """The file is not a store, or is damaged. It is left as it is."""


class StoreReadOnly(StoreError):
    """The file or its folder cannot be written."""


class StoreBusy(StoreError):
    """Another process held the store for longer than we wait."""


class StoreFull(StoreError):
    """No room is left on the disk."""


class StoreTooNew(StoreError):
    """The store was written by a newer Motet."""
