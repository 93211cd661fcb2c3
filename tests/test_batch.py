"""Asks that are in flight together become few engine requests."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from engines import CountingEngine
from hypothesis import given, settings
from hypothesis import strategies as st

from motet.errors import ContextOverflow, ServerError
from motet.models.embedded.batch import Ask, Batcher

BEGINNING = "x" * 100


def ask(chat: str, max_tokens: int | None = None) -> Ask:
    return Ask(chat, "{}", max_tokens)


def run(work: Callable[[CountingEngine, Batcher], Awaitable[Any]], **size: int) -> Any:
    async def main() -> Any:
        engine = CountingEngine(**size)
        return await work(engine, Batcher(engine))

    return asyncio.run(main())


async def settle() -> None:
    """Wait until everything that can happen has happened."""
    await asyncio.sleep(0.01)


def test_equal_asks_are_one_request() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        drawn = await asyncio.gather(*[batcher.draw(ask("hello"), [i]) for i in range(5)])
        assert engine.requests == [(5, 5, 0)]
        assert [each.choices[0].text for each in drawn] == ["0", "1", "2", "3", "4"]
        assert [each.choices[0].cached for each in drawn] == [0, 5, 5, 5, 5]

    run(work)


def test_what_arrives_while_the_engine_is_full_is_batched() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        engine.gate.clear()
        tasks = [asyncio.create_task(batcher.draw(ask("first"), [0, 1]))]
        for seed in range(2):
            await settle()
            tasks.append(asyncio.create_task(batcher.draw(ask("second"), [seed])))
        await settle()
        engine.gate.set()
        await asyncio.gather(*tasks)
        assert [n for _, n, _ in engine.requests] == [2, 2]

    run(work, slots=2)


def test_equal_seeds_are_one_sample() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        one, two = await asyncio.gather(*[batcher.draw(ask("hello"), [7]) for _ in range(2)])
        assert one == two
        assert engine.requests == [(5, 1, 0)]

    run(work)


def test_a_common_beginning_is_computed_once() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        drawn = await asyncio.gather(*[batcher.draw(ask(BEGINNING + c), [0]) for c in "abcd"])
        [(length, source)] = engine.warmed
        [(origin, targets)] = engine.copied
        assert length == 100 and origin == source
        assert {source, *targets} == {slot for _, _, slot in engine.requests} and len(targets) == 3
        # Over all four, the beginning was computed once.
        assert sorted(each.choices[0].cached for each in drawn) == [0, 100, 100, 100]

    run(work)


@pytest.mark.parametrize("prompts", [["a" * 20 + c for c in "abc"], [BEGINNING], ["a" * 50, "b" * 50]])
def test_nothing_is_shared_where_it_does_not_pay(prompts: list[str]) -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        await asyncio.gather(*[batcher.draw(ask(prompt), [0]) for prompt in prompts])
        assert engine.warmed == engine.copied == []

    run(work)


def test_families_are_kept_apart() -> None:
    """Two pairs that share much are not lumped together for the little that all four share."""

    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        prompts = [BEGINNING[:40] + group * 200 + tail for group in "ab" for tail in "cd"]
        await asyncio.gather(*[batcher.draw(ask(prompt), [0]) for prompt in prompts])
        assert [length for length, _ in engine.warmed] == [240, 240]

    run(work)


def test_a_next_turn_goes_where_its_history_lies() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        for chat in ("a" * 90, "b" * 90):
            await batcher.draw(ask(chat), [0])
        (_, _, first), (_, _, second) = engine.requests
        assert first != second
        again = await batcher.draw(ask("a" * 90 + "and on"), [0])
        assert engine.requests[-1][2] == first and again.choices[0].cached == 90

    run(work)


def test_what_an_idle_slot_holds_is_copied_and_not_computed() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        await batcher.draw(ask(BEGINNING + "a" * 200), [0])
        await asyncio.gather(*[batcher.draw(ask(BEGINNING + c * 200), [0]) for c in "bc"])
        assert engine.warmed == []
        assert len(engine.copied[0][1]) == 2

    run(work)


def test_overflow_says_what_is_needed_and_spares_the_others() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        asks = [ask("a" * 101), ask("a" * 90, 11), ask("short"), ask("a" * 90)]
        found = await asyncio.gather(*[batcher.draw(each, [0]) for each in asks], return_exceptions=True)
        assert isinstance(found[0], ContextOverflow) and "102 needed, 100 available" in str(found[0])
        assert isinstance(found[1], ContextOverflow) and "101 needed, 100 available" in str(found[1])
        assert not isinstance(found[2], BaseException) and not isinstance(found[3], BaseException)

    run(work, n_ctx=100)


def test_one_asker_leaving_does_not_disturb_the_other() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        engine.gate.clear()
        leaving, staying = [asyncio.create_task(batcher.draw(ask("hello"), [i])) for i in range(2)]
        await settle()
        leaving.cancel()
        await settle()
        engine.gate.set()
        assert (await staying).choices[0].text == "1" and engine.cancelled == 0

    run(work)


def test_a_request_nobody_waits_for_is_given_up() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        engine.gate.clear()
        both = [asyncio.create_task(batcher.draw(ask("hello"), [i])) for i in range(2)]
        queued = asyncio.create_task(batcher.draw(ask("queued"), [0]))
        await settle()
        for task in (*both, queued):
            task.cancel()
        await settle()
        assert engine.cancelled == 1 and engine.running == 0
        engine.gate.set()
        assert (await batcher.draw(ask("next"), [0, 1])).choices[1].text == "1"
        assert len(engine.requests) == 2  # the queued one never reached the engine

    run(work, slots=2)


@pytest.mark.parametrize("error", [ServerError("broke"), ZeroDivisionError("a bug")])
def test_an_error_reaches_everyone_who_asked(error: Exception) -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        engine.error = error
        found = await asyncio.gather(
            *[batcher.draw(ask("hello"), [i]) for i in range(3)], return_exceptions=True
        )
        assert found == [error] * 3
        engine.error = None
        assert (await batcher.draw(ask("hello"), [0])).choices

    run(work)


def test_only_the_first_sample_is_heard() -> None:
    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        heard: list[str] = []
        await batcher.draw(ask("hello"), [3, 4], heard.append)
        assert heard == ["3"]

    run(work)


CHATS = st.sampled_from(["a" * 60, "a" * 60 + "b", "a" * 30 + "c" * 60, "d"])
ASKS = st.lists(
    st.tuples(CHATS, st.integers(0, 9), st.integers(1, 6), st.booleans()), min_size=1, max_size=12
)


@settings(max_examples=40, deadline=None)
@given(asks=ASKS, slots=st.integers(1, 5))
def test_everyone_gets_what_was_asked(asks: list[tuple[str, int, int, bool]], slots: int) -> None:
    """Whatever is in flight: the right samples, no more at once than there are slots."""

    async def one(batcher: Batcher, chat: str, first: int, n: int, late: bool) -> None:
        if late:
            await asyncio.sleep(0.003)
        drawn = await batcher.draw(ask(chat), range(first, first + n))
        assert [choice.text for choice in drawn.choices] == [str(first + i) for i in range(n)]
        assert drawn.prompt == tuple(chat.encode())

    async def work(engine: CountingEngine, batcher: Batcher) -> None:
        await asyncio.gather(*[one(batcher, *each) for each in asks])
        assert engine.most <= slots
        assert sum(n for _, n, _ in engine.requests) <= sum(n for _, _, n, _ in asks)

    run(work, slots=slots)
