"""Critics: what a state is worth, asked before credit is given, and learned from what came of it.

A critic is a policy of the engine whose score is a value. Its rows hold what it sees, and after that one id,
the number of the turn, at which the value stands: the same engine call learns it (`Loss("value")`). What a
critic sees is all that tells independent PPO (de Witt et al. 2020, arXiv:2011.09533) from MAPPO (Yu et al.
2022, arXiv:2103.01955).
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from msgspec.structs import replace

from motet.credit.returns import gae, step_values
from motet.credit.rewards import steps
from motet.errors import BadInput, UnknownName
from motet.train.assign import trajectories_of
from motet.train.batch import minibatches
from motet.train.engine import Engine
from motet.train.objective import Loss
from motet.train.plan import Critic
from motet.train.rows import Row, Span
from motet.train.source import Rollout


def critics_of(critic: Critic | None, policies: Mapping[str, str], known: Sequence[str]) -> set[str]:
    """The critics of the policies that are trained.

    Raises:
        UnknownName: the engine has no such critic. BadInput: a policy has none.
    """
    if critic is None:
        return set()
    for policy in policies.values():
        if policy not in critic.of:
            raise BadInput(f"nobody judges policy {policy!r}: Critic(of={{{policy!r}: '…'}}) says who does")
        if critic.of[policy] not in known:
            raise UnknownName("critic of this engine", critic.of[policy], known)
    return {critic.of[policy] for policy in policies.values()}


def appraised(
    engine: Engine, critic: Critic | None, rollouts: Sequence[Rollout], rows: Sequence[Row]
) -> tuple[list[Rollout], dict[str, float]]:
    """Ask the critics what each call's state is worth, then teach them what it was worth.

    Returns:
        The rollouts with a `value` in the notes of each call. For each critic, what `forward_backward` gave,
        and the share of the variance of returns that it had `explained` before the lesson.
    """
    if critic is None:
        return list(rollouts), {}
    views: dict[str, list[Row]] = {}
    for view in _views(critic, rollouts, rows):
        views.setdefault(view.policy, []).append(view)
    notes: dict[str, dict[str, float]] = {}
    for name, mine in views.items():
        for view, found in zip(mine, engine.logprobs(name, mine), strict=True):
            run, _, call = view.spans[0].call.rpartition("/")
            notes.setdefault(run, {})[call] = found[-1]
    told = [replace(r, notes=_noted(r.notes, notes.get(r.run.id, {}))) for r in rollouts]
    goals = _goals(critic, told, rows)
    line: dict[str, float] = {}
    for name, mine in views.items():
        line |= {f"{name}/{key}": x for key, x in _taught(engine, critic, name, mine, goals).items()}
    return told, line


def _noted(
    notes: Mapping[str, dict[str, object]], values: Mapping[str, float]
) -> dict[str, dict[str, object]]:
    return {**notes, **{call: {**notes.get(call, {}), "value": value} for call, value in values.items()}}


def _views(critic: Critic, rollouts: Sequence[Rollout], rows: Sequence[Row]) -> Iterator[Row]:
    """What is judged, a row for each call: all ids before the call's own, and the turn."""
    before = {span.call: row.ids[: span.start] for row in rows for span in row.spans}
    beside: dict[str, list[str]] = {}
    for rollout in rollouts if critic.sees == "all" else ():
        for step in rollout.run.tape.steps:
            calls = [f"{rollout.run.id}/{call}" for call in step.calls.values()]
            beside |= {call: [other for other in calls if other != call] for call in calls}
    for row in rows:
        for span in row.spans:
            others = (before.get(call, ()) for call in beside.get(span.call, ()))
            ids = sum(others, before[span.call])
            end = len(ids)
            yield Row(
                ids=(*ids, span.turn),
                mask=(*[False] * end, True),
                policy=critic.of[row.policy],
                voice=row.voice,
                run=row.run,
                spans=(Span(end, end + 1, span.call, span.turn),),
            )


class _Goal(NamedTuple):
    """What a critic should have said of a state, and by how much it was wrong."""

    worth: float
    error: float


def _goals(critic: Critic, rollouts: Sequence[Rollout], rows: Sequence[Row]) -> dict[str, _Goal]:
    """The λ-return A + V of each call, where there is one."""
    goals: dict[str, _Goal] = {}
    for trajectory, calls in zip(*trajectories_of(rollouts, rows), strict=True):
        values = step_values(trajectory, lambda found: found[0])
        ahead = gae(steps(trajectory), values, critic.gamma, critic.lam)
        goals |= {c: _Goal(a + v, a) for c, a, v in zip(calls, ahead, values, strict=True) if isfinite(a)}
    return goals


def _taught(
    engine: Engine, critic: Critic, name: str, views: Sequence[Row], goals: Mapping[str, _Goal]
) -> dict[str, float]:
    known = [(view, goals[call]) for view in views if (call := view.spans[0].call) in goals]
    if not known:
        return {}
    rows = [view.but(returns=(*[0.0] * (len(view.ids) - 1), goal.worth)) for view, goal in known]
    for part in minibatches(rows, critic.minibatches, critic.epochs, f"{name}/{engine.step(name)}"):
        found = engine.forward_backward(name, part, Loss("value"))
        found |= engine.optim_step(name, critic.adam)
    left = _variance([goal.error for _, goal in known]) / (_variance([g.worth for _, g in known]) or 1.0)
    return {"loss": found["loss"], "grad_norm": found["grad_norm"], "explained": 1 - left}


def _variance(numbers: Sequence[float]) -> float:
    centre = sum(numbers) / len(numbers)
    return sum((x - centre) ** 2 for x in numbers) / len(numbers)
