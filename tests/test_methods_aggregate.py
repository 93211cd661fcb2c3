"""Voting, judging and synthesis: who reads whom, and what it is good for on voices of known skill."""

import asyncio
import json
import math
from collections.abc import Sequence
from typing import Any

import pytest
from method_runs import SUM, accuracy, edges, is_right, noise, play, play_all, said_to, says, sums
from msgspec.structs import replace

from motet import Agent, Budget, Task, Team, tool
from motet.methods import (
    best_of_n,
    chain_of_thought,
    direct,
    mixture_of_agents,
    patched_moa,
    self_consistency,
    self_moa,
    self_moa_seq,
    smoa,
)
from motet.models.scripted import Line, Scripted
from motet.models.sim import Sim
from motet.types import FailureKind, Message, Reply, Sampling

MERGES = "sim:skill=0,follow=1"  # says what most say, and has nothing of its own to add
TEACHES = "sim:skill=0,follow=1,judge=1"  # knows the right answer when it sees it


def test_chain_of_thought_asks_for_steps_and_direct_does_not() -> None:
    asked = [said_to(play(team.cast("sim:skill=1")), "solver")[0] for team in (direct, chain_of_thought)]
    assert "step by step" not in asked[0]
    assert "step by step" in asked[1]
    assert all(SUM.prompt in a and "Answer: <number>" in a for a in asked)


def test_the_majority_is_right_as_often_as_the_binomial_says() -> None:
    n, p, tasks = 9, 0.7, sums(200)
    expected = sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(n // 2 + 1, n + 1))
    voted = accuracy(self_consistency(n=n).cast(f"sim:skill={p},wrong=1"), tasks)
    assert abs(voted - expected) < noise(expected, len(tasks))
    assert voted > p + noise(p, len(tasks))


def test_the_majority_gains_nothing_from_voices_that_err_together() -> None:
    tasks = sums(200)
    voted = accuracy(self_consistency(n=9).cast("sim:skill=0.6,rho=1,wrong=1"), tasks)
    assert abs(voted - 0.6) < noise(0.6, len(tasks))


def test_a_vote_counts_only_what_can_be_read_and_ties_go_to_the_first() -> None:
    solver = Scripted(["No idea.", "Answer: 7", "Answer: 42.0", "No idea.", "Answer: 42"])
    run = play(self_consistency(n=5).cast(solver))
    assert run.answer == "42"
    assert run.tape.ended and run.tape.ended.parents == ("3", "5")
    assert play(self_consistency(n=2).cast(Scripted(["Answer: 8", "Answer: 7"]))).answer == "8"
    silent = play(self_consistency(n=2).cast(lambda _: "No idea."))
    assert silent.error and silent.error.kind is FailureKind.NO_ANSWER


def test_a_judge_reads_all_samples_and_its_choice_is_the_answer() -> None:
    solver = Scripted(["Answer: 1", "Answer: 42", "Answer: 3"])
    run = play(best_of_n(n=3).cast(solver=solver, judge=lambda _: '{"best": 2}'))
    assert run.answer == "Answer: 42"
    assert edges(run) == [("solver", ())] * 3 + [("judge", ("1", "2", "3"))]
    assert run.tape.ended and run.tape.ended.parents == ("2", "4")
    assert "[2] Answer: 42" in said_to(run, "judge")[0]


@pytest.mark.parametrize("verdict", ['{"best": 4}', '{"best": 0}', "The second."])
def test_without_a_usable_verdict_the_first_sample_stands(verdict: str) -> None:
    solver = Scripted(["Answer: 1", "Answer: 42", "Answer: 3"])
    run = play(best_of_n(n=3).cast(solver=solver, judge=Agent(lambda _: verdict, repairs=0)))
    assert run.answer == "Answer: 1"
    assert run.tape.ended and run.tape.ended.parents == ("1",)


def test_one_candidate_needs_no_judge() -> None:
    run = play(best_of_n(n=1).cast(solver=says(42), judge="sim:fail=1"))
    assert is_right(run) and edges(run) == [("solver", ())]


@tool
def look(what: str) -> str:
    """Look something up."""
    return what


SHAKY = "sim:skill=1,fail=0.5"
ONE_BY_ONE = [
    pytest.param(Agent(SHAKY, tools=[look]), id="agent with a tool"),
    pytest.param(chain_of_thought.cast(SHAKY), id="team"),
]


@pytest.mark.parametrize("solver", ONE_BY_ONE)
def test_samples_that_are_asked_for_one_by_one_fail_one_by_one(solver: Any) -> None:
    run = play(best_of_n(n=6).cast(solver=solver, judge="sim:judge=1"))
    good = [call.id for call in run.calls if call.node][:-1]
    assert is_right(run) and 1 < len(good) < 6 < len(run.calls)
    assert edges(run)[-1] == ("judge", tuple(good)), "in order"
    assert f"{len(good)} candidate answers" in said_to(run, "judge")[0]
    for method in (self_consistency(n=6), self_moa(n=6), self_moa_seq(n=6, w=2), patched_moa(n=6)):
        assert is_right(play(method.cast("sim:skill=1,follow=0").cast(**{next(iter(method.voices)): solver})))


@pytest.mark.parametrize(
    "fails", [Agent("sim:fail=1,failure=timeout", tools=[look]), direct.cast("sim:fail=1")]
)
def test_when_all_samples_fail_the_first_failure_is_raised_and_a_spent_budget_is_not_waited_for(
    fails: Any,
) -> None:
    run = play(self_consistency(n=3).cast(fails))
    assert run.error and run.error == run.calls[0].failure and len(run.calls) == 3
    spent = play(self_consistency(n=3).cast(fails), budget=Budget(calls=2))
    assert spent.error and spent.error.kind is FailureKind.BUDGET


def test_best_of_n_is_as_good_as_its_judge() -> None:
    tasks, p, n = sums(150), 0.4, 4
    team = best_of_n(n=n).cast(solver=f"sim:skill={p}", judge="sim:judge=1")
    expected = 1 - (1 - p) ** n
    assert abs(accuracy(team, tasks) - expected) < noise(expected, len(tasks))


def test_each_layer_of_a_mixture_reads_the_layer_before() -> None:
    run = play(mixture_of_agents(n=2, layers=3).cast("sim:skill=1"))
    assert edges(run) == [
        ("proposers_1", ()),
        ("proposers_2", ()),
        ("proposers_1", ("1", "2")),
        ("proposers_2", ("1", "2")),
        ("aggregator", ("3", "4")),
    ]
    assert run.tape.ended and run.tape.ended.parents == ("5",)


def test_a_weak_member_makes_a_mixture_worse_than_self_moa() -> None:
    tasks = sums(150)
    alone = accuracy(self_moa(n=3).cast(proposer="sim:skill=0.8", aggregator=MERGES), tasks)
    cast = ["sim:skill=0.8", "sim:skill=0.2", "sim:skill=0.2"]
    mixed = accuracy(mixture_of_agents(layers=2).cast(proposers=cast, aggregator=MERGES), tasks)
    assert alone - mixed > noise(0.5, len(tasks)) * math.sqrt(2)


def test_members_of_equal_skill_and_complementary_errors_make_it_no_worse() -> None:
    tasks = [*sums(100, skill="a"), *sums(100, skill="b")]
    one, other = "sim:skill.a=0.9,skill.b=0.3", "sim:skill.a=0.3,skill.b=0.9"
    alone = accuracy(self_moa(n=2).cast(proposer=one, aggregator=TEACHES), tasks)
    team = mixture_of_agents(n=2, layers=2).cast(proposers=[one, other], aggregator=TEACHES)
    assert accuracy(team, tasks) > alone


def test_a_sliding_window_ends_as_well_as_one_long_prompt() -> None:
    tasks = sums(100)
    whole = play_all(self_moa(n=7).cast(proposer="sim:skill=0.2", aggregator=TEACHES), tasks)
    slid = play_all(self_moa_seq(n=7, w=3).cast(proposer="sim:skill=0.2", aggregator=TEACHES), tasks)
    assert [is_right(run) for run in slid] == [is_right(run) for run in whole]
    assert 0.5 < sum(map(is_right, whole)) / len(tasks) < 1


@pytest.mark.parametrize(
    ("skill", "judge", "whole", "slid"), [(0.3, 0.8, 0.81, 0.745), (0.6, 0.5, 0.905, 0.87)]
)
def test_a_sliding_window_loses_up_to_a_tenth_under_an_aggregator_that_errs(
    skill: float, judge: float, whole: float, slid: float
) -> None:
    voices = {"proposer": f"sim:skill={skill}", "aggregator": f"sim:skill=0,follow=1,judge={judge}"}
    found = [accuracy(team.cast(**voices), sums(200)) for team in (self_moa(n=7), self_moa_seq(n=7, w=3))]
    assert found == pytest.approx([whole, slid])
    assert 0 < found[0] - found[1] < 0.1


def test_a_sliding_window_carries_the_synthesis_and_stays_bounded() -> None:
    run = play(self_moa_seq(n=6, w=3).cast("sim:skill=1"))
    reading = [parents for voice, parents in edges(run) if voice == "aggregator"]
    assert reading == [("1", "2", "3"), ("7", "4", "5"), ("8", "6")]


def test_sparse_layers_pass_on_what_the_judge_keeps() -> None:
    proposers = [says(i) for i in (10, 20, 30, 40)]
    stop = Scripted(
        [Line('{"stop": false}', times=1, match="Should"), Line('{"stop": true}', match="Should")]
    )
    team = smoa(n=4, k=2, layers=4).cast(
        proposers=proposers, judge=lambda _: '{"best": [4, 2]}', moderator=stop, aggregator="sim:skill=1"
    )
    run = play(team)
    layer = [f"proposers_{i}" for i in range(1, 5)]
    assert edges(run) == [
        *((name, ()) for name in layer),
        ("judge", ("1", "2", "3", "4")),
        ("moderator", ("1", "2", "3", "4")),
        *((name, ("4", "2")) for name in layer),
        ("judge", ("7", "8", "9", "10")),
        ("moderator", ("7", "8", "9", "10")),
        ("aggregator", ("10", "8")),
    ]
    assert len({said_to(run, name)[0] for name in layer}) == 4, "each proposer has another role"


def test_the_moderator_hears_of_dissent_that_the_judge_leaves_out_and_both_are_asked_together() -> None:
    asked = 0

    async def together(prompt: str) -> str:
        nonlocal asked
        asked += 1
        await asyncio.sleep(0)
        assert asked == 2, "the judge and the moderator wait for each other"
        return stops_when_all_agree(prompt) if "Should" in prompt else '{"best": [1, 2]}'

    team = smoa(n=3, k=2, layers=3).cast(judge=together, moderator=together, aggregator=says(42))
    run = play(team.cast(proposers=[says(42), says(42), says(7)]), budget=Budget(calls=5))
    assert [voice for voice, _ in edges(run)][3:] == ["judge", "moderator"]
    assert run.error and run.error.kind is FailureKind.BUDGET, "two of three agree: the layers go on"


def test_a_judge_that_repeats_itself_or_fails_leaves_k_answers_all_the_same() -> None:
    for judge in (lambda _: '{"best": [3, 3]}', "sim:fail=1"):
        run = play(smoa(n=4, k=2, layers=2).cast("sim:skill=1").cast(judge=judge))
        assert edges(run)[-1] == ("aggregator", ("3", "1") if callable(judge) else ("1", "2"))


class Wordy(Sim):
    """A simulated solver of many words."""

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        replies = await super().sample(messages, n, sampling)
        return [replace(r, message=Message.say("assistant", f"{'well ' * 2000}\n{r.text}")) for r in replies]


def goes_on(_: str) -> str:
    return '{"stop": false}'


def stops_when_all_agree(prompt: str) -> str:
    answers = {line for line in prompt.splitlines() if line.startswith("Answer: ")}
    return json.dumps({"stop": len(answers) == 1})


def test_sparse_prompts_grow_with_k_and_not_with_n() -> None:
    def later_prompts(team: Team) -> list[int]:
        run = play(team.cast("sim:skill=0").cast(**{v: goes_on for v in team.voices if v == "moderator"}))
        return [c.usage.input_tokens for c in run.calls if c.voice == "proposers_1"][1:]

    few, many, wide = (later_prompts(smoa(n=n, k=k, layers=4)) for n, k in [(4, 2), (12, 2), (12, 4)])
    assert few == pytest.approx(many, abs=1)
    assert min(wide) > max(many)
    dense = [later_prompts(mixture_of_agents(n=n)) for n in (4, 12)]
    assert min(dense[1]) > max(dense[0])


def test_sparse_prompts_cost_the_part_of_dense_ones_that_they_show() -> None:
    n, k = 8, 2
    voices = {"proposers": Wordy(skill=0), "aggregator": MERGES}
    dense = play(mixture_of_agents(n=n).cast(**voices))
    knowing = {"judge": TEACHES, "moderator": TEACHES}  # all are wrong: the layers go on
    sparse = play(smoa(n=n, k=k).cast(**voices, **knowing))
    shown = (n * k + 3 * n + k) / (n * n + n)  # replies read in a whole run, sparse over dense
    assert sparse.usage.input_tokens / dense.usage.input_tokens == pytest.approx(shown, rel=0.1)


def test_sparse_is_as_right_as_dense() -> None:
    tasks, voices = sums(80), {"proposers": "sim:skill=0.6", "aggregator": MERGES}
    dense = accuracy(mixture_of_agents(n=6).cast(**voices), tasks)
    sparse = accuracy(smoa(n=6, k=2).cast(**voices, judge=TEACHES, moderator=stops_when_all_agree), tasks)
    assert sparse > dense - noise(dense, len(tasks))


def test_easy_items_stop_after_one_layer() -> None:
    run = play(smoa(n=6, k=2).cast("sim:skill=1").cast(moderator=stops_when_all_agree))
    assert len(run.calls) == 6 + 1 + 1 + 1
    hard = play(smoa(n=6, k=2).cast("sim:skill=0,wrong=1000").cast(moderator=stops_when_all_agree))
    assert len(hard.calls) > len(run.calls)


def test_a_vote_on_texts_answers_in_the_words_of_a_voter() -> None:
    said = iter(["Answer: the river Rhine.", "Answer: The River Rhine", "Answer: Danube"])
    run = play(self_consistency(n=3).cast(lambda _: next(said)), Task("Which river?"))
    assert run.answer == "the river Rhine."
