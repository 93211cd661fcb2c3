"""Server-sent events, put together into one completion."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from motet.errors import ConnectionLost
from motet.models.openai_api.reply import as_json, words
from motet.models.openai_api.wire import Call, Choice, Completion, Function, Logprobs, Said, Sampled, decode

Listener = Callable[[str], None]


@dataclass(slots=True)
class _Growing:
    """A choice on its way in."""

    text: list[str] = field(default_factory=list)
    refusal: list[str] = field(default_factory=list)
    calls: list[tuple[Call, list[str]]] = field(default_factory=list)
    open_calls: dict[int | None, tuple[Call, list[str]]] = field(default_factory=dict)
    sampled: list[Sampled] = field(default_factory=list)
    ids: list[int] = field(default_factory=list)
    end: Choice | None = None

    def add(self, piece: Choice) -> str:
        """Take in a piece; return the text in it."""
        said = piece.delta or piece.message or Said()
        text = words(said.content)
        self.text.append(text)
        self.refusal.append(said.refusal or "")
        for call in said.tool_calls or ():
            self._add_call(call)
        self.sampled.extend((piece.logprobs.content if piece.logprobs else None) or ())
        self.ids.extend(piece.token_ids or ())
        if piece.finish_reason:
            self.end = piece
        return text

    def _add_call(self, piece: Call) -> None:
        """A call goes on under its index; some servers give all of them one index but each its own id."""
        known = self.open_calls.get(piece.index)
        if known is None or (piece.id and known[0].id and piece.id != known[0].id):
            known = Call(piece.id, piece.index, Function(piece.function.name)), []
            self.calls.append(known)
            self.open_calls[piece.index] = known
        known[1].append(as_json(piece.function.arguments))

    def whole(self, index: int) -> Choice:
        """The choice, now that it is complete."""
        calls = [
            Call(call.id, call.index, Function(call.function.name, "".join(arguments)))
            for call, arguments in self.calls
        ]
        return Choice(
            index=index,
            message=Said("".join(self.text), "".join(self.refusal) or None, calls or None),
            finish_reason=self.end.finish_reason if self.end else None,
            stop_reason=self.end.stop_reason if self.end else None,
            logprobs=Logprobs(self.sampled) if self.sampled else None,
            token_ids=self.ids or None,
        )


class Stream:
    """Pieces of a streamed completion, in order of arrival.

    Args:
        model: its name, for messages of error.
        listener: told the text of the first choice as it arrives.
    """

    def __init__(self, model: str, listener: Listener | None) -> None:
        self._model, self._listener = model, listener
        self._growing: dict[int, _Growing] = {}
        self._rest = Completion()
        self.done = False

    def add(self, piece: Completion) -> None:
        """Take in one piece."""
        rest = self._rest
        rest.usage = piece.usage or rest.usage
        rest.model = piece.model or rest.model
        rest.system_fingerprint = piece.system_fingerprint or rest.system_fingerprint
        rest.prompt_token_ids = piece.prompt_token_ids or rest.prompt_token_ids
        for choice in piece.choices or ():
            text = self._growing.setdefault(choice.index, _Growing()).add(choice)
            if text and choice.index == 0 and self._listener:
                self._listener(text)

    def whole(self) -> Completion:
        """The completion, once the stream is over.

        Raises:
            ConnectionLost: it ended in mid-answer.
        """
        if not self.done and not all(choice.end for choice in self._growing.values()):
            raise ConnectionLost(f"{self._model}: the stream ended in mid-answer")
        self._rest.choices = [growing.whole(index) for index, growing in self._growing.items()]
        return self._rest


async def read_events(chunks: AsyncIterator[bytes], stream: Stream, model: str) -> Completion:
    """Read a completion from the bytes of an event stream."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            _read_line(line, stream, model)
    _read_line(rest, stream, model)
    return stream.whole()


def _read_line(line: bytes, stream: Stream, model: str) -> None:
    """An event is one `data:` line here; comments and event names are skipped."""
    if not line.startswith(b"data:"):
        return
    data = line[5:].strip()
    if data == b"[DONE]":
        stream.done = True
    elif data and not stream.done:
        stream.add(decode(data, model))
