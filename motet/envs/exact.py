"""Exact values of two-player games by walking the whole tree: how much a policy can be exploited.

A game here is `Rules` with `deals()`, which lists all starts with their probabilities; what a seat sees
(`text`) must hold all it has seen before (perfect recall), as Kuhn and Leduc poker do.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from motet.envs.world import Dealt

Policy = Callable[[str, str, tuple[str, ...]], Mapping[str, float]]
"""(seat, what it sees, legal actions) -> probability of each action; those left out have 0."""


def uniform(seat: str, seen: str, legal: tuple[str, ...]) -> dict[str, float]:
    """Each legal action alike."""
    return dict.fromkeys(legal, 1 / len(legal))


def expected_returns(rules: Dealt[Any], policy: Policy) -> dict[str, float]:
    """Expected return of each seat when all follow `policy`."""
    totals = dict.fromkeys(rules.seats, 0.0)
    todo = list(rules.deals())
    while todo:
        weight, state = todo.pop()
        for chance, after, rewards in _branches(rules, state, policy):
            for seat, reward in rewards.items():
                totals[seat] += weight * chance * reward
            todo.append((weight * chance, after))
    return totals


def best_response(rules: Dealt[Any], policy: Policy, seat: str) -> float:
    """Expected return of `seat` when it plays its best against `policy` in the other seats."""
    return _best(rules, policy, seat, rules.deals())


def nash_conv(rules: Dealt[Any], policy: Policy) -> float:
    """What all seats together could gain by changing their play alone; 0 exactly in equilibrium."""
    now = expected_returns(rules, policy)
    return sum(best_response(rules, policy, seat) - now[seat] for seat in rules.seats)


def exploitability(rules: Dealt[Any], policy: Policy) -> float:
    """`nash_conv` per seat, the usual measure for two-player zero-sum games."""
    return nash_conv(rules, policy) / len(rules.seats)


def _best(rules: Dealt[Any], policy: Policy, seat: str, reached: Iterable[tuple[float, Any]]) -> float:
    """Value to `seat` of the states reached, weighted by the chance that the others and the deal bring it
    there. States in which it acts and sees the same are one decision."""
    value, todo = 0.0, list(reached)
    decisions: dict[str, list[tuple[float, Any]]] = {}
    while todo:
        weight, state = todo.pop()
        if rules.acting(state) == (seat,):
            decisions.setdefault(rules.text(state, seat), []).append((weight, state))
            continue
        for chance, after, rewards in _branches(rules, state, policy):
            value += weight * chance * rewards.get(seat, 0.0)
            if chance:
                todo.append((weight * chance, after))
    for alike in decisions.values():
        value += max(_after(rules, policy, seat, alike, a) for a in rules.legal(alike[0][1], seat) or ())
    return value


def _after(
    rules: Dealt[Any], policy: Policy, seat: str, alike: list[tuple[float, Any]], action: str
) -> float:
    earned, reached = 0.0, []
    for weight, state in alike:
        after, rewards = rules.step(state, {seat: action})
        earned += weight * rewards.get(seat, 0.0)
        reached.append((weight, after))
    return earned + _best(rules, policy, seat, reached)


def _branches(rules: Dealt[Any], state: Any, policy: Policy) -> Iterator[tuple[float, Any, dict[str, float]]]:
    for seat in rules.acting(state):
        legal = rules.legal(state, seat) or ()
        chances = policy(seat, rules.text(state, seat), legal)
        for action in legal:
            yield (chances.get(action, 0.0), *rules.step(state, {seat: action}))
