"""Pick which of several models answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from motet.errors import BadInput, ModelError
from motet.models.protocol import Model
from motet.types import Message, Reply, Sampling

Choose = Callable[[Sequence[Message], Sampling], int]


@dataclass(frozen=True)
class Route:
    """A model that hands each request to one of several; the reply's `model` says which.

    Args:
        models: the candidates.
        choose: given messages and sampling, the index of the model to ask. It must depend on nothing else,
            for the tape takes equal requests to have equal distributions.
        label: stands for `choose` in the identity, so give each rule its own.
    """

    models: Sequence[Model]
    choose: Choose
    label: str

    @property
    def name(self) -> str:
        """`route:LABEL(A|B)`."""
        return f"route:{self.label}({'|'.join(model.name for model in self.models)})"

    @property
    def identity(self) -> str:
        """The rule and the identities of all candidates."""
        return f"route:{self.label}({'|'.join(model.identity for model in self.models)})"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`."""
        index = self.choose(messages, sampling)
        if not 0 <= index < len(self.models):
            raise BadInput(f"{self.name} chose model {index!r}; expected 0 to {len(self.models) - 1}")
        return await self.models[index].sample(messages, n, sampling)


@dataclass(frozen=True)
class Fallback:
    """A model that asks the next of several when one has failed; the last one's error is raised.

    Args:
        models: in order of preference; at least one.
    """

    models: Sequence[Model]

    def __post_init__(self) -> None:
        if not self.models:
            raise BadInput("Fallback got no models; expected at least one")

    @property
    def name(self) -> str:
        """`fallback(A|B)`."""
        return f"fallback({'|'.join(model.name for model in self.models)})"

    @property
    def identity(self) -> str:
        """The identities of all candidates, in order."""
        return f"fallback({'|'.join(model.identity for model in self.models)})"

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`."""
        for model in self.models[:-1]:
            try:
                return await model.sample(messages, n, sampling)
            except ModelError:
                continue
        return await self.models[-1].sample(messages, n, sampling)
