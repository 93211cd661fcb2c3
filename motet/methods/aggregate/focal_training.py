"""Two policies learned by reinforcement from logged answers: who is asked, and whom to believe.

Paper: Tekin et al. 2025, arXiv:2502.04492 (catalogue 173).
Deviates: the paper trains two networks with PPO. The decider here has one logit a member and REINFORCE with
advantages normalised in each batch; the fusion has one weight a member, and the exact gradient of the
expected reward, since the reward of each answer is in the log.
"""

import math
from collections.abc import Sequence
from random import Random
from statistics import fmean, pstdev

from motet.methods.aggregate.focal_diversity import Log, fitness

BATCH = 16


def train_decider(
    log: Log,
    *,
    steps: int = 400,
    lr: float = 0.2,
    entropy: float = 0.2,
    w: float = 0.5,
    penalty: float = 0.1,
    seed: int = 0,
) -> tuple[int, ...]:
    """Learn which members to ask.

    Each step draws `BATCH` subsets, a member with its own probability, rewards each with its `fitness`, and
    moves the logits by REINFORCE and towards more entropy. A subset of fewer than two is filled up with the
    most probable members.

    Returns:
        The members that are asked with a probability above a half, or the two most probable.
    """
    rng = Random(seed)
    logits = [0.0] * log.size
    known: dict[tuple[int, ...], float] = {}
    for _ in range(steps):
        chances = [_sigmoid(x) for x in logits]
        drawn = [[rng.random() < p for p in chances] for _ in range(BATCH)]
        rewards = []
        for asked in drawn:
            members = _two_or_more([i for i, is_in in enumerate(asked) if is_in], logits)
            if members not in known:
                known[members] = fitness(log, members, w=w, penalty=penalty)
            rewards.append(known[members])
        mean, spread = fmean(rewards), pstdev(rewards) or 1.0
        for i, p in enumerate(chances):
            slope = fmean((r - mean) / spread * (a[i] - p) for r, a in zip(rewards, drawn, strict=True))
            logits[i] += lr * (slope - entropy * logits[i] * p * (1 - p))
    return _two_or_more([i for i, x in enumerate(logits) if x > 0], logits)


def _two_or_more(members: Sequence[int], logits: Sequence[float]) -> tuple[int, ...]:
    likely = sorted(range(len(logits)), key=lambda i: (i not in members, -logits[i]))
    return tuple(sorted(likely[: max(2, len(members))]))


def train_fusion(log: Log, members: Sequence[int], *, steps: int = 200, lr: float = 1.0) -> tuple[float, ...]:
    """Learn how much to believe each member when they differ.

    An answer is given with the softmax of the sums of weights of those who gave it. Its reward is 1 when it
    is right and -1 when not; the weights follow the gradient of the expected reward.

    Returns:
        A weight for each of the members, in their order.
    """
    weights = [1.0] * len(members)
    rows = [
        ([row[m] for m in members], gold)
        for row, gold in zip(log.answers, log.gold, strict=True)
        if len({row[m] for m in members} - {None}) > 1
    ]
    for _ in range(steps if rows else 0):
        slope = [0.0] * len(members)
        for row, gold in rows:
            given = {a for a in row if a is not None}
            sums = {a: math.exp(sum(v for v, b in zip(weights, row, strict=True) if b == a)) for a in given}
            chance = {a: s / sum(sums.values()) for a, s in sums.items()}
            expected = sum(p * _reward(a, gold) for a, p in chance.items())
            for i, a in enumerate(row):
                if a is not None:
                    slope[i] += chance[a] * (_reward(a, gold) - expected)
        weights = [v + lr * s / len(rows) for v, s in zip(weights, slope, strict=True)]
    return tuple(weights)


def _reward(answer: str, gold: str) -> float:
    return 1.0 if answer == gold else -1.0


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))
