"""Credit by asking what the team would have got without a voice."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

from motet.credit.compare import Baseline, Epsilon, Scale, by_trajectory
from motet.credit.counterfactual import Value, asked, from_table, shapley_sampled
from motet.credit.counterfactual import leave_one_out as worth_by_absence
from motet.credit.counterfactual import shapley as shapley_values
from motet.credit.keys import TrajectoryKey
from motet.credit.presets.teams import Team, of_each_run
from motet.credit.types import Batch, Credit, Positive, number, result
from motet.errors import BadInput

Worth = Callable[[Sequence[str], Value], dict[str, float]]
Method = Literal["exact", "sampled"]


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
    method: Method = "exact",
    samples: Positive = 100,
    seed: int = 0,
    baseline: Baseline = "none",
    scale: Scale = "none",
    eps: Epsilon = "verl",
) -> Credit:
    """The Shapley value of each voice, from the table of coalitions of its run."""
    worth = _method(method, samples, seed)
    rewards = of_each_run(batch, lambda team: _worth(team, worth))
    return result(*by_trajectory(batch, rewards, "task_voice", baseline=baseline, scale=scale, eps=eps))


def absences(voices: Sequence[str], options: dict[str, Any]) -> list[frozenset[str]]:
    """Everybody, and everybody but one."""
    return asked(worth_by_absence, voices)


def orders(voices: Sequence[str], options: dict[str, Any]) -> list[frozenset[str]]:
    """The coalitions that Shapley values are made of."""
    return asked(_method(options["method"], options["samples"], options["seed"]), sorted(voices))


def if_compared(voices: Sequence[str], options: dict[str, Any]) -> list[frozenset[str]]:
    """Those of `compose`, which reads a difference only when that is its source."""
    return absences(voices, options) if options["source"] == "difference" else []


def _method(method: Method, samples: int, seed: int) -> Worth:
    return shapley_values if method == "exact" else partial(shapley_sampled, samples=samples, seed=seed)


def _worth(team: Team, worth: Worth) -> list[float]:
    """What each voice of one run is worth; the run's table may stand with any one of its voices."""
    table = {name: value for t in team for name, value in t.coalitions.items()}
    voices = sorted({t.voice for t in team})
    if not table:
        raise BadInput(
            f"the run of voices {', '.join(voices)} in group {team[0].group!r} has no `coalitions`: give the "
            f"team's reward for sets of voices, as {{'': 0.0, {voices[0]!r}: 0.5, …}}"
        )
    values = worth(voices, from_table(table))
    return [values[t.voice] for t in team]
