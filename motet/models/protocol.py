"""What a model is: anything that can sample replies to messages."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from motet.types import Message, Reply, Sampling


@runtime_checkable
class Model(Protocol):
    """Anything that can sample replies.

    `name` is the one string by which the model is known everywhere (`local`, `openai:gpt-5-mini`).
    `identity` is `name` plus whatever else decides its distribution (a hash of the weights, say); it
    goes into the key of every call, so two models with one identity share cached replies.
    """

    @property
    def name(self) -> str: ...

    @property
    def identity(self) -> str: ...

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Draw `n` replies to `messages`.

        Returns:
            Exactly `n` replies, each with its own usage: tokens of a prompt that was paid once are
            counted in the first reply only, so that usages add up to what was spent.

        Raises:
            ModelError: of the class that says what went wrong; nothing else, unless it is a bug.
        """
        ...
