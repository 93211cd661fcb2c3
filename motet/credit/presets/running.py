"""REINFORCE with baselines that run on across batches."""

from math import nan

from motet.credit.keys import KEYS, TrajectoryKey
from motet.credit.running import running
from motet.credit.types import Batch, Credit, Share, result, spread


def reinforce(
    batch: Batch, *, decay: Share = 0.95, key: TrajectoryKey = "all", drop_zero: bool = False
) -> Credit:
    """The outcome less a running mean of the outcomes before it."""
    found, state = running(
        [t.outcome for t in batch.trajectories],
        [KEYS[key](t, 0) for t in batch.trajectories],
        batch.state,
        decay,
    )
    zeros = sum(x == 0 for x in found) if drop_zero else 0
    kept = [nan if drop_zero and x == 0 else x for x in found]
    counts = {"unscored": sum(x != x for x in found), "filtered": zeros, "baselines": len(state)}
    credit = result(spread(kept, batch), counts)
    return Credit(credit.advantages, credit.counts, state)


def rae(batch: Batch, *, decay: Share = 0.95, drop_zero: bool = False) -> Credit:
    """REINFORCE with a running mean for each game and role."""
    return reinforce(batch, decay=decay, key="game_voice", drop_zero=drop_zero)
