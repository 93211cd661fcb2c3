"""Credit for rollouts: trajectories read off training rows, and advantages put back on their tokens."""

from collections.abc import Mapping, Sequence
from math import fsum
from typing import Any

from motet.credit import Credit, Step, Trajectory, credit
from motet.train.rows import Row, Span
from motet.train.source import Rollout


def trajectories_of(
    rollouts: Sequence[Rollout], rows: Sequence[Row]
) -> tuple[list[Trajectory], list[list[str]]]:
    """One trajectory for each voice of each run, and beside it the calls (`RUN/ID`) of its steps."""
    spans: dict[tuple[str, str], list[Span]] = {}
    for row in rows:
        spans.setdefault((row.run, row.voice), []).extend(row.spans)
    by_run = {rollout.run.id: rollout for rollout in rollouts}
    found, calls = [], []
    for (run, voice), mine in spans.items():
        rollout = by_run[run]
        mine = sorted(mine, key=lambda span: int(_call(span)))
        calls.append([span.call for span in mine])
        found.append(
            Trajectory(
                group=rollout.group,
                voice=voice,
                reward=rollout.reward(voice),
                steps=tuple(_step(rollout, span) for span in mine),
                start=rollout.start,
                game=rollout.game,
                episode=run,
            )
        )
    return found, calls


def _step(rollout: Rollout, span: Span) -> Step:
    call = _call(span)
    return Step(
        state=rollout.seen.get(call, ""),
        reward=rollout.steps.get(call),
        tokens=span.stop - span.start,
        turn=span.turn,
    )


def _call(span: Span) -> str:
    return span.call.rpartition("/")[2]


def credited(
    rollouts: Sequence[Rollout],
    rows: Sequence[Row],
    name: str,
    state: Mapping[str, float],
    options: Mapping[str, Any],
) -> tuple[list[Row], Credit]:
    """The rows with an advantage for each token that is to be trained; rows without one are left out.

    A reward that is missing or not finite gives no advantage, and moves no baseline.

    Raises:
        BadInput: rollouts of a group started in different states, or the preset lacks what it needs.
    """
    trajectories, calls = trajectories_of(rollouts, rows)
    found = credit(trajectories, name, state=state, **options)
    advantages: dict[str, float | Sequence[float] | None] = {}
    for i, ids in enumerate(calls):
        fine = found.tokens[i] if found.tokens else found.advantages[i]
        advantages |= dict(zip(ids, fine, strict=True))
    outcome = {(t.episode, t.voice): t.reward for t in trajectories}
    ready = [row.credited(advantages).but(reward=outcome[row.run, row.voice]) for row in rows]
    return [row for row in ready if any(row.mask)], found


def means(rollouts: Sequence[Rollout], trained: Sequence[Mapping[str, str]]) -> dict[str, float]:
    """Mean reward of each trained voice over the rollouts that have one, and how many have none."""
    earned: dict[str, list[float]] = {}
    for rollout, voices in zip(rollouts, trained, strict=True):
        for voice in voices:
            if (reward := rollout.reward(voice)) is not None:
                earned.setdefault(voice, []).append(reward)
    missing = sum(any(r is None for r in rollout.rewards.values()) for rollout in rollouts)
    found = {f"reward/{voice}": fsum(rewards) / len(rewards) for voice, rewards in sorted(earned.items())}
    return {**found, "rollouts": float(len(rollouts)), "unscored": float(missing)}
