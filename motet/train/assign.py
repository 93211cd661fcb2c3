"""Credit for rollouts: trajectories read off training rows, and advantages put back on their tokens."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import fsum, nan
from typing import Any, Protocol, TypeVar, runtime_checkable

from msgspec.structs import replace

from motet.credit import Credit, Step, Trajectory, credit, preset
from motet.credit.counterfactual import name_of
from motet.errors import BadInput, UnknownName
from motet.run import Run
from motet.tape import Store
from motet.teams import Team
from motet.train.plan import Plan
from motet.train.rows import Row, Span
from motet.train.source import Rollout

T = TypeVar("T", Step, Trajectory)


@runtime_checkable
class Replayable(Protocol):
    """A source that can tell what a run would have earned without some of its voices."""

    async def replay(self, team: Team[...], run: Run, absent: frozenset[str], store: Store) -> float | None:
        """What the team earns without them, or as it is when none is `absent`; None when nobody can tell."""
        ...


async def replayed(
    source: object, team: Team[...], rollout: Rollout, voices: Iterable[str], plan: Plan, store: Store
) -> Rollout:
    """The rollout with what the coalitions earn that the plan's credit asks for.

    Args:
        voices: whose worth is asked for; all others always sing.
        store: where the tapes of the replays go.

    Raises:
        BadInput: the source cannot be replayed.
    """
    chosen = preset(plan.credit)
    if chosen.coalitions is None:
        return rollout
    everyone = {call.voice for call in rollout.run.calls if call.node} & set(voices)
    found: dict[str, float] = {}
    for coalition in chosen.coalitions(sorted(everyone), chosen.read(plan.options, plan.credit)):
        if not isinstance(source, Replayable):
            raise BadInput(
                f"the credit preset {plan.credit!r} asks what the team earns without a voice, and "
                f"{type(source).__name__} has no `replay`: train a team on a suite, or in a world "
                f"by its name, or give it that method"
            )
        absent = frozenset(everyone - coalition)
        if absent or "*" not in rollout.rewards:
            earned = await source.replay(team, rollout.run, absent, store)
        else:
            earned = rollout.rewards["*"]
        found[name_of(coalition)] = nan if earned is None else earned
    return replace(rollout, coalitions=found)


def trajectories_of(
    rollouts: Sequence[Rollout], rows: Sequence[Row]
) -> tuple[list[Trajectory], list[list[str]]]:
    """One trajectory for each voice of each run, and beside it the calls (`RUN/ID`) of its steps."""
    spans: dict[tuple[str, str], list[tuple[Span, Row]]] = {}
    for row in rows:
        spans.setdefault((row.run, row.voice), []).extend((span, row) for span in row.spans)
    by_run = {rollout.run.id: rollout for rollout in rollouts}
    found, calls = [], []
    for (run, voice), mine in spans.items():
        rollout = by_run[run]
        mine = sorted(mine, key=lambda at: int(_call(at[0])))
        calls.append([span.call for span, _ in mine])
        facts = {
            "group": rollout.group,
            "voice": voice,
            "reward": rollout.reward(voice),
            "start": rollout.start,
            "game": rollout.game,
            "episode": run,
            "coalitions": rollout.coalitions,
            "without": _without(rollout, voice),
            **rollout.facts.get(voice, rollout.facts.get("*", {})),
        }
        steps = tuple(_made(Step, _step(rollout, span, row)) for span, row in mine)
        found.append(_made(Trajectory, facts | {"steps": steps}))
    return found, calls


def _step(rollout: Rollout, span: Span, row: Row) -> dict[str, Any]:
    call, size = _call(span), span.stop - span.start
    facts: dict[str, Any] = {
        "state": rollout.seen.get(call, ""),
        "reward": rollout.steps.get(call),
        "tokens": size,
        "turn": span.turn,
    }
    if row.logprobs and size:
        # Of one sample, but without bias: the mean of −log p over the sampled tokens.
        facts["entropy"] = -fsum(row.logprobs[span.start : span.stop]) / size
    return facts | rollout.notes.get(call, {})


def _made(kind: type[T], facts: Mapping[str, Any]) -> T:
    known = kind.__struct_fields__
    for name in facts:
        if name not in known:
            raise UnknownName(f"field of a credit {kind.__name__.lower()}", name, known)
    return kind(**facts)


def _without(rollout: Rollout, voice: str) -> float | None:
    everyone = max(rollout.coalitions, key=len, default="").split("+")
    return rollout.coalitions.get(name_of([v for v in everyone if v != voice]))


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
        BadInput: rollouts of a group started in different states, or all groups have one rollout each, or
            what the preset reads is not there.
    """
    trajectories, calls = trajectories_of(rollouts, rows)
    if lacking := preset(name).lacks(trajectories):
        wanted = " and ".join(f"`{need.replace('|', '` or `')}`" for need in lacking)
        raise BadInput(
            f"the credit preset {name!r} reads {wanted}, and no rollout of {rollouts[0].game} has any: have "
            f"the source's `rollout` give it, by call in `Rollout.notes` or by voice in `Rollout.facts`"
            f"{'; critic=Critic(of=…) asks a critic for values' * ('value' in lacking)}"
        )
    found = credit(trajectories, name, state=state, **options)
    _check_groups(trajectories, name, found.counts)
    advantages: dict[str, float | Sequence[float] | None] = {}
    for i, ids in enumerate(calls):
        fine = found.tokens[i] if found.tokens else found.advantages[i]
        advantages |= dict(zip(ids, fine, strict=True))
    outcome = {(t.episode, t.voice): t.reward for t in trajectories}
    ready = [row.credited(advantages).but(reward=outcome[row.run, row.voice]) for row in rows]
    return [row for row in ready if any(row.mask)], found


def _check_groups(trajectories: Sequence[Trajectory], name: str, counts: Mapping[str, int]) -> None:
    """A group of one is compared with nobody. Among others it is counted; if all are, nothing is learned."""
    sizes = Counter((t.group, t.voice) for t in trajectories)
    lone = counts.get("singletons", 0)
    if lone and lone == counts["groups"] and max(sizes.values()) == 1 and not counts.get("unscored"):
        raise BadInput(
            f"the credit preset {name!r} compares rollouts of one start, and each group (of {lone}) has one "
            f"alone: nothing would be learned; raise group_size, or take a running baseline (`reinforce`)"
        )


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
