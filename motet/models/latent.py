"""Latent thoughts as parts of messages: what a model thought without words lies on the tape like any reply.

A thought is kept as what it was thought from: the ids that were read, and how many steps were taken after
them. Nothing is drawn by chance on the way, so that this decides every key and value; those themselves are
many megabytes, stay with the weights, and are computed again where they are lost.
"""

from collections.abc import Sequence

import msgspec
from msgspec import Struct

from motet.errors import BadRequest
from motet.types import Media, Message

THOUGHT = "application/x-latent-thought"
"""The media type of a thought."""
WISH = "application/x-latent-steps"
"""The media type of a wish to think: the number of steps, in digits."""


class Thought(Struct, frozen=True):
    """What was read and thought in one turn.

    Args:
        space: identity of the weights; only they can take it over.
        ids: of the turn's own prompt.
        steps: how many latent steps followed.
        before: the thoughts that lay in front of the prompt, in order.
    """

    space: str
    ids: tuple[int, ...]
    steps: int
    before: tuple["Thought", ...] = ()

    @property
    def length(self) -> int:
        """Positions that it takes in a context, with all that was before it."""
        return sum(t.length for t in self.before) + len(self.ids) + self.steps

    def part(self) -> Media:
        """The thought as a part of a message."""
        return Media.of(msgspec.json.encode(self), THOUGHT, f"{self.steps} latent steps")


def think(m: int) -> Media:
    """The wish, as a part of what is asked: answer with `m` latent steps and no words."""
    return Media.of(str(m).encode(), WISH, f"think {m} latent steps")


def latent_space(voice: object) -> str | None:
    """Identity of the weights in which a voice can think without words and take over such thoughts.

    None for every voice that has no model with a `latent_space`: other models, wrapped ones, teams.
    """
    return getattr(getattr(voice, "model", None), "latent_space", None)


class Read(Struct, frozen=True):
    """Messages without their latent parts, the thoughts in them, and how many steps are wished for."""

    messages: tuple[Message, ...]
    before: tuple[Thought, ...]
    steps: int | None


def read(messages: Sequence[Message]) -> Read:
    """Take the latent parts out of messages.

    Raises:
        BadRequest: the bytes of a part are not there.
    """
    plain: list[Message] = []
    before: list[Thought] = []
    steps: int | None = None
    for message in messages:
        for part in message.parts:
            if isinstance(part, Media) and part.media_type in (THOUGHT, WISH):
                if part.data is None:
                    raise BadRequest(
                        f"the bytes of {part.name!r} are missing: pass the reply as it was given"
                    )
                if part.media_type == WISH:
                    steps = int(part.data)
                else:
                    before.append(msgspec.json.decode(part.data, type=Thought))
        rest = tuple(
            p for p in message.parts if not (isinstance(p, Media) and p.media_type in (THOUGHT, WISH))
        )
        if rest:
            plain.append(Message(message.role, rest))
    return Read(tuple(plain), tuple(before), steps)
