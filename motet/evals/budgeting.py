"""Making budgets equal: what a run costs, and how many votes of self-consistency cost as much."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal, Protocol, get_args

from motet.budget import Budget
from motet.errors import BadInput
from motet.tape import Called, total_cost

Currency = Literal["tokens", "calls", "money"]

EQUAL = 0.1
"""Budgets nearer than this share count as equal, and have one baseline in common."""

MOST_VOTES = 256
"""More votes than this are not drawn, whatever a method spends."""


class Spend(Protocol):
    """What one run came to."""

    @property
    def tokens(self) -> int: ...
    @property
    def calls(self) -> int: ...
    @property
    def cost(self) -> float | None: ...


def read_budget(budget: Budget | str | None) -> tuple[Currency, Budget | None]:
    """What is to be made equal, and the hard limit of each run.

    With a `Budget`, the currency is the first of tokens, calls and money that it limits.

    Raises:
        BadInput: the words name no currency.
    """
    if isinstance(budget, Budget):
        limits = budget.limits()
        return next((c for c in get_args(Currency) if c in limits), "tokens"), budget
    for currency in get_args(Currency):
        if budget in (None, currency):
            return currency, None
    raise BadInput(
        f"the budget of a comparison is {budget!r}; expected tokens, calls or money (what is made equal), "
        "or a motet.Budget (a limit for every run)"
    )


def mean_spend(runs: Sequence[Spend], currency: Currency) -> float:
    """Mean spend of a run.

    Raises:
        BadInput: money is asked for and a price is unknown.
    """
    if currency == "tokens":
        return fmean(run.tokens for run in runs)
    if currency == "calls":
        return fmean(run.calls for run in runs)
    costs = [run.cost for run in runs if run.cost is not None]
    if len(costs) < len(runs):
        raise BadInput(
            f"budgets cannot be made equal in money: the price of {len(runs) - len(costs)} of {len(runs)} "
            "runs is unknown. Use budget='tokens'; the runs that are done are kept and not paid for again"
        )
    return fmean(costs)


def from_scratch(calls: Sequence[Called]) -> tuple[int, float | None]:
    """Tokens and US dollars of a run whose samples were not all drawn at once, as if they had been.

    Backends that draw several samples bill the prompt with the first. Votes that were drawn now three, now
    four at a time, and reused, hold the prompt more than once: it is counted once here.
    """
    tokens, cost = sum(call.usage.tokens for call in calls), total_cost(list(calls))
    requests: dict[tuple[str, str], list[Called]] = defaultdict(list)
    for call in calls:
        if call.failure is None:
            requests[call.key.rpartition("/")[0], call.voice].append(call)
    for samples in requests.values():
        free = [call.cost or 0.0 for call in samples if not call.usage.input_tokens]
        billed = sorted(samples, key=lambda call: -call.usage.input_tokens)[: len(samples) - len(free)]
        for again in billed[1:] if free else ():
            tokens -= again.usage.input_tokens
            cost = cost and cost - (again.cost or 0.0) + fmean(free)
    return tokens, cost


def near(theirs: float, ours: float) -> bool:
    """Whether two means of spending count as equal."""
    return abs(theirs - ours) <= EQUAL * ours


def votes_for(spend: float, one: float, tried: tuple[int, float] | None = None) -> int:
    """How many votes cost `spend`, when one costs `one`.

    Args:
        tried: a number of votes and what it was found to cost. Where a prompt is paid once for all
            samples, votes after the first are cheaper; two points give the price of one more.
    """
    votes, cost = tried if tried and tried[0] > 1 else (2, 2 * one)
    another = (cost - one) / (votes - 1)
    if another <= 0:
        return 1
    return min(MOST_VOTES, max(1, 1 + round((spend - one) / another)))


def merge_levels(votes: Mapping[str, int]) -> dict[str, int]:
    """Give methods that need nearly the same number of votes the same number.

    >>> merge_levels({"debate": 40, "tree": 41, "review": 5})
    {'review': 5, 'debate': 40, 'tree': 40}
    """
    merged: dict[str, int] = {}
    level = 0
    for name, wanted in sorted(votes.items(), key=lambda pair: pair[1]):
        if not level or wanted - level > EQUAL * level:
            level = wanted
        merged[name] = level
    return merged


def rematched(
    votes: Mapping[str, int], spent: Mapping[str, float], tried: Mapping[int, float]
) -> dict[str, int]:
    """Correct each method's number of votes where these turned out to cost more or less than the method.

    Args:
        votes: the number so far, by method.
        spent: what the method spends.
        tried: what a number of votes was found to cost; one vote and all of `votes` are known.
    """
    return {
        name: n if near(tried[n], spent[name]) else votes_for(spent[name], tried[1], (n, tried[n]))
        for name, n in votes.items()
    }
