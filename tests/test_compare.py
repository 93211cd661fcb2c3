"""Comparing at equal budgets: who is held against what, what is concluded, what stays in the denominator."""

import json
from itertools import pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from voices import Echo

import motet
from motet import Budget, Store, Suite, Task
from motet.errors import BadInput, UnknownName
from motet.evals.budgeting import EQUAL, MOST_VOTES, merge_levels, rematched, votes_for
from motet.evals.comparison import Comparison, Row
from motet.evals.progress import Progress, facts
from motet.evals.scorers import scorer
from motet.evals.stats import Interval
from motet.evals.verdict import items_needed, judge
from motet.methods import chain_of_thought, debate, direct, self_consistency
from motet.models.scripted import Line, Scripted


def sums(n: int) -> Suite:
    tasks = (Task(f"What is {i} + {i}?", target=str(2 * i), id=f"sum-{i}", kind="number") for i in range(n))
    return Suite("sums", tuple(tasks), scorer("numeric"))


def compare(methods: Any, n: int = 12, model: Any = "sim:skill=0.6", **options: Any) -> Comparison:
    return motet.compare(methods, sums(n), model=model, **{"store": Store.memory(), **options})


def row(comparison: Comparison, method: str) -> Row:
    return next(r for r in comparison.rows if r.method == method)


@motet.team
async def polish(task, solver, *, rounds: int = 2):
    """Asks again and again; a voice that does not mend itself gains nothing by it."""
    draft = await solver.ask(task)
    for _ in range(rounds):
        draft = await solver.ask("Look at it once more.", task, draft)
    return draft


@motet.team
async def oracle(task, solver, *, times: int = 1):
    await solver.ask_many(task, "Say what you know.", n=times)
    return f"Answer: {task.target}"


def test_voting_beats_a_single_call_and_says_so() -> None:
    voting = row(compare([self_consistency(n=5)], 60), "self_consistency(n=5)")
    assert voting.over_direct and voting.over_direct.low > 0
    assert voting.verdict and voting.verdict.finding == "earned"
    assert "over a single call with 6" in voting.verdict.sentence
    assert voting.matched is None  # it is itself what others are held against


def test_a_team_that_adds_nothing_does_not_earn_its_tokens() -> None:
    found = compare([debate, polish(rounds=9)], 60)
    for method in found.rows[:2]:
        assert method.verdict and method.verdict.finding == "not_earned"
        assert method.over_matched and method.over_matched.high < 0
        assert "did not earn its tokens: −" in method.verdict.sentence
        assert "against self-consistency (n=" in method.verdict.sentence


def test_a_team_that_knows_more_earns_its_tokens() -> None:
    found = compare([oracle, oracle(times=3)], 40)
    assert found.verdicts["oracle"].startswith("oracle earned its tokens: +")
    assert found.verdicts["oracle"].endswith("over a single call at equal tokens.")
    assert found.verdicts["oracle(times=3)"].endswith("over self-consistency (n=2) at equal tokens.")


@pytest.mark.parametrize("currency", ["tokens", "calls", "money"])
def test_the_matched_baseline_spends_what_the_method_spends(currency: str) -> None:
    found = compare([debate, polish], 8, "sim:skill=0.6,cost=3", budget=currency)

    def spent(r: Row) -> float | None:
        return {"tokens": r.tokens, "calls": r.calls, "money": r.cost}[currency]

    for method in found.rows[:2]:
        assert method.matched
        assert spent(row(found, method.matched)) == pytest.approx(spent(method), rel=0.2)


class OneBill(Echo):
    """A server that counts the prompt once for all samples of a request."""

    async def sample(self, messages, n, sampling):
        replies = await super().sample(messages, n, sampling)
        said = "Answer: 1"
        return [
            msgspec.structs.replace(
                r, usage=motet.Usage(100 if i == 0 else 0, 10), message=motet.Message.say("assistant", said)
            )
            for i, r in enumerate(replies)
        ]


def test_votes_are_corrected_when_a_prompt_is_paid_once() -> None:
    found = compare([polish(rounds=4)], 3, OneBill())
    (method,) = found.rows[:1]
    assert method.tokens == 550 and method.matched == "self_consistency(n=45)"
    assert row(found, method.matched).tokens == 550


def test_methods_of_equal_cost_share_a_baseline_and_their_replies() -> None:
    model = OneBill()
    found = compare([polish(rounds=1), polish(rounds=2), direct], 2, model, budget="calls")
    assert [r.method for r in found.rows] == [
        "polish(rounds=1)", "polish", "direct", "self_consistency(n=2)", "self_consistency(n=3)"
    ]  # fmt: skip
    assert len(model.asked) == 2 * (
        1 + 3 + 1
    )  # direct; the longer polish holds the shorter; one request for all votes


def test_equal_names_are_told_apart() -> None:
    given = [polish.cast("sim:skill=0.1"), polish.cast("sim:skill=0.2"), polish(rounds=1)]
    found = compare(given, 2, baselines=False)
    assert [r.method for r in found.rows] == ["polish", "polish by sim:skill=0.2", "polish(rounds=1)"]
    assert not found.verdicts and all(r.over_direct is None for r in found.rows)


def test_failures_stay_in_the_denominator() -> None:
    found = compare([polish], 20, "sim:skill=1,fail=0.2,failure=timeout")
    method = found.rows[0]
    assert method.runs == 20 and 0 < method.failures["timeout"] < 20
    assert method.accuracy.mean == pytest.approx(1 - method.failures["timeout"] / 20)
    assert sum(o.failure is not None for item in found.items for o in item.outcomes["polish"]) == sum(
        method.failures.values()
    )


def test_a_comparison_in_which_everything_fails_is_still_a_table() -> None:
    found = compare([polish], 3, "sim:fail=1")
    assert [r.accuracy.mean for r in found.rows] == [0, 0]
    assert found.rows[0].failures == {"server": 3}
    assert found.verdicts["polish"].endswith("; 3 of 3 runs failed.")


def test_a_hard_limit_holds_for_every_run() -> None:
    found = compare([polish(rounds=3)], 4, budget=Budget(calls=2))
    assert found.rows[0].failures == {"budget": 4} and found.rows[0].calls == 2
    assert found.settings.currency == "calls" and found.settings.budget == {"calls": 2}


def test_unknown_prices_stay_unknown() -> None:
    class Priceless(OneBill):
        async def sample(self, messages, n, sampling):
            replies = await super().sample(messages, n, sampling)
            return [msgspec.structs.replace(r, cost=None) for r in replies]

    assert all(r.cost is None for r in compare([polish], 2, Priceless()).rows)
    with pytest.raises(BadInput, match="price of 2 of 2 runs is unknown"):
        compare([polish], 2, Priceless(), budget="money")
    with pytest.raises(BadInput, match="spends no money"):
        compare([polish], 2, budget="money")


@pytest.mark.parametrize(
    ("wrong", "kind", "words"),
    [
        ({"methods": "debat"}, UnknownName, "did you mean debate"),
        ({"methods": []}, BadInput, "nothing to compare"),
        ({"methods": polish, "model": None}, BadInput, "nobody sings solver"),
        ({"methods": polish, "budget": "time"}, BadInput, "'time'; expected tokens, calls or money"),
        ({"methods": polish, "seeds": 0}, BadInput, "seeds is 0"),
        ({"methods": polish, "concurrency": 0}, BadInput, "concurrency is 0"),
    ],
)
def test_wrong_words_cost_nothing(wrong: dict[str, Any], kind: type[Exception], words: str) -> None:
    store = Store.memory()
    with pytest.raises(kind, match=words):
        compare(**{"store": store, **wrong})
    assert not store.runs()


def test_teams_that_are_cast_bring_the_voice_of_the_baselines() -> None:
    found = compare([chain_of_thought.cast("sim:skill=0.9")], 2, None)
    assert row(found, "direct").voices == {"solver": "sim:skill=0.9"}


def test_every_seed_is_a_run_and_every_item_one_mark() -> None:
    found = compare([direct], 10, seeds=3, seed=5)
    only = found.rows[0]
    assert only.runs == 30 and only.method == "direct"
    assert {found.store.load(o.run).started.seed for i in found.items for o in i.outcomes["direct"]} == {
        5,
        6,
        7,
    }
    assert found.items[0].value("direct") in (0, 1 / 3, 2 / 3, 1)


def test_marks_lie_on_the_tape_once_a_scorer() -> None:
    store, suite = Store.memory(), sums(3)
    for mark in ("numeric", "numeric", "exact"):
        found = motet.compare(
            [direct],
            Suite("sums", suite.tasks, scorer(mark)),
            model="sim:skill=1",
            store=store,
            baselines=False,
        )
    runs = store.runs()
    assert sorted(run.scores[0].scorer for run in runs) == ["exact"] * 3 + ["numeric"] * 3
    assert found.rows[0].accuracy.mean == 1
    assert all(run.ended for run in runs)


def test_progress_counts_what_is_paid_for() -> None:
    told: list[Progress] = []
    store = Store.memory()
    compare([polish], 3, store=store, on_progress=told.append)
    assert told[-1].done == told[-1].total == 3 * 5 and told[-1].tokens > 0
    assert [p.done for p in told] == sorted(p.done for p in told)
    assert told[-1].left_s == 0 and "tokens · $0.0000 · 0:00 left" in facts(told[-1])
    compare([polish], 3, store=store, on_progress=told.append)
    assert told[-1].done == 15 and told[-1].made == told[-1].tokens == 0 and told[-1].left_s is None


def test_as_data_and_as_text() -> None:
    found = compare([polish], 3)
    plain = json.loads(json.dumps(found.to_dict()))
    assert {"suite", "n", "seed", "currency", "rows", "items", "verdicts", "motet"} <= set(plain)
    assert plain["rows"][0]["accuracy"].keys() >= {"mean", "low", "high"}
    assert plain["items"][0]["outcomes"]["polish"][0]["run"]
    assert found.verdicts["polish"] in repr(found) and "SC(n=" in repr(found)


def interval(gains: list[float]) -> Interval:
    from motet.evals.stats import paired_bootstrap

    return paired_bootstrap(gains, [0.0] * len(gains))


@pytest.mark.parametrize(
    ("gains", "finding"),
    [
        ([1, 1, 0, 0, 1] * 20, "earned"),
        ([-1, 0, 0, 0, 0] * 20, "not_earned"),
        ([0] * 100, "not_earned"),
        ([1, -1, 0, 0, 1] * 4, "unclear"),
        ([1] * 3, "unclear"),
    ],
)
def test_findings(gains: list[float], finding: str) -> None:
    verdict = judge("team", gains, interval(gains), "voting", "calls")
    assert verdict.finding == finding and "its calls" in verdict.sentence
    assert (verdict.items_needed is not None) == (finding == "unclear")


def test_the_items_that_would_be_needed() -> None:
    assert items_needed([1, -1] * 50 + [1] * 11) == 800  # (2.8 * spread / mean)², up to two digits
    assert "about 10 items would be needed" in judge("a", [1] * 3, interval([1] * 3), "b", "tokens").sentence
    assert items_needed([1.0]) == items_needed([0.5, 0.5]) == 10


@given(st.floats(1, 1e4), st.floats(0.1, 1e3), st.integers(1, 200))
def test_votes_follow_from_two_prices(first: float, more: float, wanted: int) -> None:
    """Where one vote costs `first` and each other `more`, the right number is found from any trial."""
    cost = lambda n: first + (n - 1) * more  # noqa: E731
    spend = cost(wanted)
    guess = votes_for(spend, first)
    assert 1 <= guess <= MOST_VOTES
    if guess > 1:
        assert votes_for(spend, first, (guess, cost(guess))) == wanted
        assert rematched({"a": wanted}, {"a": spend}, {1: first, wanted: spend}) == {"a": wanted}


@given(st.dictionaries(st.text(max_size=3), st.integers(1, 300), max_size=12))
def test_levels_are_merged_only_when_near(votes: dict[str, int]) -> None:
    merged = merge_levels(votes)
    assert merged.keys() == votes.keys()
    assert all(0 <= votes[name] - level <= EQUAL * level for name, level in merged.items())
    levels = sorted(set(merged.values()))
    assert all(b > a * (1 + EQUAL) for a, b in pairwise(levels))


def test_a_scripted_failure_is_not_retried() -> None:
    store, model = Store.memory(), Scripted([Line(error="refused", times=1, match="sum|What"), "Answer: 0"])
    suite = sums(1)
    for _ in range(2):
        found = motet.compare([direct], suite, model=model, store=store, baselines=False)
        assert found.rows[0].failures == {"refused": 1}
