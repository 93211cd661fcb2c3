"""Values of a tree of samples: what was continued several times is worth the mean of its continuations.

Trajectories are the paths from root to leaf; a node that several share has the same `node` name in each.
"""

from collections import defaultdict
from collections.abc import Hashable
from math import isnan, nan

from motet.credit.compare import mean
from motet.credit.types import Batch, Scores

Path = tuple[Hashable, ...]


def paths(batch: Batch) -> list[list[Path]]:
    """For each step, the nodes from the root to it. A step without a `node` is shared with nobody."""
    return [
        [
            (t.group, t.voice, *(step.node or (place, i) for i, step in enumerate(t.steps[: end + 1])))
            for end in range(len(t.steps))
        ]
        for place, t in enumerate(batch.trajectories)
    ]


def node_returns(batch: Batch, rewards: Scores, gamma: float) -> Scores:
    """R(node) = r(node) + γ · mean of its children's R (MAGRPO, MALT with r at the leaves and γ = 1).

    A path that is not scored (NaN) is no child; a node all of whose paths are unscored is NaN.
    """
    places = paths(batch)
    reward: dict[Path, float] = {}
    children: defaultdict[Path, set[Path]] = defaultdict(set)
    for row, values in zip(places, rewards, strict=True):
        for i, (path, value) in enumerate(zip(row, values, strict=True)):
            if not isnan(value) or path not in reward:
                reward[path] = value
            if i:
                children[row[i - 1]].add(path)
    worth: dict[Path, float] = {}
    for path in sorted(reward, key=len, reverse=True):
        after = [worth[child] for child in children[path] if not isnan(worth[child])]
        if children[path] and not after:
            worth[path] = nan
        else:
            worth[path] = reward[path] + (gamma * mean(after) if after else 0.0)
    return [[worth[path] for path in row] for row in places]
