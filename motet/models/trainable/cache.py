"""Keys and values of a batch, with room to grow: adding a token copies that token and not the history."""

from typing import Any

import torch
from transformers.cache_utils import DynamicCache, DynamicLayer


class Roomy(DynamicLayer):
    """A layer's keys and values in buffers that double when they are full."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._buffers: list[torch.Tensor] = []

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_: Any, **__: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append, and return all there is."""
        length, more = self.get_seq_length(), key_states.shape[-2]
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        held: list[Any] = [self.keys, self.values]
        # Selecting rows puts new tensors in place of views into the buffers: start again from those.
        mine = self._buffers and all(
            h.data_ptr() == b.data_ptr() for h, b in zip(held, self._buffers, strict=True)
        )
        if not mine or self._buffers[0].shape[-2] < length + more:
            self._buffers = [
                _grown(h, new, length) for h, new in zip(held, (key_states, value_states), strict=True)
            ]
        for buffer, new in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[..., length : length + more, :] = new
        self.keys, self.values = (buffer[..., : length + more, :] for buffer in self._buffers)
        return self.keys, self.values


def _grown(held: torch.Tensor, new: torch.Tensor, length: int) -> torch.Tensor:
    room = max(2 * length, length + new.shape[-2] + 64)
    buffer = new.new_empty(*new.shape[:-2], room, new.shape[-1])
    if length:
        buffer[..., :length, :] = held
    return buffer


def new_cache(config: Any) -> DynamicCache:
    """An empty cache for a model of this configuration; layers of a kind of their own stay as they are."""
    cache = DynamicCache(config=config)
    cache.layers = [Roomy() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache
