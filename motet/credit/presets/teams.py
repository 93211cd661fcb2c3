"""Credit among the voices of one run: shared, paid by contribution, or earned by a partner's improvement."""

from collections.abc import Callable
from math import fsum, isnan, nan

from msgspec.structs import replace

from motet.credit.compare import Scale, by_step, by_trajectory
from motet.credit.keys import episodes
from motet.credit.presets.critics import gae_of
from motet.credit.public_goods import Rules, payoffs
from motet.credit.rewards import improvement, outcome, steps, turns
from motet.credit.types import Batch, Credit, Scores, Share, Trajectory, number, result
from motet.errors import BadInput, UnknownName

Team = list[Trajectory]


def of_each_run(batch: Batch, score: Callable[[Team], list[float]]) -> list[float]:
    """One number a trajectory, found run by run."""
    found = [nan] * len(batch.trajectories)
    for places in episodes(batch):
        values = score([batch.trajectories[i] for i in places])
        for i, value in zip(places, values, strict=True):
            found[i] = value
    return found


def _with_rewards(batch: Batch, rewards: list[float]) -> Batch:
    return Batch(
        tuple(replace(t, reward=r) for t, r in zip(batch.trajectories, rewards, strict=True)), batch.state
    )


def mmoa_rag(batch: Batch, *, gamma: Share = 1.0, lam: Share = 0.95) -> Credit:
    """PPO in which every voice gets the team's reward and its own penalties (its steps' rewards)."""
    return gae_of(_with_rewards(batch, of_each_run(batch, _common)), lambda t: steps(t, "add"), gamma, lam)


def cory(batch: Batch, *, gamma: Share = 1.0, lam: Share = 0.95) -> Credit:
    """PPO in which both voices get the sum of both rewards."""
    sums = of_each_run(batch, lambda team: [fsum(t.outcome for t in team)] * len(team))
    return gae_of(_with_rewards(batch, sums), steps, gamma, lam)


def _common(team: Team) -> list[float]:
    rewards = {t.outcome for t in team if not isnan(t.outcome)}
    if len(rewards) > 1:
        raise BadInput(
            f"voices {', '.join(t.voice for t in team)} of one run in group {team[0].group!r} have different "
            f"rewards {sorted(rewards)}; a shared reward is one number: put penalties into the steps' rewards"
        )
    return [*rewards, nan][:1] * len(team)


def public_goods(
    batch: Batch,
    *,
    cost: float = 1.0,
    power: float = 2.0,
    bonus: float = 1.0,
    share: float = 1.5,
    penalty: float = 2.0,
    threshold: float = 0.0,
) -> Credit:
    """The sequential public-goods payoff of each voice, less its critic's value or else its group's mean."""
    rules = Rules(cost, power, bonus, share, penalty, threshold)

    def score(team: Team) -> list[float]:
        return payoffs([_contribution(t) for t in team], _common(team)[0], rules)

    rewards = of_each_run(batch, score)
    if batch.trajectories and all(s.value is not None for t in batch.trajectories for s in t.steps):
        return gae_of(_with_rewards(batch, rewards), outcome, 1.0, 1.0)
    return result(*by_trajectory(batch, rewards, "task_voice"))


def _contribution(t: Trajectory) -> float:
    given = [step.reward if step.contribution is None else step.contribution for step in t.steps]
    return fsum(map(number, given))


def waltz(
    batch: Batch,
    *,
    adviser: str = "feedback",
    answerer: str = "conversation",
    alpha: float = 0.65,
    label: float = 0.0,
    form: float = 0.1,
    scale: Scale = "std",
) -> Credit:
    """The answerer gets its answers' rewards; the adviser what its advice improved."""
    known = {t.voice for t in batch.trajectories}
    for name in (adviser, answerer):
        if batch.trajectories and name not in known:
            raise UnknownName("voice of these trajectories", name, known)
    rows: Scores = [turns(t) for t in batch.trajectories]
    for places in episodes(batch):
        for i in places:
            t = batch.trajectories[i]
            if t.voice == adviser:
                partner = [rows[j] for j in places if batch.trajectories[j].voice == answerer]
                rows[i] = _advice(t, improvement(partner[0]) if partner else None, (alpha, label, form))
    return result(*by_step(batch, rows, "voice", scale=scale, eps=1e-8))


def _advice(t: Trajectory, gains: list[float] | None, weights: tuple[float, float, float]) -> list[float]:
    alpha, label, form = weights
    found = []
    for i, step in enumerate(t.steps):
        right = 1.0 if step.judge is None else number(step.judge)
        # Advice that nobody followed improved nothing; with no partner at all that cannot be known.
        gain = nan if gains is None else gains[i] if i < len(gains) else 0.0
        found.append(alpha * gain * right + label * right + form * (step.reward or 0.0))
    return found
