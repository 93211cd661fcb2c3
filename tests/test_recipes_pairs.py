"""Two roles that learn together: episodes that branch at each turn (AT-GRPO), pioneer and observer (CORY)."""

import asyncio
from collections.abc import Mapping
from math import log
from typing import Any

import pytest
import torch
from pytest import approx

from motet.credit import credit
from motet.envs.registry import make
from motet.errors import BadInput
from motet.models.protocol import Model
from motet.models.rule import Rule
from motet.models.scripted import Line, Scripted
from motet.tape import Scored, Store
from motet.train import tabular_engine, train
from motet.train.assign import trajectories_of
from motet.train.branching import Branches, Branching
from motet.train.rows import rows_of
from motet.train.source import Rollout
from recipes import at_grpo, cory

torch.set_num_threads(1)
POLICIES = {"first": "first", "second": "second"}


def engine() -> Any:
    return tabular_engine(at_grpo.WORDS, ("first", "second"))


def played(source: Branching, models: Mapping[str, Model] | None = None, number: int = 0) -> Rollout:
    voices = models or {seat: engine().model(seat) for seat in POLICIES}
    store = Store.memory()
    try:
        return asyncio.run(source.rollout(source.cast(voices), number, 7, store))
    finally:
        store.close()


def small(branches: Branches) -> at_grpo.Two:
    return at_grpo.maze(branches, size=3, turns=14, starts=1)


def test_a_group_holds_replies_of_one_seat_in_one_state() -> None:
    rollout = played(small(Branches(k=3, local=at_grpo.advice)))
    trajectories, _ = trajectories_of([rollout], rows_of([rollout.run.tape], POLICIES))
    given = credit(trajectories, "at_grpo")
    turns: dict[int | None, list[tuple[str, Any, float]]] = {}
    for one, advantages in zip(trajectories, given.advantages, strict=True):
        for step, advantage in zip(one.steps, advantages, strict=True):
            turns.setdefault(step.turn, []).append((one.voice, step.state, advantage or 0.0))
    assert len(turns) == len(rollout.run.tape.steps) == given.counts["groups"]
    for samples in turns.values():
        assert len(samples) == 3 and len({sample[:2] for sample in samples}) == 1
        assert sum(sample[2] for sample in samples) == approx(0)
    assert any(sample[2] for samples in turns.values() for sample in samples)


@pytest.mark.parametrize("follow", ["best", "first"])
def test_the_episode_goes_on_with_the_reply_that_is_wanted(follow: Any) -> None:
    rollout = played(small(Branches(k=4, local=at_grpo.advice, follow=follow)))
    calls = [call.id for call in rollout.run.calls]
    for turn, step in enumerate(rollout.run.tape.steps):
        tried = calls[4 * turn : 4 * turn + 4]
        best = max(tried, key=lambda call: rollout.steps[call])
        assert list(step.calls.values()) == [best if follow == "best" else tried[0]]
    assert {s.call: s.value for s in rollout.run.tape.events if isinstance(s, Scored)} == rollout.steps


def test_a_reply_is_worth_the_teams_reward_and_the_roles_own() -> None:
    perfect = {"first": "perfect", "second": "perfect"}
    branches = Branches(k=1, alpha=2.0, local=at_grpo.advice)
    rollout = played(Branching("maze", {"size": 3}, others=perfect, branches=branches), {"*": Rule(str)})
    *before, last = rollout.steps.values()
    assert before == approx([0.1] * len(before)) and last == approx(2.1)
    both = 2.0 + 0.1 * len(rollout.steps) / 2
    assert rollout.rewards == approx({"first": both, "second": both})
    assert rollout.group == "0"  # nothing branched: rollouts of one start are compared


def test_advice() -> None:
    world = make("maze", 0, size=3)
    good = [w for w in at_grpo.WAYS if at_grpo.advice(world, "first", f"move:{w}")]
    assert good and world.perfect("first", None) in {f"move {w}" for w in good}  # type: ignore[attr-defined]
    world.step({"first": f"move:{good[0]}"})
    assert [w for w in at_grpo.WAYS if at_grpo.advice(world, "second", f"move:{w}")] == good[:1]


def test_a_voice_that_fails_makes_no_move() -> None:
    failing = {seat: Scripted([Line(error="server")] * 20) for seat in ("x", "o")}
    rollout = played(Branching("tic_tac_toe", branches=Branches(k=2)), failing)
    assert rollout.run.ok and rollout.steps == {} and rollout.rewards["x"] != 0


def test_what_cannot_branch_is_refused() -> None:
    with pytest.raises(BadInput, match="k is 0; expected 1"):
        Branches(k=0)
    with pytest.raises(BadInput, match="seats that act at once"):
        played(Branching("matching_pennies"), {"row": Rule(str), "column": Rule(str)})


def test_one_policy_may_play_both_roles() -> None:
    source = small(at_grpo.ARMS["AT-GRPO"][2])
    done = train(
        source,
        engine=engine(),
        policies={"*": "first"},
        iterations=1,
        groups=1,
        group_size=2,
        credit="at_grpo",
    )
    assert done.curve[-1]["first/grad_norm"] > 0 and "second/grad_norm" not in done.curve[-1]


@pytest.mark.slow
def test_at_grpo_learns_from_few_calls() -> None:
    found = at_grpo.learned(("AT-GRPO", 0), 1200, small(at_grpo.MIXED))
    assert found > 0.8


# CORY


def world(joint: bool = True) -> cory.Queries:
    return cory.Queries(cory.in_turn, cory.WORLDS["whole"], joint)


def test_the_observer_sees_the_pioneers_answer_and_both_earn_the_sum() -> None:
    source, store = world(), Store.memory()
    said = {"pioneer": Rule(lambda _: "zero"), "observer": Rule(lambda text: text.split()[-1])}
    team = source.cast(said)
    found = [asyncio.run(source.rollout(team, number, number, store)) for number in range(9)]
    store.close()
    assert all(r.run.answer == "zero zero" and r.run.calls[1].parents == ("1",) for r in found)
    assert [r.rewards["pioneer"] for r in found] == [1, 0, 0, 0, 0, 1, 0, 1, 0]
    assert source.worth["pioneer", found[0].run.calls[0].prompt] == approx(0.05 * 2)
    assert found[0].notes == {"1": {"value": 0.0}, "2": {"value": 0.0}}


def test_untrained_copies_guess() -> None:
    engine = tabular_engine(cory.WORDS, ("a", "b"))
    for name in cory.WORLDS:
        assert cory.measured(engine, "ab", name) == approx((1 / 3, 0.0, 1 / 3, 0.0), abs=1e-9)
    assert cory.score([1.0, 0.0, 0.0], (1, 2)) == (1.0, approx(log(3)))


@pytest.mark.slow
def test_both_copies_learn_both_roles() -> None:
    found = cory.learned(("CORY", "whole", 0.05, 0), 1152, lr=0.5)
    assert found.alone > 0.6 and found.observer > 0.6
    assert 0 < found.alone_kl < log(3)
