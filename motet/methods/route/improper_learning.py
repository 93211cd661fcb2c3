"""Learning the weights of a mixture of policies: policy gradient, actor-critic, natural actor-critic.

Paper: Zaki et al. 2022, arXiv:2207.09090 (catalogue 196).
Idea: pi = softmax(theta) over M policies; the score of drawing policy m is e_m - pi. REINFORCE moves theta by
gamma^t (G_t - b_t) times it, where b_t is the mean return at step t of the other episodes. Actor-critic takes
the error of a linear value function of the mixture, delta = r + gamma V(s') - V(s), in place of the return.
The natural gradient divides by the Fisher information diag(pi) - pi pi^T, which leaves delta * e_m / pi_m: in
the mean of many steps, each policy's logit moves by its mean delta.
Deviates: the critic learns along with the actor (one loop, two step sizes).
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import Any, NamedTuple, Protocol, TypeVar

from motet.concurrency import all_of
from motet.errors import BadInput
from motet.methods.common import Mark, gives_target
from motet.methods.route.features import dot, softmax
from motet.run import Run
from motet.teams import Team
from motet.types import Task

S = TypeVar("S")


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
    """One step of REINFORCE on episodes that were drawn with softmax(theta), of step size `eta`."""
    pi, slope = softmax(theta), [0.0] * len(theta)
    returns = [episode.returns(gamma) for episode in episodes]
    for k, episode in enumerate(episodes):
        for t, m in enumerate(episode.drawn):
            others = [r[t] for j, r in enumerate(returns) if j != k and t < len(r)]
            gain = gamma**t * (returns[k][t] - (fmean(others) if others else 0.0))
            for i, chance in enumerate(pi):
                slope[i] += gain * ((i == m) - chance)
    return [x + eta * s / len(episodes) for x, s in zip(theta, slope, strict=True)]


def episode_of(run: Run, mark: Mark = gives_target, group: str = "agents") -> Episode:
    """Who took the steps of an `improper_mixture` run; the reward is 1 after the last if the answer is right.

    Raises:
        BadInput: a call was made by none of the group, so this is a run of something else.
    """
    names = [call.voice.removeprefix(f"{group}_") for call in run.calls]
    if not names or not all(name.isdigit() for name in names):
        raise BadInput(f"run {run.id!r} has calls by {names!r}: expected steps by {group}_1, {group}_2, …")
    end = float(run.ok and mark(run.tape.started.task, run.answer))
    return Episode(tuple(int(name) - 1 for name in names), (*[0.0] * (len(names) - 1), end))


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
        theta, one number a voice; the weights are its softmax.
    """
    theta = [0.0] * len(team.parts["agents"])
    for step in range(steps):
        mixed = team.configured(weights=softmax(theta))
        runs = await all_of([mixed.arun(task, seed=seed + step, **options) for task in tasks])
        theta = ascend(theta, [episode_of(run, mark) for run in runs], eta=eta)
    return theta


class World(Protocol[S]):
    """A process in which each of M policies can take the next step."""

    M: int

    def start(self, rng: Random) -> S: ...
    def step(self, state: S, m: int, rng: Random) -> tuple[S, float]: ...
    def phi(self, state: S) -> Sequence[float]: ...


def actor_critic(  # noqa: PLR0913 (the paper's own)
    world: World[S],
    *,
    natural: bool = False,
    steps: int = 200,
    horizon: int = 50,
    alpha: float = 0.1,
    beta: float = 0.05,
    gamma: float = 0.9,
    seed: int = 0,
) -> list[float]:
    """Learn weights in a world, by the plain or the natural gradient.

    Args:
        steps: of the actor, each after `horizon` steps in the world.
        alpha, beta: step sizes of actor and critic. gamma: discount.

    Returns:
        theta, one number a policy.
    """
    rng, theta = Random(seed), [0.0] * world.M
    value = [0.0] * len(world.phi(world.start(rng)))
    for _ in range(steps):
        state, pi = world.start(rng), softmax(theta)
        errors: list[list[float]] = [[] for _ in theta]
        for _ in range(horizon):
            m = rng.choices(range(world.M), pi)[0]
            after, reward = world.step(state, m, rng)
            here = world.phi(state)
            delta = reward + gamma * dot(value, world.phi(after)) - dot(value, here)
            value = [v + beta * delta * x for v, x in zip(value, here, strict=True)]
            errors[m].append(delta)
            state = after
        mean = sum(map(sum, errors)) / horizon
        for i, own in enumerate(errors):
            if natural:
                theta[i] += alpha * (fmean(own) - mean if own else 0.0)
            else:
                theta[i] += alpha * (sum(own) / horizon - pi[i] * mean)
    return theta
