"""Hard budgets: asked before each call, honoured by every voice of a run."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import msgspec
from msgspec import Struct

from motet.errors import BadInput, BudgetExceeded
from motet.types import Usage


class Budget(Struct, frozen=True, omit_defaults=True):
    """Limits of one run; a limit left at None is no limit.

    Args:
        calls: model calls.
        tokens: input and output tokens together.
        money: US dollars. A model whose price is unknown cannot be used under this limit.
        seconds: wall time; calls in flight are cancelled when it is over.
    """

    calls: int | None = None
    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, limit in self.limits().items():
            if limit < 0:
                raise BadInput(f"the budget's {name} is {limit!r}; expected 0 or more")

    def limits(self) -> dict[str, float]:
        """The limits that are set."""
        return {k: v for k, v in msgspec.structs.asdict(self).items() if v is not None}


@dataclass(slots=True)
class BudgetMeter:
    """Counts what a run has spent and refuses the call that would go past a limit.

    Nobody knows what a call will cost before it is answered: those in flight are reckoned at the mean
    of the calls so far, so a limit on tokens or money is overshot by one call at most when calls are
    made one after another, and by those first in flight together otherwise.
    """

    budget: Budget
    timer: Callable[[], float] = time.perf_counter
    usage: Usage = Usage()
    cost: float = 0.0
    price_unknown: bool = False
    _in_flight: int = 0
    _begun: float = field(init=False)

    def __post_init__(self) -> None:
        self._begun = self.timer()

    def reserve(self, calls: int) -> None:
        """Ask for leave to make `calls` more calls.

        Raises:
            BudgetExceeded: a limit is reached; it says which, and what was spent.
        """
        limits, spent = self.budget, self.usage
        self._refuse_if("calls", spent.calls + self._in_flight + calls, limits.calls)
        if limits.tokens is not None:
            self._refuse_if("tokens", self._expected(spent.tokens) + 1, limits.tokens)
        if limits.money is not None:
            if self.price_unknown:
                raise BudgetExceeded("a budget of money cannot be kept: the price of a model used is unknown")
            self._refuse_if("money", self._expected(self.cost), limits.money, reached=True)
        if limits.seconds is not None:
            self._refuse_if("seconds", self.timer() - self._begun, limits.seconds, reached=True)
        self._in_flight += calls

    def spend(self, usage: Usage, cost: float | None, failed: bool) -> None:
        """Note what a call came to."""
        self._in_flight = max(0, self._in_flight - 1)
        self.usage += usage
        if cost is not None:
            self.cost += cost
        elif not failed:
            self.price_unknown = True

    def _expected(self, spent: float) -> float:
        done = self.usage.calls
        return spent + self._in_flight * (spent / done if done else 0.0)

    def _refuse_if(self, name: str, amount: float, limit: float | None, *, reached: bool = False) -> None:
        if limit is not None and (amount > limit or (reached and amount >= limit)):
            raise BudgetExceeded(
                f"the budget of {limit:g} {name} is spent "
                f"({self.usage.calls} calls, {self.usage.tokens} tokens so far)"
            )
