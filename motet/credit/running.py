"""Baselines that live across batches: an exponential moving average for each key."""

from collections.abc import Hashable, Mapping, Sequence
from math import isnan, nan


def running(
    rewards: Sequence[float], keys: Sequence[Hashable], state: Mapping[str, float], decay: float
) -> tuple[list[float], dict[str, float]]:
    """A = R − b with the b from before this trajectory, then b ← decay·b + (1 − decay)·R, in the order given.

    Args:
        rewards: NaN where there is no score: no advantage, and b stays.
        keys: whose baseline.
        state: the baselines so far, 0 for a key not met before.

    Returns:
        The advantages, and the baselines for the next batch.
    """
    baselines, found = dict(state), []
    for reward, key in zip(rewards, keys, strict=True):
        name = name_of(key)
        before = baselines.get(name, 0.0)
        found.append(nan if isnan(reward) else reward - before)
        if not isnan(reward):
            baselines[name] = decay * before + (1 - decay) * reward
    return found, baselines


def name_of(key: Hashable) -> str:
    """How a baseline is called in a document: the parts of its key joined by slashes; `all` for everybody."""
    if key is None:
        return "all"
    return "/".join(map(str, key)) if isinstance(key, tuple) else str(key)
