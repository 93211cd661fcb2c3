"""What every builder of tuning data gives back."""

from collections.abc import Mapping

from msgspec import Struct

from motet.errors import BadInput
from motet.types import Message


class Span(Struct, frozen=True, omit_defaults=True):
    """Characters `start` to `stop` of the text of message number `message`, and how much they count."""

    message: int
    start: int
    stop: int
    weight: float = 1.0
    kind: str = ""


class Example(Struct, frozen=True, omit_defaults=True):
    """A conversation to imitate.

    Args:
        messages: all of it; what is not trained on is context.
        trained: the loss mask, one entry a message.
        weight: of the whole example.
        voice: whom it is for.
        runs: the runs it was made from.
        spans: weights of pieces of the trained messages; without any, all of a trained message counts 1.
        stage: for methods that train in several stages, which one.
    """

    messages: tuple[Message, ...]
    trained: tuple[bool, ...]
    weight: float = 1.0
    voice: str = ""
    runs: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    stage: str = ""

    def __post_init__(self) -> None:
        if len(self.messages) != len(self.trained):
            raise BadInput(
                f"{len(self.messages)} messages with {len(self.trained)} mask entries; give one for each"
            )


class Pair(Struct, frozen=True, omit_defaults=True):
    """Two replies to the same messages, of which the first is better."""

    prompt: tuple[Message, ...]
    chosen: Message
    rejected: Message
    voice: str = ""
    runs: tuple[str, ...] = ()
    gap: float = 0.0


class Label(Struct, frozen=True, omit_defaults=True):
    """A reply that is wanted, or is not."""

    prompt: tuple[Message, ...]
    completion: Message
    wanted: bool
    voice: str = ""
    runs: tuple[str, ...] = ()


class Rejected(Struct, frozen=True, omit_defaults=True):
    """A sample that was left out, and why."""

    reason: str
    messages: tuple[Message, ...] = ()
    voice: str = ""
    runs: tuple[str, ...] = ()


class Built(Struct, frozen=True, omit_defaults=True):
    """Tuning data. `counts` says how many of what were read and made."""

    sft: tuple[Example, ...] = ()
    dpo: tuple[Pair, ...] = ()
    kto: tuple[Label, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    counts: Mapping[str, int] = {}

    def of(self, voice: str) -> "Built":
        """What is for one voice; the counts stay those of all."""
        return Built(
            tuple(x for x in self.sft if x.voice == voice),
            tuple(x for x in self.dpo if x.voice == voice),
            tuple(x for x in self.kto if x.voice == voice),
            tuple(x for x in self.rejected if x.voice == voice),
            self.counts,
        )
