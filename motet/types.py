"""The data every room shares: messages in parts, what to sample, what came back.

All of it is immutable (`msgspec.Struct`, frozen), so that it can be hashed, stored once and
passed between tasks without a copy.
"""

import hashlib
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

Role = Literal["system", "user", "assistant", "tool"]
MediaKind = Literal["image", "audio", "video", "file"]
TaskKind = Literal["text", "number", "choice", "math", "code", "sql"]


class Text(Struct, frozen=True, tag="text"):
    """Words."""

    text: str


class Media(Struct, frozen=True, tag="media", omit_defaults=True):
    """An image, a sound, a film or a file, known by the hash of its content.

    `data` is None on a tape: the bytes lie once in the store, under `digest`.
    """

    kind: MediaKind
    media_type: str
    digest: str
    name: str = ""
    data: bytes | None = None

    @classmethod
    def of(cls, data: bytes, media_type: str, name: str = "") -> "Media":
        """Make a part from bytes; the kind follows from the media type (`image/png` is an image)."""
        family = media_type.partition("/")[0]
        kind: MediaKind = family if family in ("image", "audio", "video") else "file"  # type: ignore[assignment]
        return cls(kind, media_type, hashlib.blake2b(data, digest_size=16).hexdigest(), name, data)

    @classmethod
    def read(cls, path: str | Path) -> "Media":
        """Make a part from a file; its media type follows from its name."""
        import mimetypes

        path = Path(path)
        media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
        return cls.of(path.read_bytes(), media_type, path.name)


class ToolCall(Struct, frozen=True, tag="tool_call"):
    """A model's wish to use a tool. `arguments` is the model's own JSON text, kept as it came."""

    id: str
    name: str
    arguments: str


class ToolResult(Struct, frozen=True, tag="tool_result", omit_defaults=True):
    """What a tool answered to the call with this `id`."""

    id: str
    name: str
    text: str
    failed: bool = False


Part = Text | Media | ToolCall | ToolResult


class Message(Struct, frozen=True):
    """One turn of a conversation: who speaks, and the parts of what is said."""

    role: Role
    parts: tuple[Part, ...]

    @classmethod
    def say(cls, role: Role, text: str) -> "Message":
        """Make a message of words alone."""
        return cls(role, (Text(text),))

    @property
    def text(self) -> str:
        """The words of the message; media and tool calls are left out."""
        if len(self.parts) == 1:
            part = self.parts[0]
            return part.text if isinstance(part, (Text, ToolResult)) else ""
        return "\n".join(p.text for p in self.parts if isinstance(p, (Text, ToolResult)))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tools this message asks for, in order."""
        return [p for p in self.parts if isinstance(p, ToolCall)]


class StopReason(StrEnum):
    """Why a reply ended."""

    END = "end"
    LENGTH = "length"
    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    FILTER = "filter"
    ERROR = "error"


class FailureKind(StrEnum):
    """What went wrong with a call, a tool or a run, as a word a program can branch on."""

    TIMEOUT = "timeout"
    RATE_LIMIT = "rate_limit"
    SERVER = "server"
    CONNECTION = "connection"
    AUTH = "auth"
    BAD_REQUEST = "bad_request"
    OVERFLOW = "overflow"
    MALFORMED = "malformed"
    EMPTY = "empty"
    REFUSED = "refused"
    SCHEMA = "schema"
    TOOL = "tool"
    TOOL_LOOP = "tool_loop"
    BUDGET = "budget"
    CANCELLED = "cancelled"
    STORE = "store"
    NO_ANSWER = "no_answer"
    BUG = "bug"


class Failure(Struct, frozen=True):
    """A failure as data: it goes on the tape and stays in every denominator."""

    kind: FailureKind
    message: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


class Usage(Struct, frozen=True, omit_defaults=True):
    """Tokens and calls spent.

    `cached_tokens` is the share of `input_tokens` that the server did not have to compute again;
    `reasoning_tokens` is the share of `output_tokens` that was thought and not said.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    calls: int = 0

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.calls + other.calls,
        )


class ToolSpec(Struct, frozen=True):
    """A tool as a model sees it; `parameters` is a JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


class Sampling(Struct, frozen=True, omit_defaults=True):
    """All that decides a reply's distribution besides the model and the messages.

    A knob left at None is the backend's own default. `schema` is a JSON schema that the text of the
    reply must satisfy; `tool_choice` is `auto`, `none`, `required` or the name of a tool.
    """

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    min_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: bool = False
    schema: dict[str, Any] | None = None
    tools: tuple[ToolSpec, ...] = ()
    tool_choice: str = "auto"

    def but(self, **changes: Any) -> "Sampling":
        """Return a copy with some knobs changed: `sampling.but(temperature=0)`."""
        return msgspec.structs.replace(self, **changes) if changes else self


class Tokens(Struct, frozen=True):
    """The sampler's own ids. Text is never tokenised again to train on it.

    Args:
        tokenizer: name of the vocabulary, e.g. `smollm2`.
        prompt_ids: ids of the whole prompt, length P; empty when the backend does not say.
        ids: sampled ids, length T, the end-of-turn token included when it was sampled.
        logprobs: natural log-probability of each sampled id at temperature 1 over the whole
            vocabulary, length T; empty when the backend does not say.
    """

    tokenizer: str
    prompt_ids: tuple[int, ...]
    ids: tuple[int, ...]
    logprobs: tuple[float, ...] = ()


class Reply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a voice said. Pass it to another voice's `ask` and the link is recorded.

    A model fills in the upper half; the tape fills in `call`, `run`, `voice`, `latency_s`, `cached`.
    """

    message: Message
    stop: StopReason = StopReason.END
    usage: Usage = Usage()
    model: str = ""
    version: str = ""
    tokens: Tokens | None = None
    cost: float | None = None
    data: Any = None
    sources: tuple[str, ...] = ()

    call: str = ""
    run: str = ""
    node: str = ""
    voice: str = ""
    latency_s: float = 0.0
    cached: bool = False

    @property
    def text(self) -> str:
        """The words of the reply."""
        return self.message.text

    @property
    def links(self) -> tuple["Reply", ...]:
        """The replies this text came from: itself."""
        return (self,)

    def __str__(self) -> str:
        return self.text


class Linked(Struct, frozen=True):
    """Text that remembers the replies it was made from: a filled template, an excerpt, a vote."""

    text: str
    links: tuple[Reply, ...] = ()

    def __str__(self) -> str:
        return self.text


class Task(Struct, frozen=True, omit_defaults=True):
    """One question, with what is needed to mark the answer.

    Args:
        prompt: what is asked.
        target: the gold answer, or None when there is none.
        id: name of the item in its suite.
        kind: what an answer looks like, which decides how it is read out of a reply
            (`motet.answers.extract`).
        choices: the options of a multiple-choice item, without letters.
        tests: unit tests (Python source) of a code item.
        meta: anything else; scorers and simulated voices read it. `database` of an SQL item is a script that
            makes it, or the path of a file.
    """

    prompt: str
    target: str | None = None
    id: str = ""
    kind: TaskKind = "text"
    choices: tuple[str, ...] = ()
    tests: str = ""
    meta: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def text(self) -> str:
        """What is asked."""
        return self.prompt

    @property
    def links(self) -> tuple[Reply, ...]:
        """A task comes from no reply."""
        return ()

    def __str__(self) -> str:
        return self.prompt


Content = str | Task | Reply | Linked | Media


def fill(template: str, **fields: Content | Sequence[Content] | int | float) -> Linked:
    """Fill a `str.format` template and keep the links of every reply that goes into it.

    A sequence becomes a numbered list, `[1] …`, one item a paragraph.

    >>> fill("Q: {task}\\nTake {n} steps.", task=Task("2+2?"), n=3).text
    'Q: 2+2?\\nTake 3 steps.'
    """
    links: list[Reply] = []
    words: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, (str, int, float)):
            words[name] = value
        elif isinstance(value, (Reply, Linked, Task)):
            links.extend(value.links)
            words[name] = value.text
        elif isinstance(value, Media):
            raise TypeError(f"{name} is a {value.kind}; pass media to ask() beside the filled text")
        else:
            words[name] = "\n\n".join(f"[{i}] {item}" for i, item in enumerate(value, 1))
            links.extend(link for item in value if not isinstance(item, (str, Media)) for link in item.links)
    return Linked(template.format(**words), tuple(links))
