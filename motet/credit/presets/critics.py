"""Credit that subtracts what a critic expected."""

from collections.abc import Callable
from math import fsum, isnan

from motet.credit.compare import std
from motet.credit.returns import gae, step_values, token_gae, turn_then_token_gae
from motet.credit.rewards import Outcome, progress, steps
from motet.credit.types import Batch, Credit, Numbers, Scores, Share, Trajectory, number, result, unscored


def _with_tokens(rows: Scores, tokens: list[list[list[float]]], whiten: bool) -> Credit:
    known = [x for step_rows in tokens for row in step_rows for x in row if not isnan(x)]
    centre, width = (fsum(known) / len(known), std(known) + 1e-8) if whiten and len(known) > 1 else (0.0, 1.0)
    fine = tuple(
        tuple(None if isnan(sum(row)) else tuple((x - centre) / width for x in row) for row in step_rows)
        for step_rows in tokens
    )
    credit = result(
        [[(x - centre) / width for x in row] for row in rows],
        {"unscored": unscored(rows)},
    )
    return Credit(credit.advantages, credit.counts, tokens=fine)


def ppo_token_gae(
    batch: Batch, *, gamma: Share = 1.0, lam: Share = 0.95, outcome: Outcome = "rest", whiten: bool = False
) -> Credit:
    """GAE over tokens; a step's number is the mean of its tokens'."""
    tokens = [token_gae(t, steps(t, outcome), gamma, lam) for t in batch.trajectories]
    return _with_tokens([[fsum(row) / len(row) for row in rows] for rows in tokens], tokens, whiten)


def ppo_turn_gae(
    batch: Batch,
    *,
    gamma: Share = 1.0,
    lam: Share = 0.95,
    turn_gamma: Share = 0.95,
    outcome: Outcome = "rest",
    whiten: bool = False,
) -> Credit:
    """GAE over turns, whose returns are then the rewards of GAE over each turn's tokens."""
    both = [turn_then_token_gae(t, steps(t, outcome), gamma, lam, turn_gamma) for t in batch.trajectories]
    return _with_tokens([turns for turns, _ in both], [tokens for _, tokens in both], whiten)


def _smallest(values: Numbers | None) -> float:
    return min(values) if isinstance(values, tuple) else number(values)


def archer(batch: Batch, *, gamma: Share = 0.9, outcome: Outcome = "rest") -> Credit:
    """min Q − min V of the turn's critics; without `q`, its target r + γ·min V of the next turn."""
    rows: Scores = []
    for t in batch.trajectories:
        values = step_values(t, min)
        if all(step.q is not None for step in t.steps):
            rows.append([_smallest(step.q) - v for step, v in zip(t.steps, values, strict=True)])
        else:
            rows.append(gae(steps(t, outcome), values, gamma, 0.0))
    return result(rows, {"unscored": unscored(rows)})


def gae_of(batch: Batch, source: Callable[[Trajectory], list[float]], gamma: float, lam: float) -> Credit:
    """GAE over steps of any source of reward."""
    rows = [gae(source(t), step_values(t, lambda values: values[0]), gamma, lam) for t in batch.trajectories]
    return result(rows, {"unscored": unscored(rows)})


def spa_rl(batch: Batch, *, beta: float = 0.5, gamma: Share = 1.0, lam: Share = 0.95) -> Credit:
    """PPO on c_t + β·executable_t, the progress each step is estimated to have made."""
    return gae_of(batch, lambda t: progress(t, beta), gamma, lam)
