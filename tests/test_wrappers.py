"""Wrappers: retry, rate limit, routing, budgets. Time is simulated."""

import asyncio
import random
from dataclasses import dataclass, field

import pytest
from faulty_server import FaultyServer, say, status
from hypothesis import given
from hypothesis import strategies as st

from motet.budget import Budget
from motet.errors import (
    AuthFailed,
    BadInput,
    BudgetExceeded,
    ModelError,
    RateLimited,
    ServerError,
)
from motet.models.openai_api import http_model
from motet.models.protocol import Model
from motet.models.wrappers.budget import Budgeted
from motet.models.wrappers.cache import Cached
from motet.models.wrappers.ratelimit import WINDOW_S, Gate, RateLimit
from motet.models.wrappers.retry import Retry
from motet.models.wrappers.route import Fallback, Route
from motet.types import Message, Reply, Sampling, Usage

ASK = [Message.say("user", "hi")]


@dataclass
class Fake:
    """A model that raises what it is given first, and then answers."""

    name: str = "fake"
    errors: list[ModelError] = field(default_factory=list)
    cost: float | None = 0.5
    asked: int = 0
    in_flight: int = 0
    most_in_flight: int = 0

    @property
    def identity(self):
        return f"{self.name}@1"

    async def sample(self, messages, n, sampling):
        self.asked += 1
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        if self.errors:
            raise self.errors.pop(0)
        said = Message.say("assistant", self.name)
        return [Reply(message=said, model=self.name, usage=Usage(60, 40, calls=1), cost=self.cost)] * n


@dataclass
class Time:
    """A clock that moves only when somebody sleeps."""

    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def clock(self):
        return self.now

    async def sleep(self, seconds):
        self.waits.append(seconds)
        self.now += seconds


def draw(model, n=1):
    return asyncio.run(model.sample(ASK, n, Sampling()))


def test_wrappers_are_models_and_keep_the_identity():
    for wrapped in (Retry(Fake()), RateLimit(Fake(), Gate(1)), Budgeted(Fake(), Budget(calls=1))):
        assert isinstance(wrapped, Model)
        assert (wrapped.name, wrapped.identity) == ("fake", "fake@1")


# ── retry ────────────────────────────────────────────────────────────────────────────────────────


def test_retry_backs_off_and_reports():
    time, seen = Time(), []
    model = Fake(errors=[ServerError("down"), RateLimited("slow", retry_after_s=7.0), ServerError("down")])
    told = Retry(model, sleep=time.sleep, rng=random.Random(0), on_retry=lambda *event: seen.append(event))
    assert draw(told)[0].text == "fake"
    assert [(type(error), attempt) for error, attempt, _ in seen] == [
        (ServerError, 1), (RateLimited, 2), (ServerError, 3),
    ]  # fmt: skip
    assert [wait for *_, wait in seen] == time.waits
    assert time.waits[0] <= 0.5
    assert 7.0 <= time.waits[1] <= 8.0
    assert time.waits[2] <= 2.0


@pytest.mark.parametrize(
    ("error", "attempts"),
    [(ServerError("down"), 3), (AuthFailed("no"), 1), (RateLimited("", retry_after_s=999), 1)],
)
def test_retry_gives_up(error, attempts):
    time, model = Time(), Fake(errors=[error] * 9)
    with pytest.raises(type(error)) as caught:
        draw(Retry(model, attempts=3, sleep=time.sleep))
    assert model.asked == attempts
    assert getattr(caught.value, "__notes__", []) == (["gave up after 3 attempts"] if attempts > 1 else [])


@given(st.integers(1, 12), st.floats(0.01, 2), st.floats(0.01, 60), st.integers(0, 2**32))
def test_waits_stay_below_their_caps(failures, base_s, cap_s, seed):
    time = Time()
    model = Fake(errors=[ServerError("down")] * failures)
    draw(Retry(model, failures + 1, base_s, cap_s, rng=random.Random(seed), sleep=time.sleep))
    assert len(time.waits) == failures
    assert all(0 <= wait <= min(cap_s, base_s * 2**k) for k, wait in enumerate(time.waits))


def test_retry_over_http():
    time = Time()
    with FaultyServer([status(500), status(429, retry_after="3"), say("at last")]) as server:
        assert draw(Retry(http_model(server.name), sleep=time.sleep))[0].text == "at last"
    assert len(server.requests) == 3
    assert time.waits[1] >= 3


# ── rate limit ───────────────────────────────────────────────────────────────────────────────────


def test_concurrency_is_bounded_in_each_loop():
    model = Fake()
    limited = RateLimit(model, Gate(3))

    async def many():
        await asyncio.gather(*(limited.sample(ASK, 1, Sampling()) for _ in range(20)))

    asyncio.run(many())
    asyncio.run(many())
    assert model.asked == 40
    assert model.most_in_flight == 3


@given(st.lists(st.integers(0, 30), min_size=1, max_size=40), st.integers(1, 5), st.integers(100, 500))
def test_no_sliding_minute_holds_more_than_allowed(gaps, requests, tokens):
    time, passed = Time(), []
    gate = Gate(requests_per_minute=requests, tokens_per_minute=tokens, clock=time.clock, sleep=time.sleep)

    async def go():
        for gap in gaps:
            time.now += gap
            await RateLimit(Fake(), gate).sample(ASK, 1, Sampling())
            passed.append(time.now)

    asyncio.run(go())
    for start in passed:
        inside = sum(start <= at < start + WINDOW_S for at in passed)
        assert inside <= requests
        assert inside * 100 <= tokens


def test_limits_must_be_positive():
    with pytest.raises(BadInput, match="requests_per_minute is 0"):
        Gate(requests_per_minute=0)


# ── route and fallback ───────────────────────────────────────────────────────────────────────────


def test_route_chooses_by_the_request():
    routed = Route(
        [Fake("small"), Fake("large")], lambda messages, sampling: len(messages[-1].text) > 5, "length"
    )
    assert draw(routed)[0].model == "small"
    long = asyncio.run(routed.sample([Message.say("user", "a long question")], 1, Sampling()))
    assert long[0].model == "large"
    assert routed.name == "route:length(small|large)"
    assert routed.identity == "route:length(small@1|large@1)"


def test_a_choice_out_of_range_is_refused():
    with pytest.raises(BadInput, match="chose model -1"):
        draw(Route([Fake()], lambda messages, sampling: -1, "wrong"))


def test_fallback_asks_the_next_and_raises_the_last():
    assert draw(Fallback([Fake("a", [ServerError("down")]), Fake("b")]))[0].model == "b"
    with pytest.raises(AuthFailed):
        draw(Fallback([Fake("a", [ServerError("down")]), Fake("b", [AuthFailed("no")])]))
    with pytest.raises(BadInput):
        Fallback([])


# ── budget ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("budget", [Budget(calls=2), Budget(tokens=200), Budget(money=1.0)])
def test_a_budget_holds_across_runs(budget):
    model = Fake()
    limited = Budgeted(model, budget)
    draw(limited)
    draw(limited)
    with pytest.raises(BudgetExceeded):
        draw(limited)
    assert model.asked == 2
    assert limited.usage == Usage(120, 80, calls=2)
    assert limited.cost == 1.0


def test_failed_calls_and_several_replies_count():
    model = Fake(errors=[ServerError("down")])
    limited = Budgeted(model, Budget(calls=4))
    with pytest.raises(ServerError):
        draw(limited)
    draw(limited, 2)
    with pytest.raises(BudgetExceeded):
        draw(limited, 2)
    assert limited.usage.calls == 3


def test_calls_in_flight_count():
    model = Fake()
    limited = Budgeted(model, Budget(calls=3))

    async def many():
        return await asyncio.gather(
            *(limited.sample(ASK, 1, Sampling()) for _ in range(9)), return_exceptions=True
        )

    results = asyncio.run(many())
    assert model.asked == 3
    assert sum(isinstance(result, BudgetExceeded) for result in results) == 6


def test_money_cannot_be_kept_without_a_price():
    model = Fake(cost=None)
    limited = Budgeted(model, Budget(money=1.0))
    draw(limited)
    with pytest.raises(BudgetExceeded, match="price"):
        draw(limited)


def test_kept_replies_are_not_asked_again() -> None:
    fake = Fake()
    cached = Cached(fake)

    async def main() -> list[list[bool]]:
        return [[r.cached for r in await cached.sample(ASK, n, Sampling())] for n in (2, 2, 3)]

    assert asyncio.run(main()) == [[False, False], [True, True], [True, True, False]]
    assert fake.asked == 2
    other = asyncio.run(cached.sample([Message.say("user", "else")], 1, Sampling()))
    assert not other[0].cached


def test_failures_are_not_kept() -> None:
    cached = Cached(Fake(errors=[ServerError("once")]))
    with pytest.raises(ServerError):
        asyncio.run(cached.sample(ASK, 1, Sampling()))
    assert not asyncio.run(cached.sample(ASK, 1, Sampling()))[0].cached


def test_what_failed_attempts_were_billed_is_counted() -> None:
    async def sleep(seconds: float) -> None: ...

    def failing() -> Fake:
        return Fake(errors=[ServerError("x", usage=Usage(5, 1)), ServerError("y", usage=Usage(7, 0))])

    first, second = asyncio.run(Retry(failing(), sleep=sleep).sample(ASK, 2, Sampling()))
    assert first.usage == Usage(72, 41, calls=1)
    assert second.usage == Usage(60, 40, calls=1)
    with pytest.raises(ServerError) as caught:
        asyncio.run(Retry(failing(), attempts=2, sleep=sleep).sample(ASK, 1, Sampling()))
    assert caught.value.usage == Usage(12, 1)
