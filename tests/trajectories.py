"""Short ways to write trajectories in tests of credit."""

from typing import Any

from motet.credit import Step, Trajectory


def rollout(
    reward: float | None, *steps: Step, group: str = "g", voice: str = "v", **more: Any
) -> Trajectory:
    """A trajectory of one step, if no steps are given."""
    return Trajectory(group=group, voice=voice, reward=reward, steps=steps or (Step(),), **more)


def path(reward: float | None, states: str, rewards: tuple[float, ...] = (), **more: Any) -> Trajectory:
    """A trajectory through states of one letter each."""
    paid = (*rewards, *[None] * (len(states) - len(rewards)))
    return rollout(reward, *(Step(state=s, reward=r) for s, r in zip(states, paid, strict=True)), **more)
