"""Rows as tensors, and how they are dealt out into micro-batches."""

from collections.abc import Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy
import torch
from torch import Tensor

from motet.train.rows import Row


class Batch(NamedTuple):
    """Rows side by side, padded on the right; numbers are 64-bit, NaN where nothing is known."""

    ids_B_T: Tensor
    mask_B_T: Tensor
    length_B: Tensor
    sampler_B_T: Tensor
    old_B_T: Tensor
    reference_B_T: Tensor
    advantage_B_T: Tensor
    weight_B_T: Tensor
    return_B_T: Tensor
    reward_B: Tensor
    label_B: Tensor

    def to(self, device: object) -> "Batch":
        """The same on another device."""
        return Batch(*(tensor.to(device) for tensor in self))  # type: ignore[call-overload]


def tensors(rows: Sequence[Row]) -> Batch:
    """Put rows side by side. The first id of a row has nothing before it and is never trained on."""
    width = max(len(row.ids) for row in rows)

    def numbers(name: str) -> Tensor:
        every = [getattr(row, name) for row in rows]
        if not any(every):
            return torch.full((len(rows), width), torch.nan, dtype=torch.float64)
        return torch.from_numpy(numpy.array([(*one, *[torch.nan] * (width - len(one))) for one in every]))

    mask = torch.from_numpy(numpy.array([(*row.mask, *[False] * (width - len(row.ids))) for row in rows]))
    mask[:, 0] = False
    return Batch(
        ids_B_T=torch.from_numpy(numpy.array([(*row.ids, *[0] * (width - len(row.ids))) for row in rows])),
        mask_B_T=mask,
        length_B=torch.tensor([len(row.ids) for row in rows]),
        sampler_B_T=numbers("logprobs"),
        old_B_T=numbers("old"),
        reference_B_T=numbers("reference"),
        advantage_B_T=numbers("advantages"),
        weight_B_T=numbers("weights"),
        return_B_T=numbers("returns"),
        reward_B=torch.tensor(
            [torch.nan if row.reward is None else row.reward for row in rows], dtype=torch.float64
        ),
        label_B=torch.tensor([row.label for row in rows], dtype=torch.float64),
    )


def minibatches(rows: Sequence[Row], parts: int, epochs: int, seed: str) -> Iterator[list[Row]]:
    """The rows of each gradient step: every epoch goes through the same parts, dealt by chance.

    Args:
        parts: how many; one holds all rows in their order.
        seed: of the dealing.
    """
    order = Random(seed).sample(list(rows), len(rows)) if parts > 1 else list(rows)
    dealt = [order[first::parts] for first in range(min(parts, len(order)))]
    for _ in range(epochs):
        yield from dealt


def _neighbours(row: Row) -> tuple[int, tuple[int, ...], int]:
    """What rows are sorted by: their prompts, short ones first, and then their length."""
    prompt = row.mask.index(True) if True in row.mask else len(row.ids)
    return prompt, row.ids[:prompt], len(row.ids)


def micro_batches(rows: Sequence[Row], tokens: int) -> Iterator[list[int]]:
    """Deal rows out so that equal beginnings meet and little is padded; rows of one pair stay together.

    Args:
        tokens: padded tokens that a micro-batch has at most, unless a single row or pair has more.
    """
    units: dict[object, list[int]] = {}
    for i, row in enumerate(rows):
        units.setdefault(row.pair or i, []).append(i)
    batch: list[int] = []
    width = 0
    for unit in sorted(units.values(), key=lambda unit: _neighbours(rows[unit[0]])):
        longest = max(width, *(len(rows[i].ids) for i in unit))
        if batch and longest * (len(batch) + len(unit)) > tokens:
            yield batch
            batch, longest = [], max(len(rows[i].ids) for i in unit)
        batch, width = [*batch, *unit], longest
    if batch:
        yield batch
