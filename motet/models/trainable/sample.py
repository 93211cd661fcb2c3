"""Samples from a causal language model, many at a time: each prompt is computed once for all its samples, and
what all prompts of a batch begin with is computed once for all of them.

A sample depends on its seed and prompt, and not on what it is drawn together with (up to rounding): every row
draws its own uniform numbers, one a token, and reads its token off the cumulative distribution.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from msgspec import Struct
from torch import Tensor

from motet.models.trainable.cache import new_cache
from motet.models.trainable.words import Vocabulary
from motet.types import Sampling, StopReason

MIN_SHARED = 8
"""Tokens that prompts must have in common before they are computed apart from the rest."""


class Start(Protocol):
    """Where samples begin whose prompt is not computed from its ids alone (`latent`, `reuse`).

    Args:
        computed: tokens that `begin` had to compute, those of the ids that it returns included.
    """

    computed: int

    def begin(self, module: Any) -> tuple[Any, tuple[int, ...]]:
        """A cache of one row, the sampler's own from then on, and one or more ids to compute behind it."""
        ...


def _never() -> bool:
    return False


class Request(Struct, frozen=True):
    """A prompt, and the samples wanted of it; `gone` tells that nobody waits for them any more.

    Those with a start of their own are computed apart from other requests.
    """

    prompt: tuple[int, ...]
    seeds: tuple[int, ...]
    sampling: Sampling
    max_tokens: int
    gone: Callable[[], bool] = _never
    start: Start | None = None


class Drawn(Struct, frozen=True):
    """A sample: its ids, their log-probabilities at temperature 1, why it ended, and its words."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    stop: StopReason
    text: str


Drawing = tuple[str, list[list[Drawn]]]
"""The version of the weights, and what was drawn from them for each request."""


@dataclass(eq=False)
class _Row:
    request: Request
    uniform: list[float]
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    stop: StopReason | None = None
    text: str | None = None


def generate(
    module: Any, vocabulary: Vocabulary, requests: Sequence[Request], *, rows: int = 64
) -> list[list[Drawn]]:
    """Draw what is wanted; the caller sees to it that prompts and replies fit the context.

    Args:
        rows: how many samples are computed side by side at most.
    """
    every = [[_Row(r, _uniform(r, seed)) for seed in r.seeds] for r in requests]
    plain = [row for group in every for row in group if row.request.start is None]
    apart = [group for group, request in zip(every, requests, strict=True) if request.start]
    # Sharded layers keep buffers from pass to pass, and nothing of inference mode can be trained with.
    with torch.inference_mode(not hasattr(module, "reshard")), torch.no_grad():
        for some in (plain, *apart):
            for at in range(0, len(some), rows):
                _finish(module, vocabulary, some[at : at + rows])
    return [[_drawn(row, vocabulary) for row in group] for group in every]


def _uniform(request: Request, seed: int) -> list[float]:
    # The prompt is in it, or all prompts of a run would be sampled with the same numbers.
    text = repr((seed, request.prompt)).encode()
    number = int.from_bytes(hashlib.blake2b(text, digest_size=7).digest())
    generator = torch.Generator().manual_seed(number)
    return torch.rand(request.max_tokens, generator=generator, dtype=torch.float64).tolist()


def _drawn(row: _Row, vocabulary: Vocabulary) -> Drawn:
    text = vocabulary.decode(row.ids) if row.text is None else row.text
    return Drawn(tuple(row.ids), tuple(row.logprobs), row.stop or StopReason.LENGTH, text)


def _finish(module: Any, vocabulary: Vocabulary, live: list[_Row]) -> None:
    """Sample these rows to their ends."""
    prompts = list(dict.fromkeys(row.request.prompt for row in live))
    index = torch.tensor([prompts.index(row.request.prompt) for row in live], device=module.device)
    position = torch.tensor([len(row.request.prompt) for row in live], device=module.device)[:, None]
    if start := live[0].request.start:
        cache, logits, mask = _begun(module, start)
        position = torch.full_like(position, cache.get_seq_length())
    else:
        cache = new_cache(module.config)
        logits, mask = _prefill(module, vocabulary, prompts, cache)
    logits, mask = logits[index], None if mask is None else mask[index]
    if len(live) != len(prompts):
        cache.batch_select_indices(index)
    while True:
        ids = _choose(logits.float(), live, vocabulary)
        left = [i for i, row in enumerate(live) if row.stop is None]
        if not left:
            return
        # Taking rows out copies the whole cache: not for each one that ends.
        if len(left) <= 0.75 * len(live):
            keep = torch.tensor(left, device=module.device)
            cache.batch_select_indices(keep)
            ids, position, live = ids[keep], position[keep], [live[i] for i in left]
            mask = None if mask is None else mask[keep]
        if mask is not None:
            mask = torch.cat([mask, mask.new_ones(len(mask), 1)], dim=1)
        logits = _forward(module, ids[:, None], mask, position, cache)
        position = position + 1


def _prefill(
    module: Any, vocabulary: Vocabulary, prompts: list[tuple[int, ...]], cache: Any
) -> tuple[Tensor, Tensor | None]:
    """Compute the prompts; logits of what comes next, and the mask of padding (None when there is none)."""
    longest = max(map(len, prompts))
    shared = _shared(prompts) if len(prompts) > 1 else 0
    if shared:
        beginning = torch.tensor([prompts[0][:shared]], device=module.device)
        _forward(module, beginning, None, torch.arange(shared, device=module.device)[None], cache)
        cache.batch_repeat_interleave(len(prompts))
    width = longest - shared
    ids = torch.full((len(prompts), width), vocabulary.pad)
    mask = torch.ones(len(prompts), longest, dtype=torch.long)
    for i, prompt in enumerate(prompts):
        pad = longest - len(prompt)
        ids[i, pad:] = torch.tensor(prompt[shared:])
        mask[i, shared : shared + pad] = 0
    position = (mask.cumsum(1) - 1).clamp(min=0)[:, shared:].to(module.device)
    padded = None if bool(mask.all()) else mask.to(module.device)
    return _forward(module, ids.to(module.device), padded, position, cache), padded


def _begun(module: Any, start: Start) -> tuple[Any, Tensor, None]:
    """The cache of a start, its prompt computed to the end; logits of what comes next, and no mask."""
    cache, rest = start.begin(module)
    seen = cache.get_seq_length()
    position = torch.arange(seen, seen + len(rest), device=module.device)[None]
    return cache, _forward(module, torch.tensor([rest], device=module.device), None, position, cache), None


def _shared(prompts: list[tuple[int, ...]]) -> int:
    """How many tokens all prompts begin with, leaving each at least one of its own."""
    first, last = min(prompts), max(prompts)
    most = min(map(len, prompts)) - 1
    shared = next((i for i in range(most) if first[i] != last[i]), most)
    return shared if shared >= MIN_SHARED else 0


def _forward(module: Any, ids: Tensor, mask: Tensor | None, position: Tensor, cache: Any) -> Tensor:
    out = module(
        input_ids=ids,
        attention_mask=mask,
        position_ids=position,
        past_key_values=cache,
        use_cache=True,
        logits_to_keep=1,
    )
    logits: Tensor = out.logits[:, -1]
    return logits


def _choose(logits: Tensor, live: list[_Row], vocabulary: Vocabulary) -> Tensor:
    """Sample the next token of each row and note it; rows that have ended get any token."""
    logp = logits.log_softmax(-1)
    shaped = _shaped(logits, logp, live)
    step = [row.uniform[len(row.ids)] if row.stop is None else 0.0 for row in live]
    mass = shaped.cumsum(-1, dtype=torch.float64)
    at = torch.tensor(step, dtype=torch.float64, device=logits.device)[:, None] * mass[:, -1:]
    # `right`: a word of probability 0 has an empty interval and cannot be hit.
    ids = torch.searchsorted(mass, at, right=True).clamp(max=logits.shape[-1] - 1)
    chosen = logp.gather(1, ids)[:, 0].tolist()
    for row, token, log in zip(live, ids[:, 0].tolist(), chosen, strict=True):
        if row.stop is None:
            row.ids.append(token)
            row.logprobs.append(log)
            _end(row, vocabulary)
    return ids[:, 0]


def _end(row: _Row, vocabulary: Vocabulary) -> None:
    """Note whether the row ends with the token it just got."""
    sampling = row.request.sampling
    if row.ids[-1] in vocabulary.ends:
        row.stop = StopReason.END
    elif sampling.stop and (text := _cut(vocabulary.decode(row.ids), sampling.stop)) is not None:
        row.stop, row.text = StopReason.STOP, text
    elif len(row.ids) >= row.request.max_tokens or (len(row.ids) % 16 == 0 and row.request.gone()):
        row.stop = StopReason.LENGTH


def _cut(text: str, words: Sequence[str]) -> str | None:
    """The text before the first stop word; None when there is none in it."""
    found = [text.index(word) for word in words if word in text]
    return text[: min(found)] if found else None


def _shaped(logits: Tensor, logp: Tensor, live: list[_Row]) -> Tensor:
    """Probabilities to sample from: as the model has them, unless a row's knobs say otherwise."""
    shaped = logp.exp()
    for i, row in enumerate(live):
        knobs = row.request.sampling
        if knobs.temperature == 0:
            shaped[i] = 0
            shaped[i, logits[i].argmax()] = 1
            continue
        if knobs.temperature not in (None, 1.0):
            shaped[i] = (logits[i] / knobs.temperature).softmax(-1)
        for cut in _cuts(knobs):
            shaped[i] = cut(shaped[i])
    return shaped


def _cuts(knobs: Sampling) -> Iterator[Callable[[Tensor], Tensor]]:
    if knobs.top_k:
        k = knobs.top_k
        yield lambda p: p * (p >= p.topk(min(k, len(p))).values[-1])
    if knobs.top_p is not None and knobs.top_p < 1:
        yield lambda p: _nucleus(p, knobs.top_p or 0.0)
    if knobs.min_p:
        least = knobs.min_p
        yield lambda p: p * (p >= least * p.max())


def _nucleus(p: Tensor, share: float) -> Tensor:
    """The fewest most probable words that hold `share` of the probability."""
    ordered, index = p.sort(descending=True)
    before = ordered.cumsum(-1) - ordered
    return p * torch.zeros_like(p).scatter(0, index, (before < share * ordered.sum()).to(p.dtype))
