"""What the outputs of a small network mean: one of a few actions, a vector, or a value."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import e, pi
from random import Random
from typing import Any, Protocol

import torch
from torch import Tensor

from motet.losses import entropy as entropy_of
from motet.models.arrays import array_part, floats_of, ids_of

Scored = tuple[Tensor, Tensor]
"""Log-probability and entropy of each id, both [B, W]."""


class Head(Protocol):
    """The last step of a network. Axes: B rows, O outputs, W ids of an action."""

    @property
    def width(self) -> int:
        """How many ids an action is."""
        ...

    @property
    def outputs(self) -> int:
        """How many numbers the network gives for it."""
        ...

    def score(self, out_B_O: Tensor, said_B_W: Tensor) -> Scored: ...

    def draw(self, out_B_O: Tensor, heat_B: Tensor, chance: Sequence[Random]) -> list[tuple[int, ...]]:
        """An action for each row, as ids."""
        ...

    def act(self, ids: tuple[int, ...]) -> Any:
        """The action as an environment takes it."""
        ...


@dataclass(frozen=True)
class Discrete:
    """One of `outputs` actions; its id is its number."""

    outputs: int
    width: int = 1

    def score(self, out_B_O: Tensor, said_B_W: Tensor) -> Scored:
        return out_B_O.log_softmax(-1).gather(1, said_B_W), entropy_of(out_B_O)[:, None]

    def draw(self, out_B_O: Tensor, heat_B: Tensor, chance: Sequence[Random]) -> list[tuple[int, ...]]:
        shaped_B_O = (out_B_O.double() / heat_B.clamp(min=1e-6)[:, None]).softmax(-1)
        uniform_B = torch.tensor([one.random() for one in chance], dtype=torch.float64)
        chosen_B = (shaped_B_O.cumsum(-1) < uniform_B[:, None]).sum(-1).clamp(max=self.outputs - 1)
        return [(chosen,) for chosen in chosen_B.tolist()]

    def act(self, ids: tuple[int, ...]) -> int:
        return ids[0]


@dataclass(frozen=True)
class Gaussian:
    """A vector of `width` numbers, each from a normal distribution whose spread depends on what is seen.

    An id is the bits of a number. The environment gets it cut off at `low` and `high`.
    """

    width: int
    low: float = -1.0
    high: float = 1.0

    @property
    def outputs(self) -> int:
        return 2 * self.width

    def _parts(self, out_B_O: Tensor) -> tuple[Tensor, Tensor]:
        return out_B_O[:, : self.width].double(), out_B_O[:, self.width :].clamp(-5, 2).double()

    def score(self, out_B_O: Tensor, said_B_W: Tensor) -> Scored:
        mean_B_W, log_std_B_W = self._parts(out_B_O)
        off_B_W = (floats(said_B_W).double() - mean_B_W) / log_std_B_W.exp()
        logp_B_W = -(off_B_W**2) / 2 - log_std_B_W - torch.tensor(2 * pi).log() / 2
        return logp_B_W, log_std_B_W + torch.tensor(2 * pi * e).log() / 2

    def draw(self, out_B_O: Tensor, heat_B: Tensor, chance: Sequence[Random]) -> list[tuple[int, ...]]:
        mean_B_W, log_std_B_W = self._parts(out_B_O)
        noise_B_W = torch.tensor([[one.gauss() for _ in range(self.width)] for one in chance]).double()
        said_B_W = mean_B_W + heat_B[:, None] * log_std_B_W.exp() * noise_B_W
        return [ids_of(array_part(row).data or b"") for row in said_B_W.numpy()]

    def act(self, ids: tuple[int, ...]) -> Any:
        import numpy

        return numpy.array(floats_of(ids), dtype="float32").clip(self.low, self.high)


@dataclass(frozen=True)
class Value:
    """What a state is worth: `scale` times the output, in place of a log-probability."""

    scale: float = 1.0
    outputs: int = 1
    width: int = 1

    def score(self, out_B_O: Tensor, said_B_W: Tensor) -> Scored:
        return self.scale * out_B_O, torch.zeros_like(out_B_O)

    def draw(self, out_B_O: Tensor, heat_B: Tensor, chance: Sequence[Random]) -> list[tuple[int, ...]]:
        raise AssertionError("a critic is not asked to act")

    def act(self, ids: tuple[int, ...]) -> Any:
        raise AssertionError("a critic is not asked to act")


def floats(ids: Tensor) -> Tensor:
    """The numbers whose bits these ids are."""
    return torch.from_numpy(ids.numpy().astype("<u4").view("<f4"))
