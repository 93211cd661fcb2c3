"""Adaptive-Consistency: sample until the majority is certain enough.

Paper: Aggarwal et al. 2023, arXiv:2305.11860; after self-consistency, Wang et al. 2022, arXiv:2203.11171.
Idea: easy questions need few samples. After each one, ask how sure it is that the answer ahead would stay
ahead if one went on for ever, given a uniform prior over the shares of the answers, and stop at `threshold`.
Calls: at most n, one after the other.
Deviates: the prompt has no worked examples. The Dirichlet rule is integrated numerically along one axis, not
drawn at random.
Failure: a sample that fails or holds no answer has no vote and counts among the n; when none has a vote, the
run fails.
"""

from collections.abc import Callable, Sequence
from math import exp, lgamma, log, sqrt

from motet.agent import Voice
from motet.answers import instruction
from motet.combine import answered, majority, tally
from motet.errors import ModelError, UnknownName
from motet.methods.common import at_least, share
from motet.methods.single.chain_of_thought import STEPS
from motet.teams import team
from motet.types import Failure, Linked, Reply, Task

POINTS = 400  # of the integral; its error is below 2e-6
TINY = 1e-18


def beta_certainty(votes: Sequence[int]) -> float:
    """P(p > 1/2) for p ~ Beta(v1 + 1, v2 + 1), v1 and v2 the votes of the first two answers, exactly."""
    first, second, *_ = [*sorted(votes, reverse=True), 0, 0]
    flips = first + second + 1
    ways = term = 1
    for heads in range(1, first + 1):
        term = term * (flips - heads + 1) // heads
        ways += term
    return float(ways / 2**flips)


def dirichlet_certainty(votes: Sequence[int]) -> float:
    """P(p1 is the largest share) for p ~ Dirichlet(v1 + 1, …, vm + 1) over the m answers seen.

    The shares are those of independent Gamma(v + 1) variables, so that one integral over the first suffices.
    """
    first, *others = sorted(votes, reverse=True)
    if not others:
        return beta_certainty(votes)
    spread = 12 * sqrt(first + 1) + 12
    start = max(0.0, first + 1 - spread)
    step = (first + 1 + spread - start) / POINTS
    total = 0.0
    for i in range(1, POINTS):
        x = start + step * i
        below = exp(first * log(x) - x - lgamma(first + 1))
        for count in others:
            below *= _gamma_below(count, x)
        total += (4 if i % 2 else 2) * below
    return total * step / 3


def _gamma_below(count: int, x: float) -> float:
    """P(Gamma(count + 1) < x) = P(Poisson(x) > count), summed from `count` on the side where terms shrink."""
    term, total, j = exp(count * log(x) - x - lgamma(count + 1)), 0.0, count
    if x > count:
        while term > TINY:
            total += term
            term *= j / x
            j -= 1
        return 1 - total
    while term > TINY:
        j += 1
        term *= x / j
        total += term
    return total


RULES: dict[str, Callable[[Sequence[int]], float]] = {
    "beta": beta_certainty,
    "dirichlet": dirichlet_certainty,
}


@team
async def adaptive_consistency(
    task: Task,
    solver: Voice,
    *,
    n: int = 40,
    threshold: float = 0.95,
    rule: str = "beta",
    temperature: float = 0.7,
) -> Linked:
    """Sample answers one by one, `n` at most, until the majority is certain by `rule`: beta or dirichlet."""
    at_least(1, n=n)
    share(threshold=threshold)
    if rule not in RULES:
        raise UnknownName("stopping rule", rule, RULES)
    outcomes: list[Reply | Failure] = []
    for _ in range(n):
        try:
            outcomes.append(await solver.ask(task, STEPS, instruction(task), temperature=temperature))
        except ModelError as error:
            outcomes.append(error.failure)
            continue
        votes = tally(task, [o for o in outcomes if isinstance(o, Reply)]).votes
        if votes and RULES[rule]([len(replies) for replies in votes.values()]) >= threshold:
            break
    return majority(task, answered(outcomes))
