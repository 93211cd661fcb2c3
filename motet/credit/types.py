"""What credit is computed from and what comes out: the JSON contract of `motet credit`, as types."""

from collections.abc import Mapping, Sequence
from math import isfinite, isnan, nan
from typing import Annotated

from msgspec import Meta, Struct, field

Share = Annotated[float, Meta(ge=0, le=1)]
"""A discount, a decay, a λ."""
Positive = Annotated[int, Meta(ge=1)]
Numbers = float | tuple[float, ...]
Name = str | int
Scores = list[list[float]]
"""One number a step for every trajectory; NaN where nothing is known."""


class Step(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One action of a voice: a message, or a move.

    A preset reads only what its formula needs; `reward` is the step's own, apart from the outcome.

    Args:
        state: the observation before the action, or its hash; equal states are anchors.
        reward: reward of this step alone, if it has one.
        value: the critic's value of `state`: one number, or one for each token (PPO) or critic (ArCHer).
        tokens: how many tokens were sampled.
        turn: which turn this was, where that is not the place in the trajectory.
        node: name of the sampled message; branches that share it share its credit.
        masked: not sampled by the policy (a tool's output, a forced move): gets no credit, moves no baseline.
        q: the critics' values of this action in `state` (ArCHer).
        progress: what a progress estimator says the step contributed (SPA-RL).
        executable: the environment could do what was asked (SPA-RL).
        answer_logp: mean log-probability of the true answer's tokens before this step (IGPO).
        contribution: how much this voice put in (public goods).
        judge: a critic's score (CollabUIAgents), or 1 where a partner's label was right (WaltzRL).
        entropy: mean entropy of the sampled tokens, in nats (AEPO).
        reason_tokens: how many of the tokens, from the first, are reasoning and not action.
    """

    state: Name = ""
    reward: float | None = None
    value: Numbers | None = None
    tokens: Annotated[int, Meta(ge=0)] = 1
    turn: int | None = None
    node: str = ""
    masked: bool = False
    q: Numbers | None = None
    progress: float | None = None
    executable: bool | None = None
    answer_logp: float | None = None
    contribution: float | None = None
    judge: float | None = None
    entropy: float | None = None
    reason_tokens: Annotated[int, Meta(ge=0)] | None = None


class Trajectory(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What one voice did in one episode.

    Args:
        group: rollouts of one group have the same task and the same start, and are compared.
        voice: who acted.
        reward: the outcome; None or NaN when nobody could score it, which is not 0.
        steps: the actions, in order.
        start: hash of the state the rollout started from; the first step's `state` when left out.
        game: name of the environment, for baselines kept by (game, role); the group when left out.
        episode: the team's run that this is a part of; when left out, the n-th trajectories of all voices
            of a group belong together.
        proposal: the problem that a proposer made and solvers worked on.
        joint_rewards: rewards of all joint samples that this completion is a part of (MAGRPO, cross).
        without: the team's reward when the tape was replayed without this voice.
        coalitions: the team's reward for sets of voices, their names joined by `+`; "" is nobody.
    """

    group: Name = ""
    voice: str = ""
    reward: float | None = None
    steps: tuple[Step, ...] = ()
    start: Name = ""
    game: str = ""
    episode: Name | None = None
    proposal: Name | None = None
    joint_rewards: tuple[float | None, ...] = ()
    without: float | None = None
    coalitions: dict[str, float] = field(default_factory=dict)

    @property
    def outcome(self) -> float:
        """The outcome, NaN when there is none."""
        return number(self.reward)

    @property
    def origin(self) -> Name:
        """The state it started from, "" when that is not known."""
        return self.start or (self.steps[0].state if self.steps else "")

    @property
    def tokens(self) -> int:
        """How many tokens were sampled in all."""
        return sum(step.tokens for step in self.steps)


class Batch(Struct, frozen=True, omit_defaults=True):
    """Trajectories whose credit is found together, and the running baselines that the last batch left."""

    trajectories: tuple[Trajectory, ...]
    state: dict[str, float] = field(default_factory=dict)


class Credit(Struct, frozen=True, omit_defaults=True):
    """One advantage for every step of every trajectory, in the order given.

    Args:
        advantages: None where a step must not be trained on: masked, unscored, or of a dropped group.
        counts: what happened on the way: `groups`, `singletons`, `unscored`, `zero_variance`, `filtered`…
        state: running baselines, to hand to the next batch.
        tokens: one advantage for every token of every step, where the time axis goes down to tokens.
    """

    advantages: tuple[tuple[float | None, ...], ...]
    counts: dict[str, int] = field(default_factory=dict)
    state: dict[str, float] = field(default_factory=dict)
    tokens: tuple[tuple[tuple[float, ...] | None, ...], ...] | None = None


def number(value: float | None) -> float:
    """The value as a number; NaN for None and for anything that is not finite."""
    return float(value) if value is not None and isfinite(value) else nan


def result(scores: Sequence[Sequence[float]], counts: Mapping[str, int]) -> Credit:
    """A `Credit` from scores with NaN for what is not known. Counts of nothing are left out."""
    advantages = tuple(tuple(x if isfinite(x) else None for x in row) for row in scores)
    return Credit(advantages, {name: n for name, n in counts.items() if n})


def unscored(scores: Sequence[Sequence[float]]) -> int:
    """How many trajectories have a step that cannot be scored."""
    return sum(any(isnan(x) for x in row) for row in scores)


def flat(scores: Sequence[Sequence[float]]) -> list[float]:
    """The numbers of all steps in one row."""
    return [x for row in scores for x in row]


def fold(values: Sequence[float], like: Sequence[Sequence[object]]) -> Scores:
    """One row of numbers cut into rows as long as those of `like`."""
    each = iter(values)
    return [[next(each) for _ in row] for row in like]


def spread(values: Sequence[float], batch: Batch) -> Scores:
    """One number a trajectory, given to each of its steps."""
    return [[x] * len(t.steps) for x, t in zip(values, batch.trajectories, strict=True)]
