"""Learning the weights of a mixture in a world: actor-critic and natural actor-critic.

Paper: Zaki et al. 2022, arXiv:2207.09090 (catalogue 196).
Idea: pi = softmax(theta) over M policies; the score of drawing policy m is e_m - pi. Theta moves by it times
the error of a linear value function of the mixture, delta = r + gamma V(s') - V(s). The natural gradient
divides by the Fisher information diag(pi) - pi pi^T, which leaves delta * e_m / pi_m: in the mean of many
steps, each policy's logit moves by its mean delta.
Deviates: the critic learns along with the actor (one loop, two step sizes).
"""

from collections.abc import Sequence
from random import Random
from statistics import fmean
from typing import Protocol, TypeVar

from motet.methods.route.features import dot, softmax

S = TypeVar("S")


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
