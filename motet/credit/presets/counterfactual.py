"""Credit by asking what the team would have got without a voice."""

from collections.abc import Callable
from typing import Literal

from motet.credit.compare import Baseline, Epsilon, Scale, by_trajectory
from motet.credit.counterfactual import Value, from_table, shapley_sampled
from motet.credit.counterfactual import leave_one_out as worth_by_absence
from motet.credit.counterfactual import shapley as shapley_values
from motet.credit.keys import TrajectoryKey
from motet.credit.presets.teams import Team, of_each_run
from motet.credit.types import Batch, Credit, Positive, number, result
from motet.errors import BadInput

Worth = Callable[[list[str], Value], dict[str, float]]


def difference(
    batch: Batch,
    *,
    key: TrajectoryKey = "task_voice",
    baseline: Baseline = "none",
    scale: Scale = "none",
    eps: Epsilon = "verl",
) -> Credit:
    """The team's reward less the one of the same tape replayed without this voice (`without`)."""
    if batch.trajectories and all(t.without is None for t in batch.trajectories):
        raise BadInput(
            "no trajectory has `without`: give the team's reward when the tape is replayed without it"
        )
    rewards = [t.outcome - number(t.without) for t in batch.trajectories]
    return result(*by_trajectory(batch, rewards, key, baseline=baseline, scale=scale, eps=eps))


def leave_one_out(
    batch: Batch,
    *,
    key: TrajectoryKey = "task_voice",
    baseline: Baseline = "none",
    scale: Scale = "none",
    eps: Epsilon = "verl",
) -> Credit:
    """The difference reward of each voice, from the table of coalitions of its run."""
    rewards = of_each_run(batch, lambda team: _worth(team, worth_by_absence))
    return result(*by_trajectory(batch, rewards, key, baseline=baseline, scale=scale, eps=eps))


def shapley(
    batch: Batch,
    *,
    method: Literal["exact", "sampled"] = "exact",
    samples: Positive = 100,
    seed: int = 0,
    baseline: Baseline = "none",
    scale: Scale = "none",
    eps: Epsilon = "verl",
) -> Credit:
    """The Shapley value of each voice, from the table of coalitions of its run."""

    def sampled(voices: list[str], value: Value) -> dict[str, float]:
        return shapley_sampled(voices, value, samples=samples, seed=seed)

    worth = shapley_values if method == "exact" else sampled
    rewards = of_each_run(batch, lambda team: _worth(team, worth))
    return result(*by_trajectory(batch, rewards, "task_voice", baseline=baseline, scale=scale, eps=eps))


def _worth(team: Team, worth: Worth) -> list[float]:
    """What each voice of one run is worth; the run's table may stand with any one of its voices."""
    table = {name: value for t in team for name, value in t.coalitions.items()}
    voices = list(dict.fromkeys(t.voice for t in team))
    if not table:
        raise BadInput(
            f"the run of voices {', '.join(voices)} in group {team[0].group!r} has no `coalitions`: give the "
            f"team's reward for sets of voices, as {{'': 0.0, {voices[0]!r}: 0.5, …}}"
        )
    values = worth(voices, from_table(table))
    return [values[t.voice] for t in team]
