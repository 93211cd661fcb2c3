"""A hard limit for one model, across all runs that use it."""

from collections.abc import Sequence

import msgspec

from motet.budget import Budget, BudgetMeter
from motet.models.protocol import Model
from motet.types import Message, Reply, Sampling, Usage


class Budgeted:
    """A model that refuses to be asked once its budget is spent.

    Failed calls count as calls. A limit on tokens or money can be overshot by the calls in flight.

    Args:
        model: whom to ask.
        budget: the limits; a budget of money refuses the model as soon as its price proves unknown.
    """

    def __init__(self, model: Model, budget: Budget) -> None:
        self._model, self._meter = model, BudgetMeter(budget)

    @property
    def name(self) -> str:
        """The model's own."""
        return self._model.name

    @property
    def identity(self) -> str:
        """The model's own: a limit changes no distribution."""
        return self._model.identity

    @property
    def usage(self) -> Usage:
        """What was spent so far."""
        return self._meter.usage

    @property
    def cost(self) -> float:
        """What was paid so far, in US dollars, as far as prices are known."""
        return self._meter.cost

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """See `Model.sample`.

        Raises:
            BudgetExceeded: before anything is asked.
        """
        self._meter.reserve(n)
        spent: list[tuple[Usage, float | None]] = []
        try:
            replies = await self._model.sample(messages, n, sampling)
            spent = [(msgspec.structs.replace(reply.usage, calls=1), reply.cost) for reply in replies]
            return replies
        finally:
            for usage, cost in spent or [(Usage(calls=1), None)] * n:
                self._meter.spend(usage, cost, failed=not spent)
