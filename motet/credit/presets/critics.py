"""Credit that subtracts what a critic expected."""

from collections.abc import Callable
from math import fsum, isnan, nan

from motet.credit.compare import by_step, std
from motet.credit.keys import episodes
from motet.credit.returns import discounted, gae, step_values, token_gae, turn_then_token_gae
from motet.credit.rewards import Outcome, progress, steps
from motet.credit.types import Batch, Credit, Numbers, Scores, Trajectory, number, result


def _with_tokens(rows: Scores, tokens: list[list[list[float]]], whiten: bool) -> Credit:
    known = [x for step_rows in tokens for row in step_rows for x in row if not isnan(x)]
    centre, width = (fsum(known) / len(known), std(known) + 1e-8) if whiten and len(known) > 1 else (0.0, 1.0)
    fine = tuple(
        tuple(None if isnan(sum(row)) else tuple((x - centre) / width for x in row) for row in step_rows)
        for step_rows in tokens
    )
    credit = result(
        [[(x - centre) / width for x in row] for row in rows],
        {"unscored": sum(any(isnan(x) for x in row) for row in rows)},
    )
    return Credit(credit.advantages, credit.counts, tokens=fine)


def ppo_token_gae(
    batch: Batch, *, gamma: float = 1.0, lam: float = 0.95, outcome: Outcome = "rest", whiten: bool = False
) -> Credit:
    """GAE over tokens; a step's number is the mean of its tokens'."""
    tokens = [token_gae(t, steps(t, outcome), gamma, lam) for t in batch.trajectories]
    return _with_tokens([[fsum(row) / len(row) for row in rows] for rows in tokens], tokens, whiten)


def ppo_turn_gae(
    batch: Batch,
    *,
    gamma: float = 1.0,
    lam: float = 0.95,
    turn_gamma: float = 0.95,
    outcome: Outcome = "rest",
    whiten: bool = False,
) -> Credit:
    """GAE over turns, whose returns are then the rewards of GAE over each turn's tokens."""
    both = [turn_then_token_gae(t, steps(t, outcome), gamma, lam, turn_gamma) for t in batch.trajectories]
    return _with_tokens([turns for turns, _ in both], [tokens for _, tokens in both], whiten)


def _smallest(values: Numbers | None) -> float:
    return min(values) if isinstance(values, tuple) else number(values)


def archer(batch: Batch, *, gamma: float = 0.9, outcome: Outcome = "rest") -> Credit:
    """min Q − min V of the turn's critics; without `q`, its target r + γ·min V of the next turn."""
    rows: Scores = []
    for t in batch.trajectories:
        values = step_values(t, min)
        if all(step.q is not None for step in t.steps):
            rows.append([_smallest(step.q) - v for step, v in zip(t.steps, values, strict=True)])
        else:
            rows.append(gae(steps(t, outcome), values, gamma, 0.0))
    return result(rows, {"unscored": sum(any(isnan(x) for x in row) for row in rows)})


def _returns_or_gae(
    batch: Batch, source: Callable[[Trajectory], list[float]], gamma: float, lam: float
) -> Credit:
    """GAE where every step has a value; else discounted returns against the same turn of the group."""
    rewards = [source(t) for t in batch.trajectories]
    if all(step.value is not None for t in batch.trajectories for step in t.steps):
        rows = [
            gae(row, step_values(t, lambda values: values[0]), gamma, lam)
            for row, t in zip(rewards, batch.trajectories, strict=True)
        ]
        return result(rows, {"unscored": sum(any(isnan(x) for x in row) for row in rows)})
    turns = Batch(tuple(t for t in batch.trajectories))
    returns = [discounted(row, gamma) for row in rewards]
    return result(*by_step(turns, returns, "task_turn"))


def spa_rl(batch: Batch, *, beta: float = 0.5, gamma: float = 1.0, lam: float = 0.95) -> Credit:
    """PPO on c_t + β·executable_t, the progress each step is estimated to have made."""
    return _returns_or_gae(batch, lambda t: progress(t, beta), gamma, lam)


def mmoa_rag(batch: Batch, *, gamma: float = 1.0, lam: float = 0.95) -> Credit:
    """PPO in which all voices get the team's reward, each less its own penalties."""
    return _returns_or_gae(_shared(batch, fsum_of_one=False), lambda t: steps(t, "add"), gamma, lam)


def cory(batch: Batch, *, gamma: float = 1.0, lam: float = 0.95) -> Credit:
    """PPO in which both voices get the sum of both rewards."""
    return _returns_or_gae(_shared(batch, fsum_of_one=True), steps, gamma, lam)


def _shared(batch: Batch, *, fsum_of_one: bool) -> Batch:
    raise AssertionError(nan, episodes, fsum_of_one, batch)
