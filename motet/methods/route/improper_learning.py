"""Learning the weights of a mixture from episodes: the policy gradient.

Paper: Zaki et al. 2022, arXiv:2207.09090 (catalogue 196).
Idea: pi = softmax(theta) over M policies; the score of drawing policy m is e_m - pi. REINFORCE moves theta by
gamma^t (G_t - b_t) times it, where b_t is the mean return at step t of the other episodes.
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

from motet.concurrency import all_of
from motet.errors import BadInput
from motet.methods.common import Mark, gives_target
from motet.methods.route.features import softmax
from motet.run import Run
from motet.tape.keys import digest
from motet.teams import Team
from motet.types import Task


class Episode(NamedTuple):
    """Which policy was drawn at each step, and the reward after it."""

    drawn: tuple[int, ...]
    rewards: tuple[float, ...]

    def returns(self, gamma: float) -> list[float]:
        """The discounted rewards from each step on.

        >>> Episode((0, 1), (1.0, 2.0)).returns(0.5)
        [2.0, 2.0]
        """
        after, found = 0.0, []
        for reward in reversed(self.rewards):
            after = reward + gamma * after
            found.append(after)
        return found[::-1]


def ascend(
    theta: Sequence[float], episodes: Sequence[Episode], *, eta: float, gamma: float = 1.0
) -> list[float]:
    """One step of REINFORCE on episodes that were drawn with softmax(theta), of step size `eta`.

    Raises:
        BadInput: there are no episodes.
    """
    if not episodes:
        raise BadInput("no episodes to learn from; expected one or more")
    pi, slope = softmax(theta), [0.0] * len(theta)
    returns = [episode.returns(gamma) for episode in episodes]
    for k, episode in enumerate(episodes):
        for t, m in enumerate(episode.drawn):
            others = [r[t] for j, r in enumerate(returns) if j != k and t < len(r)]
            gain = gamma**t * (returns[k][t] - (fmean(others) if others else 0.0))
            for i, chance in enumerate(pi):
                slope[i] += gain * ((i == m) - chance)
    return [x + eta * s / len(episodes) for x, s in zip(theta, slope, strict=True)]


def episode_of(run: Run, mark: Mark = gives_target) -> Episode:
    """What an `improper_mixture` run drew, found again from its seed; 1 is the reward of a right answer.

    Raises:
        BadInput: this is a run of something else, or one without weights.
    """
    started, knobs = run.tape.started, run.tape.knobs
    if started.team != "improper_mixture" or not knobs["weights"]:
        raise BadInput(f"run {run.id!r} is of {started.team}: expected improper_mixture with weights")
    rng = Random(digest(started.seed, "mixture", started.task.text))
    drawn = rng.choices(range(len(knobs["weights"])), knobs["weights"], k=knobs["T"])
    end = float(run.ok and mark(started.task, run.answer))
    return Episode(tuple(drawn), (*[0.0] * (len(drawn) - 1), end))


async def train_mixture(
    team: Team[...],
    tasks: Sequence[Task],
    *,
    steps: int = 20,
    eta: float = 2.0,
    mark: Mark = gives_target,
    seed: int = 0,
    **options: Any,
) -> list[float]:
    """Play a cast `improper_mixture` on all tasks, `steps` times over, each time with better weights.

    Returns:
        The last weights, one a voice.

    Raises:
        BadInput: there is nobody to mix, or no task.
    """
    if "agents" not in team.parts or not tasks:
        raise BadInput(f"{len(tasks)} tasks for {team!r}: expected one or more, and agents that are cast")
    theta = [0.0] * len(team.parts["agents"])
    for step in range(steps):
        mixed = team.configured(weights=softmax(theta))
        runs = await all_of([mixed.arun(task, seed=seed + step, **options) for task in tasks])
        theta = ascend(theta, [episode_of(run, mark) for run in runs], eta=eta)
    return softmax(theta)
