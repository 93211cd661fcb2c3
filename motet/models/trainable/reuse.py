"""Keys and values of one text under many prefixes (KVCOMM; Ye et al. 2025, arXiv:2510.12872; catalogue 401).

Voices of a team read the same texts, the task and each other's replies, behind different beginnings, so that
an ordinary prefix cache is of no use. A text that comes again is not computed again: its keys and values
without a context are turned to their place and corrected by an offset, the difference that a context made to
other texts (anchors) that stood in the same slot of the same prompt. Where no anchor serves, it is computed,
and is an anchor from then on.

Anchors serve by the paper's rule, at its threshold: there are two or more, and the softmax of their distances
from the text has an entropy of at most gamma = 0.3 times the most it could be, which is to say that one of
them is plainly the nearest. Distances are lengths of differences of values, without a context and over all
layers, as in the authors' code.

Deviates: a text without a context is computed behind the first token of the prompt, which draws attention to
itself whatever it is. What a prompt says between shared texts is computed on the corrected keys and values,
where the paper estimates it too. A text that stood in the slot before is its own anchor. The offset is a mean
over all anchors, token by token, by the nearness of values for keys too, at a temperature of 0.1, where the
authors' code has 1.
"""

import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from motet.models.trainable.cache import new_cache
from motet.models.trainable.kv import Kv, can_turn, extend, lay, taken
from motet.models.trainable.weights import Policy
from motet.tape.context import CALL

Ids = tuple[int, ...]
SOFT = 0.1
"""Temperature of the weights of anchors, in mean absolute differences of values."""
Slot = tuple[Ids | None, ...]
"""What a prompt says up to a shared text; None stands for the shared texts in it."""


class Anchor(NamedTuple):
    """A text as it stood in a slot.

    Args:
        alone: its values without a context. offset: what the context added to keys (unturned) and values.
    """

    ids: Ids
    alone: Tensor
    offset: Kv


class Spent(NamedTuple):
    """Tokens of prompts so far: all of them, and those computed, texts without a context included."""

    asked: int = 0
    computed: int = 0

    @property
    def saved(self) -> float:
        """The share that was not computed."""
        return 1 - self.computed / self.asked if self.asked else 0.0


class KvPool:
    """What a model keeps of texts that its prompts have in common: `Torch("smollm2-135m", reuse=KvPool())`.

    Shared texts are those named here, the task of the run, and the replies that were passed. Models of
    several voices may have one pool; it serves any weights.

    Args:
        shared: texts that prompts have in common, such as documents; one may be a part of the task.
        gamma: anchors serve when the entropy of their nearness is at most gamma times the most it could be:
            one of them is plainly the nearest. At 1 any two serve; below 0 only the same text does.
        anchors: how many are kept in a slot; the oldest goes.
        least: tokens that a text must have.
        room: tokens of which keys and values are kept in all; what was used longest ago goes first.
    """

    def __init__(
        self,
        *shared: str,
        gamma: float = 0.3,
        anchors: int = 20,
        least: int = 16,
        room: int = 1 << 15,
    ) -> None:
        self.shared, self.gamma, self.anchors, self.least, self.room = shared, gamma, anchors, least, room
        self.name = f"kvcomm:gamma={gamma:g},anchors={anchors},least={least}"
        self.spent = Spent()
        self._held: OrderedDict[tuple[Any, ...], Kv] = OrderedDict()
        self._anchors: OrderedDict[tuple[str, Slot], list[Anchor]] = OrderedDict()

    def start(self, policy: Policy, prompt: Ids, spell: Callable[[str], Ids]) -> "Composed":
        """Where samples of this prompt begin."""
        context = CALL.get()
        texts = [source.text for source in context.sources] if context else []
        if context and context.task:
            texts.append(context.task.prompt)
        named, heard = ([spell(text.strip()) for text in some] for some in (self.shared, texts))
        wanted = [ids for ids in (*_longest_first(named), *_longest_first(heard)) if len(ids) >= self.least]
        return Composed(self, policy, prompt, spans(prompt, wanted))

    def note(self, asked: int, computed: int) -> None:
        """Add to what was spent."""
        self.spent = Spent(self.spent.asked + asked, self.spent.computed + computed)

    def held(self, key: tuple[Any, ...], make: Callable[[], Kv]) -> tuple[Kv, bool]:
        """Keys and values by key, and whether they had to be made."""
        if kv := self._held.get(key):
            self._held.move_to_end(key)
            return kv, False
        self._held[key] = kv = make()
        self._shrink()
        return kv, True

    def anchored(self, weights: str, slot: Slot, anchor: Anchor) -> None:
        """Keep an anchor."""
        known = self._anchors.setdefault((weights, slot), [])
        self._anchors[weights, slot] = [*known, anchor][-self.anchors :]
        self._anchors.move_to_end((weights, slot))
        self._shrink()

    def near(self, weights: str, slot: Slot, ids: Ids, alone: Kv) -> Kv | None:
        """The offset to expect of a text in a slot: a mean over its anchors, by nearness. None: none serves.

        Args:
            alone: keys and values of the text without a context.
        """
        n = len(ids)
        if (weights, slot) in self._anchors:
            self._anchors.move_to_end((weights, slot))
        long = [a for a in self._anchors.get((weights, slot), []) if len(a.ids) >= n]
        if same := [a.offset.cut(0, n) for a in long if a.ids[:n] == ids]:
            return same[-1]
        if len(long) < 2:
            return None
        apart = torch.stack([(a.alone[:, :, :n] - alone.values).double().norm() for a in long])
        entropy = float(torch.special.entr((-apart).softmax(0)).sum())
        if entropy > self.gamma * math.log(len(long)) + 1e-6:
            return None
        return mean_offset([(alone.values - a.alone[:, :, :n], a.offset.cut(0, n)) for a in long])

    @property
    def size(self) -> int:
        """Tokens of which keys and values are kept."""
        texts = sum(kv.length for kv in self._held.values())
        return texts + sum(len(a.ids) for some in self._anchors.values() for a in some)

    def _shrink(self) -> None:
        while self.size > self.room and (self._held or self._anchors):
            (self._held if len(self._held) > len(self._anchors) else self._anchors).popitem(last=False)


def mean_offset(anchors: Sequence[tuple[Tensor, Kv]]) -> Kv:
    """The mean offset of some anchors, token by token: the nearer an anchor's token, the more it weighs.

    Args:
        anchors: for each, how far its values without a context are from the text's, and its offset.
    """
    apart = torch.stack([away.abs().mean(dim=(0, 1, 3), keepdim=True) for away, _ in anchors])
    share = (-apart / SOFT).softmax(0)
    keys = sum_of(share, [offset.keys for _, offset in anchors])
    return Kv(keys, sum_of(share, [offset.values for _, offset in anchors]))


def sum_of(weights: Tensor, tensors: Sequence[Tensor]) -> Tensor:
    """The weighted sum of some tensors."""
    total = torch.zeros_like(tensors[0])
    for weight, tensor in zip(weights, tensors, strict=True):
        total += weight * tensor
    return total


def spans(prompt: Ids, wanted: Sequence[Ids]) -> list[tuple[int, int]]:
    """Where some texts stand in a prompt, in order; none over one that is wanted more, or at an end."""
    found: list[tuple[int, int]] = []
    for text in dict.fromkeys(wanted):
        # A tokenizer may join the ends of a text to what is beside them.
        forms = [ids for ids in (text, text[1:], text[:-1], text[1:-1]) if ids]
        ids = next((ids for ids in forms if _find(prompt, ids, 1) > 0), text)
        at = _find(prompt, ids, 1)
        while at > 0:
            stop = at + len(ids)
            if stop < len(prompt) and all(stop <= a or b <= at for a, b in found):
                found.append((at, stop))
            at = _find(prompt, ids, stop)
    return sorted(found)


def _longest_first(texts: Sequence[Ids]) -> list[Ids]:
    return sorted(texts, key=len, reverse=True)


def _find(prompt: Ids, ids: Ids, start: int) -> int:
    """Where the ids stand in the prompt, from `start` on; -1: nowhere."""
    last = len(prompt) - len(ids) if ids else -1
    places = (i for i in range(start, last + 1) if prompt[i] == ids[0])
    return next((i for i in places if prompt[i : i + len(ids)] == ids), -1)


class Composed:
    """The start of samples whose prompt is put together from what a pool has, and computed elsewhere."""

    def __init__(self, pool: KvPool, policy: Policy, prompt: Ids, shared: Sequence[tuple[int, int]]) -> None:
        self._pool, self._policy, self._prompt, self._shared = pool, policy, prompt, shared
        self._cache: Any = None
        self.computed = 0

    def begin(self, module: Any) -> tuple[Any, Ids]:
        """The cache of all up to the end of the last shared text, and the ids behind it."""
        self._cache, self.computed, done = new_cache(module.config), 0, 0
        slot: Slot = ()
        for start, stop in self._shared if can_turn(module) else ():
            if start > done:
                slot += (self._prompt[done:start],)
                self._between(module, slot, done)
            self._text(module, slot, self._prompt[start:stop])
            slot, done = (*slot, None), stop
        rest = self._prompt[done:]
        self.computed += len(rest)
        self._pool.note(len(self._prompt), self.computed)
        return self._cache, rest

    def _between(self, module: Any, slot: Slot, done: int) -> None:
        """Compute what is said before the first shared text, once for all prompts, or between two of them."""
        ids = slot[-1] or ()
        if done:
            extend(module, self._cache, ids=ids)
            self.computed += len(ids)
            return
        kv, made = self._pool.held(("beginning", self._policy.weights, ids), lambda: bare(module, ids))
        lay(self._cache, kv)
        self.computed += len(ids) if made else 0

    def _text(self, module: Any, slot: Slot, ids: Ids) -> None:
        """Lay a shared text behind what is there: from the pool if an anchor is near, computed otherwise."""
        weights, at = self._policy.weights, self._cache.get_seq_length()
        sink = self._prompt[:1]
        alone, made = self._pool.held(
            ("text", weights, sink, ids), lambda: bare(module, (*sink, *ids)).cut(1, len(ids) + 1)
        )
        self.computed += len(ids) + 1 if made else 0
        offset = self._pool.near(weights, slot, ids, alone)
        if offset:
            kv = Kv(alone.keys + offset.keys, alone.values + offset.values)
            lay(self._cache, kv.turned(module, at - 1))
            return
        extend(module, self._cache, ids=ids)
        self.computed += len(ids)
        seen = taken(self._cache, at).turned(module, 1 - at)
        offset = Kv(seen.keys - alone.keys, seen.values - alone.values)
        self._pool.anchored(weights, slot, Anchor(ids, alone.values, offset))


def bare(module: Any, ids: Ids) -> Kv:
    """Keys and values of some tokens with nothing before them."""
    cache = new_cache(module.config)
    extend(module, cache, ids=ids)
    return taken(cache)
