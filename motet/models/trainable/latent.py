"""Latent thoughts and the working memory made of them (Zou et al. 2025, arXiv:2511.20639; catalogue 29).

A step of thought feeds the last hidden state back as the next input instead of a word: h W_a, where the
alignment W_a takes output space to input space as well as a linear map can, scaled to the length that input
embeddings have. What a voice read and thought is handed on as keys and values; nothing is computed again.
"""

from collections import OrderedDict
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from motet.models.latent import Thought
from motet.models.trainable.cache import new_cache
from motet.models.trainable.kv import Kv, extend, lay, taken
from motet.models.trainable.weights import Base

RIDGE = 1e-5
"""lambda of the ridge regression."""
KEPT_TOKENS = 1 << 15
"""Of how many tokens a base keeps the keys and values; the thoughts that were used longest ago go first."""


class Alignment(NamedTuple):
    """The matrix W_a [dimensions, dimensions], and the mean length of an input embedding."""

    matrix: Tensor
    norm: Tensor

    def __call__(self, hidden: Tensor) -> Tensor:
        """The input embedding that stands for a hidden state."""
        aligned = hidden.float() @ self.matrix
        scaled: Tensor = aligned * (self.norm / aligned.norm().clamp_min(1e-6))
        return scaled.to(hidden.dtype)


def alignment(module: Any) -> Alignment:
    """W_a = (O'O + lambda I)^-1 O'E, which minimises |O W_a - E|^2 + lambda |W_a|^2.

    O is the output embedding and E the input embedding, [words, dimensions] each.
    """
    with torch.inference_mode():
        e = module.get_input_embeddings().weight.float()
        o = module.get_output_embeddings().weight.float()
        ridge = RIDGE * torch.eye(o.shape[1], device=o.device)
        return Alignment(torch.linalg.solve(o.T @ o + ridge, o.T @ e), e.norm(dim=1).mean())


class Thinker:
    """What one base remembers: its alignments by the weights they belong to, and its thoughts."""

    def __init__(self) -> None:
        self._aligned: tuple[str, Alignment] | None = None
        self._held: OrderedDict[Thought, Kv] = OrderedDict()

    def think(self, module: Any, thought: Thought) -> int:
        """Think; the keys and values are kept.

        Returns:
            How many tokens and steps had to be computed.
        """
        with torch.inference_mode():
            return self._recall(module, thought)[1]

    def memory(self, module: Any, thoughts: tuple[Thought, ...]) -> tuple[Any, int]:
        """A cache that holds these thoughts one behind the other.

        Keys of the second and later ones are turned to their new places; with one thought, which is all there
        is in a chain, everything is as it was computed.

        Returns:
            The cache, and how many tokens and steps had to be computed again.
        """
        cache, computed = new_cache(module.config), 0
        with torch.inference_mode():
            for thought in thoughts:
                kv, work = self._recall(module, thought)
                at = cache.get_seq_length()
                lay(cache, kv.turned(module, at) if at else kv)
                computed += work
        return cache, computed

    def _recall(self, module: Any, thought: Thought) -> tuple[Kv, int]:
        if kv := self._held.get(thought):
            self._held.move_to_end(thought)
            return kv, 0
        cache, computed = self.memory(module, thought.before)
        hidden = extend(module, cache, ids=thought.ids)
        if thought.steps:
            align = self._alignment(module, thought.space)
            for _ in range(thought.steps):
                hidden = extend(module, cache, embedding=align(hidden))
        self._held[thought] = kv = taken(cache)
        while len(self._held) > 1 and sum(k.length for k in self._held.values()) > KEPT_TOKENS:
            self._held.popitem(last=False)
        return kv, computed + len(thought.ids) + thought.steps

    def _alignment(self, module: Any, space: str) -> Alignment:
        if self._aligned is None or self._aligned[0] != space:
            self._aligned = space, alignment(module)
        return self._aligned[1]


_THINKERS: WeakKeyDictionary[Base, Thinker] = WeakKeyDictionary()


def thinker(base: Base) -> Thinker:
    """What this base remembers: all policies on it share it, each in its own space."""
    return _THINKERS.setdefault(base, Thinker())


class Remembering:
    """The start of samples that have thoughts in front of their prompt."""

    def __init__(self, base: Base, before: tuple[Thought, ...], prompt: tuple[int, ...]) -> None:
        self._base, self._before, self._prompt = base, before, prompt
        self.computed = 0

    def begin(self, module: Any) -> tuple[Any, tuple[int, ...]]:
        """The cache with the thoughts, and the ids that are to be computed behind it."""
        cache, again = thinker(self._base).memory(module, self._before)
        self.computed = again + len(self._prompt)
        return cache, self._prompt
