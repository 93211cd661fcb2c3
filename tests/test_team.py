import asyncio
import pickle
from collections.abc import Sequence
from functools import cache
from typing import Any

import pytest
from voices import Echo, review

import motet
from motet import Budget, Store, Task, Voices
from motet.errors import BadInput, RateLimited, RunFailed, UnknownName
from motet.identity import source_of
from motet.models.scripted import Line, Scripted
from motet.tape import Asking, Called, Delta, Ended, Started
from motet.types import FailureKind


def pair() -> motet.Team:
    return review.cast(writer=Scripted(["a", "b", "c"]), critic=Scripted(["x", "y"]))


def test_a_team_runs_and_its_links_are_on_the_tape() -> None:
    run = pair().run("What?")
    assert run.answer == "c"
    edges = {c.id: (c.voice, c.parents) for c in run.calls}
    assert edges == {
        "1": ("writer", ()),
        "2": ("critic", ("1",)),
        "3": ("writer", ("1", "2")),
        "4": ("critic", ("3",)),
        "5": ("writer", ("3", "4")),
    }
    assert run.tape.ended is not None
    assert run.tape.ended.parents == ("5",)


def test_the_run_record_keeps_its_contract() -> None:
    record = pair().run("What?", seed=7, budget=Budget(calls=9)).record()
    wanted = {"run", "method", "answer", "calls", "usage", "cost", "budget", "wall_s", "seed"}
    assert wanted <= record.keys()
    assert {"id", "agent", "model", "parents", "messages", "reply", "usage", "cost", "latency_s", "stop",
            "cached"} <= record["calls"][0].keys()  # fmt: skip
    assert record["seed"] == 7
    assert record["budget"] == {"calls": 9}
    assert record["usage"]["calls"] == 5
    by_call = [c["usage"]["input_tokens"] for c in record["calls"]]
    by_voice = [u["input_tokens"] for u in record["usage_by_voice"].values()]
    assert sum(by_call) == sum(by_voice) == record["usage"]["input_tokens"]


def test_a_run_reads_back_from_the_store_as_it_was(tmp_path: Any) -> None:
    with_file = Store(tmp_path / "tape.db")
    run = pair().run("What?", store=with_file)
    with_file.close()
    from motet.tape.record import run_record

    assert run_record(Store(tmp_path / "tape.db", readonly=True).load(run.id)) == run.record()


def test_names_are_checked_before_anything_is_spent() -> None:
    with pytest.raises(UnknownName, match="did you mean writer"):
        review.cast(writr="local")
    with pytest.raises(UnknownName, match="did you mean rounds"):
        review(round=1)
    with pytest.raises(BadInput, match=r"nobody sings critic of review: write review.cast\(critic"):
        review.cast(writer=Echo()).run("x")
    with pytest.raises(BadInput, match="one voice"):
        review.cast(writer=["local", "local"])


def test_a_team_must_be_an_async_function_of_a_task() -> None:
    with pytest.raises(TypeError, match="async def plain"):

        @motet.team
        def plain(task): ...  # type: ignore[arg-type]

    with pytest.raises(TypeError, match="takes no task"):

        @motet.team
        async def nothing(*, n: int = 1): ...

    with pytest.raises(TypeError, match="needs a default"):

        @motet.team
        async def knob(task, *, n: int): ...


def test_casting_and_knobs_make_copies() -> None:
    team = pair()
    assert team(rounds=1).run("q").usage.calls == 3
    assert team.knobs == {"rounds": 2}


@motet.team
async def knobbed(
    task,
    singer,
    *,
    n: int = 1,
    x: float | None = None,
    names: Sequence[str] = (),
    pair: tuple[int, int] = (1, 2),
):
    return await singer.ask(task)


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"n": 2.5}, "n=2.5: expected a whole number"),
        ({"n": True}, "n=True: expected a whole number"),
        ({"n": None}, "n=None: expected a whole number"),
        ({"x": "high"}, "x='high': expected a number or None"),
        ({"x": float("nan")}, "x=nan: expected a number or None"),
        ({"names": "Ann"}, "names='Ann': expected a list of which each is a text"),
        ({"names": ["Ann", 2]}, r"names\[1\]=2: expected a text"),
        ({"pair": [1]}, r"pair=\[1\]: expected a list of 2: a whole number, a whole number"),
    ],
)
def test_a_knob_of_another_type_is_refused_when_it_is_set(knobs: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        knobbed(**knobs)


def test_knobs_of_their_type_and_of_types_unknown_to_us_are_taken() -> None:
    given = {"n": 3, "x": 1, "names": ["Ann"], "pair": [3, 4]}
    assert knobbed(**given).knobs == given
    assert knobbed(x=None, names=()).knobs == {"n": 1, "x": None, "names": (), "pair": (1, 2)}
    assert pair()(rounds=7).knobs == {"rounds": 7}


def test_a_temperature_that_makes_no_sense_is_refused() -> None:
    @motet.team
    async def warm(task, singer, *, heat: float = 0.0):
        return await singer.ask(task, temperature=heat)

    assert warm.cast(str.upper).run("q").ok
    for heat in (-1.0, float("inf")):
        with pytest.raises(BadInput, match="temperature="):
            warm(heat=heat).cast(str.upper).run("q")


def test_identity_follows_source_prompts_knobs_and_cast() -> None:
    one = review.cast(writer="sim:skill=0.5", critic="sim:skill=0.5")
    same = review.cast(critic="sim:skill=0.5", writer="sim:skill=0.5")
    assert one.identity == same.identity
    others = {one(rounds=3).identity, one.cast(critic="sim:skill=0.6").identity}
    assert one.identity not in others
    assert len(others) == 2


@cache
def measured(text: str) -> dict[str, float]:
    return {text: 1.0}


def test_a_team_keeps_its_docstring_whoever_sings() -> None:
    vote = motet.methods.self_consistency
    assert vote(n=3).cast("sim:skill=1").__doc__ == vote.__doc__
    assert str(vote.__doc__).startswith("Sample `n` answers")


def test_errors_travel_between_processes() -> None:
    for error in (UnknownName("method", "debte", ["debate"]), RateLimited("slow down", retry_after_s=2.0)):
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again), vars(again)) == (type(error), str(error), vars(error))


def test_a_function_as_a_knob_is_named_by_its_words_not_by_where_it_lies() -> None:
    @motet.team
    async def ranked(task, solver, *, embed: Any = None):
        return await solver.ask(task)

    team = ranked(embed=measured).cast(Scripted(["a"]))
    assert team.identity == ranked(embed=measured).cast(Scripted(["a"])).identity
    assert team.identity != ranked(embed=len).cast(Scripted(["a"])).identity
    assert source_of(measured) == source_of(measured.__wrapped__)
    assert team.run("Q").tape.started.knobs == {"embed": f"{__name__}.measured"}


@motet.team
async def chorus(task, singers: Voices, *, n: int = 3):
    replies = await motet.ask_all(singers.take(n), task)
    return motet.fill("{all}", all=replies)


def test_a_group_voice_goes_round_its_cast_and_sings_at_once() -> None:
    one, two = Echo("one", 0.02), Echo("two", 0.02)
    run = chorus.cast(singers=[one, two]).run("La")
    assert [(c.voice, c.model) for c in run.calls] == [
        ("singers_1", "one"),
        ("singers_2", "two"),
        ("singers_3", "one"),
    ]
    assert run.tape.ended is not None
    assert run.tape.ended.parents == ("1", "2", "3")
    assert run.wall_s < 0.05


NESTED = [
    Task("Which?", target="B", kind="choice", choices=("red", "blue", "green")),
    Task("What is 2 + 2?", target="4", kind="number"),
    Task("The capital of Norway?", target="oslo"),
    Task("Simplify x + x.", target="2x", kind="math"),
]


@pytest.mark.parametrize("task", NESTED, ids=lambda task: task.kind)
def test_a_team_that_votes_sings_for_every_kind_of_task(task: Task) -> None:
    vote = motet.methods.self_consistency(n=3).cast("sim:skill=1")
    nested = motet.methods.direct.cast(vote).run(task)
    assert nested.answer == vote.run(task).answer == task.target


def test_a_team_within_a_team_has_what_came_with_the_task_but_not_the_gold_answer() -> None:
    seen: list[Task] = []

    @motet.team
    async def inner(task, voice):
        seen.append(task)
        return await voice.ask(task)

    task = Task("Which?", target="A", kind="choice", choices=("x", "y"), tests="t", meta={"documents": ["d"]})
    motet.methods.direct.cast(inner.cast(Scripted(["A"]))).run(task)
    (passage,) = seen
    assert (passage.choices, passage.meta, passage.kind) == (task.choices, task.meta, "choice")
    assert (passage.target, passage.tests) == (None, "")


def test_a_team_that_votes_may_be_a_judge() -> None:
    jury = motet.methods.self_consistency(n=3).cast(lambda _: '{"best": 2}')
    best = motet.methods.best_of_n(n=2).cast(solver=Scripted(["Answer: 1", "Answer: 4"]), judge=jury)
    assert best.run(NESTED[1]).answer == "Answer: 4"


def test_a_team_sings_a_voice_of_another_team() -> None:
    inner = review(rounds=1).cast(writer=Scripted(["i1", "i2"]), critic=Scripted(["ix"]))
    run = review(rounds=1).cast(writer=Scripted(["o1", "o2"]), critic=inner).run("Q")
    voices = [(c.id, c.voice, c.parents) for c in run.calls]
    assert voices == [
        ("1", "writer", ()),
        ("2", "critic/writer", ("1",)),
        ("3", "critic/critic", ("1", "2")),
        ("4", "critic/writer", ("1", "2", "3")),
        ("5", "writer", ("1", "4")),
    ]
    assert run.usage.calls == 5


def test_a_conversation_with_a_team_keeps_its_history() -> None:
    @motet.team
    async def talk(task, guest):
        chat = guest.chat()
        await chat.ask("one")
        return await chat.ask("two")

    inner = review(rounds=0).cast(writer=Echo(), critic=Echo())
    run = talk.cast(inner).run("Q")
    assert run.tape.path(run.calls[-1].prompt)[0].text == "one\n\n[one]\n\ntwo"
    assert run.calls[-1].parents == ("1",)


def test_more_members_than_seats_are_refused() -> None:
    with pytest.raises(BadInput, match="3 singers are cast, but there are 2 seats"):
        chorus(n=2).cast(singers=[Echo()] * 3).run("Q")


def test_a_team_called_with_a_task_is_a_part_of_the_run() -> None:
    @motet.team
    async def outer(task, writer, critic):
        first = await review(task, writer, critic, rounds=1)
        return await writer.ask("Shorten.", first)

    run = outer.cast(writer=Scripted(["a", "b", "c"]), critic=Scripted(["x"])).run("Q")
    assert run.answer == "c"
    assert run.calls[-1].parents == ("3",)


def test_the_failure_of_a_voice_is_data() -> None:
    run = review.cast(writer=Scripted([Line(error="timeout")]), critic=Echo()).run("Q")
    assert not run.ok
    assert run.error is not None
    assert run.error.kind is FailureKind.TIMEOUT
    assert run.calls[0].failure == run.error
    assert run.usage.calls == 1
    assert run.record()["error"]["kind"] == "timeout"
    with pytest.raises(RunFailed, match="timeout"):
        _ = run.answer


def test_a_team_that_returns_nothing_has_no_answer() -> None:
    @motet.team
    async def mute(task):
        return "  "

    assert mute.run("Q").error.kind is FailureKind.NO_ANSWER


def test_a_bug_crashes_and_is_on_the_tape() -> None:
    @motet.team
    async def broken(task, voice):
        await voice.ask(task)
        return 1 / 0

    store = Store.memory()
    with pytest.raises(ZeroDivisionError):
        broken.cast(Echo()).run("Q", store=store)
    ended = store.load("last").ended
    assert ended is not None and ended.failure is not None
    assert ended.failure.kind is FailureKind.BUG


@pytest.mark.parametrize(
    ("budget", "calls"),
    [(Budget(calls=3), 3), (Budget(tokens=31), 3), (Budget(money=0.02), 2), (Budget(calls=0), 0)],
)
def test_a_hard_budget_stops_the_next_call(budget: Budget, calls: int) -> None:
    run = review.cast(Echo()).run("Q", budget=budget)
    assert run.error is not None
    assert run.error.kind is FailureKind.BUDGET
    assert run.usage.calls == calls


def test_a_budget_holds_for_calls_made_at_once() -> None:
    echo = Echo(wait_s=0.01)
    run = chorus(n=50).cast(echo).run("Q", budget=Budget(calls=10))
    assert run.error is not None and run.error.kind is FailureKind.BUDGET
    assert len(echo.asked) <= 10


def test_a_budget_of_seconds_cancels_what_is_in_flight() -> None:
    echo = Echo(wait_s=5)
    run = review.cast(echo).run("Q", budget=Budget(seconds=0.02))
    assert run.error is not None and run.error.kind is FailureKind.BUDGET
    assert run.calls[0].failure is not None
    assert run.calls[0].failure.kind is FailureKind.CANCELLED
    assert echo.in_flight == 0


def test_money_cannot_be_limited_when_a_price_is_unknown() -> None:
    async def sample(self, messages, n, sampling):
        return [r.__class__(message=r.message) for r in await Echo().sample(messages, n, sampling)]

    priceless = type("Priceless", (), {"name": "p", "identity": "p", "sample": sample})()
    run = review.cast(priceless).run("Q", budget=Budget(money=1.0))
    assert run.error is not None
    assert "price" in run.error.message
    assert run.cost is None


def test_cancelling_leaves_nothing_running_and_is_on_the_tape() -> None:
    echo, store = Echo(wait_s=5), Store.memory()

    async def main() -> None:
        running = asyncio.create_task(chorus.cast(echo).arun("Q", store=store))
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert echo.in_flight == 0
    tape = store.load("last")
    assert tape.ended is not None and tape.ended.failure is not None
    assert tape.ended.failure.kind is FailureKind.CANCELLED
    assert all(c.failure and c.failure.kind is FailureKind.CANCELLED for c in tape.calls)


def test_streaming_shows_events_as_they_happen() -> None:
    async def main() -> list[Any]:
        return [event async for event in pair()(rounds=0).stream("Q")]

    events = asyncio.run(main())
    assert [type(e) for e in events] == [Started, Asking, Delta, Called, Ended]
    assert events[2].text == "a"


def test_leaving_a_stream_early_cancels_the_run() -> None:
    echo = Echo(wait_s=5)

    async def main() -> None:
        stream = review.cast(echo).stream("Q")
        async for event in stream:
            if isinstance(event, Asking):
                break
        await stream.aclose()

    asyncio.run(main())
    assert echo.in_flight == 0


def test_a_team_runs_where_a_loop_already_runs() -> None:
    async def notebook() -> str:
        return pair().run("Q").answer

    assert asyncio.run(notebook()) == "c"


def test_reuse_asks_only_what_a_change_reaches() -> None:
    store, writer, critic = Store.memory(), Echo("writer"), Echo("critic")
    first = review.cast(writer=writer, critic=critic).run("Q", store=store)
    again = review.cast(writer=writer, critic=critic).run("Q", store=store, reuse=True)
    assert again.answer == first.answer
    assert all(c.cached for c in again.calls)
    assert again.usage == first.usage
    assert len(writer.asked) == 3

    changed = review.cast(writer=writer, critic=Echo("another")).run("Q", store=store, reuse=True)
    assert [c.cached for c in changed.calls] == [True, False, True, False, True]


def test_equal_requests_of_one_run_are_different_samples() -> None:
    @motet.team
    async def twice(task, voice):
        first, second = await voice.ask(task), await voice.ask(task)
        third, fourth = await voice.ask_many(task, n=2)
        return motet.fill("{a}{b}{c}{d}", a=first, b=second, c=third, d=fourth)

    store = Store.memory()
    team = twice.cast(Scripted(["1", "2", "3", "4"]))
    run = team.run("Q", store=store)
    assert [c.key[-2:] for c in run.calls] == ["/0", "/1", "/2", "/3"]
    assert team.run("Q", store=store, reuse=True).answer == "1234"
    assert team.run("Q", store=store, reuse=True, seed=1).error is not None


def test_a_voice_may_be_a_rule_a_program_or_a_person() -> None:
    import sys

    from motet.models.person import Person
    from motet.models.program import Program

    code = "import json,sys; print(len(json.load(sys.stdin)['messages'][0]['text']))"
    team = review(rounds=1).cast(critic=str.upper)
    assert team.cast(writer=Person(read=lambda prompt: "typed\n")).run("Q").answer == "typed"
    assert team.cast(writer=Program(f'{sys.executable} -c "{code}"')).run("Q").ok
    silent = team.cast(writer=Person(read=lambda prompt: "\n")).run("Q")
    assert silent.error is not None and silent.error.kind is FailureKind.EMPTY
    failing = team.cast(writer=Program("false")).run("Q")
    assert failing.error is not None and failing.error.kind is FailureKind.SERVER


def test_the_answer_to_a_task_is_voted_by_its_kind() -> None:
    task = Task("6*7?", kind="number")
    run = motet.methods.self_consistency(n=3).cast(Scripted(["42", "It is 42.0", "41"])).run(task)
    assert run.answer == "42"


def test_prompts_are_found_however_deep_the_helpers_lie() -> None:
    prompts = motet.methods.METHODS["agent4debate"].team
    run = prompts.cast("sim:skill=1").run(Task("2 + 2?", target="4", kind="number"), store=Store.memory())
    assert {"ANALYSE", "REVIEW", "WRITE"} <= run.tape.started.prompts.keys(), "those of a class in a sibling"
