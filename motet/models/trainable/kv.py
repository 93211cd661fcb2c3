"""Keys and values as things of their own: cut out of a cache, turned to other positions, laid into another.

With rotary positions (Su et al. 2021, arXiv:2104.09864) a key at position p is the bare key turned by p times
a fixed angle for each pair of its dimensions; turning it by d more gives the key at p + d.
"""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from motet.models.trainable.cache import Roomy, new_cache


class Kv(NamedTuple):
    """Keys and values of some tokens: [layers, heads, tokens, dimensions] each."""

    keys: Tensor
    values: Tensor

    @property
    def length(self) -> int:
        """How many tokens."""
        return int(self.keys.shape[2])

    def cut(self, start: int, stop: int) -> "Kv":
        """Those of some of the tokens."""
        return Kv(self.keys[:, :, start:stop], self.values[:, :, start:stop])

    def turned(self, module: Any, by: int) -> "Kv":
        """The same, `by` positions further on."""
        return Kv(turned(self.keys, _angles(module), by), self.values)


def taken(cache: Any, start: int = 0) -> Kv:
    """A copy of what a cache of one row holds, from a position on."""
    keys = torch.stack([layer.keys[0, :, start:] for layer in cache.layers])
    return Kv(keys, torch.stack([layer.values[0, :, start:] for layer in cache.layers]))


def lay(cache: Any, kv: Kv) -> None:
    """Append to a cache of one row; the keys must be turned to where they come to lie."""
    for layer, keys, values in zip(cache.layers, kv.keys, kv.values, strict=True):
        layer.update(keys[None], values[None])


def extend(module: Any, cache: Any, *, ids: tuple[int, ...] = (), embedding: Tensor | None = None) -> Tensor:
    """Compute some tokens, or one embedding, behind what the cache holds.

    Returns:
        The last layer's hidden state of the last of them, after the final norm: [dimensions].
    """
    seen = cache.get_seq_length()
    given: dict[str, Any]
    if embedding is None:
        given = {"input_ids": torch.tensor([ids], device=module.device)}
    else:
        given = {"inputs_embeds": embedding[None, None]}
    position = torch.arange(seen, seen + (len(ids) or 1), device=module.device)[None]
    out = module.base_model(position_ids=position, past_key_values=cache, use_cache=True, **given)
    hidden: Tensor = out.last_hidden_state[0, -1]
    return hidden


def turned(keys: Tensor, angles: Tensor, by: int) -> Tensor:
    """Keys [..., dimensions], `by` positions further on; `angles` are those of one position."""
    phase = (by * angles.double()).repeat(2)
    cos, sin = phase.cos().to(keys.dtype), phase.sin().to(keys.dtype)
    left, right = keys.chunk(2, dim=-1)
    return keys * cos + torch.cat([-right, left], dim=-1) * sin


def _angles(module: Any) -> Tensor:
    angles: Tensor = module.base_model.rotary_emb.inv_freq
    return angles


_CHECKED: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
APART = 5


def can_turn(module: Any) -> bool:
    """Whether keys of this model can be turned: found out by computing one token at two places, once.

    A token without a context has the same hidden states wherever it stands; only its keys are turned.
    """
    if module not in _CHECKED:
        _CHECKED[module] = _turns(module)
    return _CHECKED[module]


def _turns(module: Any) -> bool:
    angles = getattr(getattr(module.base_model, "rotary_emb", None), "inv_freq", None)
    if angles is None or not all(type(layer) is Roomy for layer in new_cache(module.config).layers):
        return False
    found = []
    with torch.inference_mode():
        for place in (0, APART):
            cache = new_cache(module.config)
            token = torch.tensor([[1]], device=module.device)
            at = torch.tensor([[place]], device=module.device)
            module.base_model(input_ids=token, position_ids=at, past_key_values=cache, use_cache=True)
            found.append(taken(cache).keys)
        first, second = found
        if first.shape[-1] != 2 * len(angles):
            return False
        return torch.allclose(turned(first, angles, APART), second, atol=1e-2 * float(second.abs().max()))
