"""Rows as one tree of tokens: what several rows begin with is computed once, in the update as in the rollout.

The tree is laid out as a single sequence in which a token sees its ancestors only and has its depth for a
position. That gives every token the hidden state it has in its own row, without padding.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor

from motet.train.batch import Batch


class Tree(NamedTuple):
    """N tokens, parents before children; for each of M trained tokens the place of the one that scores it."""

    ids_N: Tensor
    depth_N: Tensor
    sees_N_N: Tensor
    scorer_M: Tensor


def grow(batch: Batch) -> Tree | None:
    """The tree of these rows, or None where it would save less than a quarter of the tokens."""
    places: dict[tuple[int, int], int] = {}
    parents: list[int] = []
    ids: list[int] = []
    scorers: list[int] = []
    widths = [int(row.nonzero().max()) if bool(row.any()) else 0 for row in batch.mask_B_T]
    for row, on, width in zip(batch.ids_B_T.tolist(), batch.mask_B_T.tolist(), widths, strict=True):
        at = -1
        for t in range(width):
            key = at, row[t]
            if key not in places:
                places[key] = len(ids)
                parents.append(at)
                ids.append(row[t])
            at = places[key]
            if on[t + 1]:
                scorers.append(at)
    if len(ids) > 0.75 * len(widths) * max(widths):
        return None
    sees, depth = torch.eye(len(ids), dtype=torch.bool), [0] * len(ids)
    for i, parent in enumerate(parents):
        if parent >= 0:
            sees[i] |= sees[parent]
            depth[i] = depth[parent] + 1
    return Tree(torch.tensor(ids), torch.tensor(depth), sees, torch.tensor(scorers))


def arguments(tree: Tree, device: Any) -> dict[str, Tensor]:
    """What the module is called with."""
    seen = torch.zeros(tree.sees_N_N.shape).masked_fill(~tree.sees_N_N, torch.finfo(torch.float32).min)
    return {
        "input_ids": tree.ids_N[None].to(device),
        "position_ids": tree.depth_N[None].to(device),
        "attention_mask": seen[None, None].to(device),
    }


def fits(config: Any) -> bool:
    """Whether a model of this configuration attends by the mask alone, in all layers alike.

    Windows slide over places and not over depths, and slopes of ALiBi do too.
    """
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    window = getattr(config, "sliding_window", None) if getattr(config, "use_sliding_window", True) else None
    rotary = getattr(config, "rope_parameters", None) or getattr(config, "rope_theta", None)
    return kinds == {"full_attention"} and not window and bool(rotary)
