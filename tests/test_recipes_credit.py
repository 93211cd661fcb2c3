"""Credit in the loop: what presets read reaches them, replays tell what a voice was worth, recipes hold."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from math import log
from statistics import fmean
from typing import Any

import msgspec
import pytest
from pytest import approx

import motet
from motet.combine import ask_all, majority
from motet.credit import PRESETS, Trajectory
from motet.credit.counterfactual import asked, from_table, leave_one_out, shapley, shapley_sampled
from motet.envs.players import PLAYERS, Player
from motet.envs.registry import make
from motet.errors import BadInput, UnknownName
from motet.models.protocol import Model
from motet.models.rule import Rule
from motet.models.scripted import Line, Scripted
from motet.teams import Team, Voices
from motet.train import Adam, Episodes, Horizon, Loss, Plan, Tasks, Trained, tabular_engine, train
from motet.train.assign import replayed, trajectories_of
from motet.train.branching import Branching
from motet.train.gain import informed
from motet.train.plan import read_plan
from motet.train.replay import without
from motet.train.rows import rows_of
from motet.train.source import Rollout
from motet.types import Task
from recipes.gigpo_vs_grpo import House, house, learned

SUM = Task("20 + 22?", "42", "sum", "number")


class Sums:
    """One sum, marked by its target."""

    name = "sums"
    tasks = (SUM,)

    @property
    def scorer(self) -> "Sums":
        return self

    async def __call__(self, task: Task, answer: str) -> Any:
        return Mark(float(answer == task.target))


class Mark(msgspec.Struct, frozen=True):
    value: float


@motet.team
async def vote(task, voters: Voices):
    """All vote."""
    return majority(task, await ask_all(voters.take(len(voters)), task))


def voters(*said: str) -> Team[...]:
    return vote.cast(voters=[Rule(lambda _, answer=answer: answer, f"says {answer}") for answer in said])


def valued(team: Team[...], credit: str, *names: str, **options: Any) -> Rollout:
    """One rollout with what its coalitions earn."""

    async def play() -> Rollout:
        source, store = Tasks(team, Sums()), motet.Store.memory()
        rollout = await source.rollout(team, 0, 0, store)
        return await replayed(source, team, rollout, names, Plan(credit=credit, options=options), store)

    return asyncio.run(play())


# Replays


def test_a_vote_without_each_voice() -> None:
    names = [f"voters_{i}" for i in range(1, 5)]
    table = valued(voters("7", "42", "42", "I cannot tell."), "shapley", *names).coalitions
    assert len(table) == 16
    assert table[""] == table["voters_4"] == 0.0  # no answer, which is the team's own fault
    assert table["voters_2"] == table["voters_1+voters_2+voters_3"] == 1.0
    assert table["voters_1+voters_2"] == 0.0  # a draw, which the first wins
    worth = shapley(names, from_table(table))
    assert worth == approx({"voters_1": -1 / 3, "voters_2": 2 / 3, "voters_3": 2 / 3, "voters_4": 0.0})
    few = valued(voters("7", "42", "42", "I cannot tell."), "difference", *names).coalitions
    assert len(few) == 5
    assert leave_one_out(names, from_table(few)) == leave_one_out(names, from_table(table))


@motet.team
async def relay(task, scout, decider):
    """One finds out, the other decides; a decider without notes guesses."""
    notes = await motet.combine.ask_each([scout], [task])
    return await decider.ask(task, *[note for note in notes if isinstance(note, motet.Reply)])


def test_only_what_the_silence_reaches_is_asked_anew() -> None:
    asked: list[str] = []

    def say(text: str) -> str:
        asked.append(text)
        return "42" if "It is 42." in text else "7"

    team = relay.cast(scout=Rule(lambda _: "It is 42."), decider=Rule(say))
    found = valued(team, "leave_one_out", "scout", "decider").coalitions
    assert found == {"decider+scout": 1.0, "decider": 0.0, "scout": 0.0}
    assert asked == ["20 + 22?\n\nIt is 42.", "20 + 22?"]


def test_a_replay_repeats_failures_and_nested_voices() -> None:
    inner = relay.cast(scout=Scripted([Line(error="server")]), decider=Scripted(["42"]))
    team = vote.cast(voters=[inner, Rule(lambda _: "42")])
    run = team.run(SUM, store=motet.Store.memory())
    again = without(team, run.tape, frozenset({"voters_2"})).run(SUM, store=motet.Store.memory())
    failed = {call.voice: call.failure.kind if call.failure else "" for call in again.calls}
    assert failed == {"voters_1/scout": "server", "voters_1/decider": "", "voters_2": "no_answer"}
    assert again.answer == "42"


# Replays of worlds

PLANTED = "pettingzoo:planted_world"
IDLE = PLAYERS["random"]


def says(name: str, right: bool) -> Player:
    """A seat that always, or never, says the number that it sees."""
    return Player(name, lambda env, seat, _: int((env.observe(seat).array[0] > 0) == right))


def seated(credit: str, number: int, **seats: Any) -> Rollout:
    """An episode of the planted world with what its coalitions earn."""

    async def play() -> Rollout:
        source, store = Episodes(PLANTED), motet.Store.memory()
        team = source.cast(seats)
        rollout = await source.rollout(team, number, number, store)
        return await replayed(source, team, rollout, tuple(seats), Plan(credit=credit), store)

    return asyncio.run(play())


def test_a_world_tells_what_each_seat_was_worth() -> None:
    names = ("one", "two", "idle")
    worth: dict[str, list[float]] = {name: [] for name in names}
    for number in range(12):
        found = seated("leave_one_out", number, one=says("right", True), two=says("wrong", False), idle=IDLE)
        assert found.rewards == dict.fromkeys(names, 4.0)
        assert found.coalitions["idle+one+two"] == found.coalitions["one+two"] == 4.0
        for name, value in leave_one_out(names, from_table(found.coalitions)).items():
            worth[name].append(value)
    assert set(worth["idle"]) == {0.0}
    assert fmean(worth["one"]) == approx(2.0, abs=0.7)  # of 4 numbers, a random seat says 2 rightly
    assert fmean(worth["two"]) == approx(-2.0, abs=0.7)
    one = seated("difference", 3, one=IDLE, two=IDLE).coalitions
    assert one["one+two"] == one["one"] == one["two"], "a seat at random is worth nothing"


def test_only_the_seat_that_is_left_out_moves_otherwise() -> None:
    asked: list[str] = []

    def say(text: str) -> str:
        asked.append(text)
        return "Action: 1"

    found = seated("difference", 0, one=Rule(say), two=says("right", True), idle=IDLE)
    assert len(asked) == 4, "what it was asked on the tape is not asked again"
    assert len(found.coalitions) == 4


def test_seats_with_rewards_of_their_own_have_no_common_one() -> None:
    with pytest.raises(BadInput, match=r"seats of kuhn earn \{'first': .*train one of them"):
        train("kuhn", engine=tabular_engine(("check",)), policies={"*": "policy"}, credit="difference")
    with pytest.raises(BadInput, match=r"replies of Branching are compared.*train on Episodes"):
        maze, plan = Branching("maze", {"size": 3, "turns": 2}), {"iterations": 1, "groups": 1}
        engine = tabular_engine(("move east",))
        train(maze, engine=engine, policies={"*": "policy"}, credit="difference", **plan)
    alone = Episodes("kuhn", others={"second": "perfect"}, instead="perfect")
    plan = {"iterations": 1, "groups": 1, "group_size": 2}
    engine = tabular_engine(("check", "bet"))
    done = train(alone, engine=engine, policies={"first": "policy"}, credit="difference", **plan)
    assert done.curve[-1]["rollouts"] == 2


def test_counterfactual_credit_teaches_the_seats_of_a_world() -> None:
    source = Episodes(PLANTED, {"steps": 1}, {"idle": "random", "two": says("wrong", False)}, starts=2)
    done = train(
        source,
        engine=tabular_engine(("Action: 0", "Action: 1")),
        policies={"one": "policy"},
        credit="difference",
        iterations=12,
        groups=2,
        group_size=8,
        adam=Adam(lr=0.4),
    )
    assert done.curve[-1]["reward/one"] > 0.9


def test_presets_ask_for_the_coalitions_they_read() -> None:
    options = PRESETS["shapley"].read({"method": "sampled", "samples": 4})
    assert PRESETS["shapley"].coalitions
    names = ["c", "a", "b"]
    wanted = set(PRESETS["shapley"].coalitions(names, options))
    assert wanted == set(asked(lambda v, w: shapley_sampled(v, w, samples=4), sorted(names)))
    assert len(list(PRESETS["difference"].coalitions(names, {}))) == 4  # type: ignore[misc]
    every = {frozenset(c) for n in range(4) for c in combinations(names, n)}
    assert set(asked(shapley, names)) == every


# In the loop


class Silent:
    """A source that cannot tell what a voice was worth."""

    name, voices = "silent", ("voters",)
    inner = Tasks(voters("7"), Sums())

    def cast(self, models: Mapping[str, Model]) -> Team[...]:
        return self.inner.cast(models)

    async def rollout(self, team: Team[...], number: int, seed: int, store: motet.Store) -> Rollout:
        return await self.inner.rollout(team, number, seed, store)


def taught(credit: str, suite: Any = None, **settings: Any) -> Trained:
    pupils = [motet.Agent(Rule(str), f"You are pupil {i}.") for i in range(3)]
    team = school.cast(pupils=pupils, harmful=Rule(lambda _: "7"))
    plan = {"iterations": 1, "groups": 1, "group_size": 8, "adam": Adam(lr=0.3), **settings}
    engine = tabular_engine(("42", "7"))
    return train(team, suite or Sums(), engine=engine, policies={"pupils": "policy"}, credit=credit, **plan)


@motet.team
async def school(task, pupils: Voices, harmful):
    """Pupils vote with one who is always wrong."""
    return majority(task, await ask_all((*pupils.take(3), harmful), task))


@pytest.mark.parametrize("credit", ["difference", "leave_one_out", "shapley"])
def test_counterfactual_credit_teaches(credit: str) -> None:
    done = taught(credit, iterations=8, group_size=12)
    assert done.curve[-1]["reward/pupils"] > 0.9
    assert done.ledger.counts["untrained"] == 8 * 12  # replays are in no ledger


def test_groups_of_one_are_refused_where_rollouts_are_compared() -> None:
    lone = {"engine": tabular_engine(("42", "7")), "policies": {"scout": "policy"}, "iterations": 1}
    team = relay.cast(decider=Rule(str))
    with pytest.raises(BadInput, match=r"'grpo' compares.*each group \(of 1\) has one alone.*group_size"):
        train(team, Sums(), groups=1, group_size=1, **lone)
    assert train(team, Sums(), groups=1, group_size=1, credit="reinforce", **lone).curve[-1]["rows"] == 1


def test_what_a_preset_reads_and_nobody_gives_is_named() -> None:
    with pytest.raises(BadInput, match=r"'ppo_turn_gae' reads `value`.*no rollout of sums.*Rollout\.notes"):
        taught("ppo_turn_gae")
    with pytest.raises(BadInput, match=r"'llm_critic' reads `judge` or `reward`"):
        taught("llm_critic")
    with pytest.raises(BadInput, match=r"'spa_rl' reads `value` and `progress` or `reward`"):
        taught("spa_rl")
    with pytest.raises(BadInput, match=r"'difference' asks what the team earns.*Silent has no `replay`"):
        train(Silent(), engine=tabular_engine(("7",)), policies={"*": "policy"}, credit="difference")


@dataclass(frozen=True)
class Noted(Tasks):
    """A team whose calls are noted."""

    field: str = "contribution"

    async def rollout(self, team: Team[...], number: int, seed: int, store: Any) -> Rollout:
        found = await super().rollout(team, number, seed, store)
        notes = {call.id: {self.field: float(seed % 7)} for call in found.run.calls if call.node}
        return msgspec.structs.replace(found, notes=notes, facts={"*": {"proposal": "p"}})


def noted(credit: str, field: str = "contribution") -> Trained:
    pupils = [motet.Agent(Rule(str), f"You are pupil {i}.") for i in range(3)]
    source = Noted(school.cast(pupils=pupils, harmful=Rule(lambda _: "7")), Sums(), field=field)
    engine = tabular_engine(("42", "7"))
    return train(
        source, engine=engine, policies={"pupils": "policy"}, credit=credit, iterations=1, loss=Loss()
    )


def test_notes_reach_the_presets() -> None:
    assert noted("public_goods").curve[-1]["rows"] == 192
    assert noted("llm_critic", "judge").curve[-1]["policy/grad_norm"] > 0
    assert noted("cory", "value").curve[-1]["policy/grad_norm"] > 0
    with pytest.raises(UnknownName, match="no field of a credit step is called 'contributions'"):
        noted("grpo", "contributions")


def test_trajectories_carry_what_the_tape_tells() -> None:
    engine, store = tabular_engine(("42", "7")), motet.Store.memory()
    source = Tasks(school.cast(pupils=[engine.model("policy")] * 3, harmful=Rule(lambda _: "7")), Sums())
    rollout = asyncio.run(source.rollout(source.team, 0, 0, store))
    voices = {f"pupils_{i}": "policy" for i in (1, 2, 3)}
    rollout = asyncio.run(replayed(source, source.team, rollout, voices, Plan(credit="difference"), store))
    found, calls = trajectories_of([rollout], rows_of([rollout.run.tape], voices))
    one = found[0]
    assert isinstance(one, Trajectory)
    assert one.steps[0].entropy == approx(log(2))
    assert one.without == rollout.coalitions["pupils_2+pupils_3"]
    assert [row[0].rpartition("/")[0] for row in calls] == [rollout.run.id] * 3
    illegal = Episodes("tic_tac_toe", others={"x": Rule(lambda _: "12"), "o": Rule(lambda _: "5")})
    lost = asyncio.run(illegal.rollout(illegal.cast({}), 0, 0, store))
    assert [note["executable"] for note in lost.notes.values()] == [False] * 3


# Longer and longer episodes; starts that come again


def test_a_horizon_grows_and_cuts_episodes_short() -> None:
    plan = Horizon(first=2, last=5, grow=2, every=2)
    assert [plan.at(i) for i in range(7)] == [2, 2, 4, 4, 5, 5, 5]
    with pytest.raises(BadInput, match="1 <= first <= last"):
        Horizon(first=3, last=2)
    done = train(
        House("household", {"things": 3, "places": 7}),
        engine=tabular_engine(("0", "1")),
        policies={"player": "policy"},
        iterations=5,
        groups=2,
        group_size=2,
        horizon=plan,
    )
    assert [line["horizon"] for line in done.curve[1:]] == [2, 2, 4, 4, 5]
    assert [line["rows"] for line in done.curve[1:]] == [8, 8, 16, 16, 20]
    assert read_plan({"horizon": plan}).horizon == plan
    with pytest.raises(UnknownName, match="no knob of school is called 'turns'"):
        taught("grpo", horizon=plan)


def test_starts_come_again() -> None:
    source, store = Episodes("kuhn", first=5, starts=2), motet.Store.memory()
    team = source.cast({seat: Rule(lambda _: "check") for seat in source.voices})
    found = [asyncio.run(source.rollout(team, n, 0, store)) for n in range(4)]
    assert found[0].start == found[2].start
    assert found[1].start == found[3].start
    assert [r.group for r in found] == ["0", "1", "2", "3"]


def test_a_small_house() -> None:
    small = make("household", 0, things=3, places=7)
    assert len(small.observe("player").legal or ()) == 7
    with pytest.raises(BadInput, match="up to 15 places"):
        make("household", 0, places=16)
    with pytest.raises(BadInput, match="1 to 3 things"):
        make("household", 0, things=4, places=7)


# GiGPO


def test_gigpo_without_its_weight_is_grpo_to_the_last_bit() -> None:
    def curve(name: str) -> list[float]:
        return learned((name, 1), 3, house(starts=1, first=3, steps=30), group_size=8)

    assert curve("GiGPO, ω = 0") == curve("GRPO")
    assert max(curve("GRPO")) > 0  # there was something to learn from
    assert curve("GiGPO") != curve("GRPO")


@motet.team
async def twice(task, solver):
    """Think, then answer."""
    first = await solver.ask(task)
    return await solver.ask(task, first)


def test_information_gain_is_scored_by_the_policy_itself() -> None:
    engine = tabular_engine(("42", "7"))
    done = train(twice, Sums(), engine=engine, policies={"solver": "policy"}, credit="igpo", iterations=3)
    assert done.curve[-1]["policy/grad_norm"] > 0
    with pytest.raises(BadInput, match="has no ids for the answer '42'"):
        train(
            *(twice, Sums()),
            engine=tabular_engine(("41", "7")),
            policies={"solver": "policy"},
            credit="igpo",
            iterations=1,
        )


def test_the_answer_is_scored_before_each_turn() -> None:
    engine, store = tabular_engine(("42", "7")), motet.Store.memory()
    source = Tasks(twice.cast(solver=engine.model("policy")), Sums())
    rollout = asyncio.run(source.rollout(source.team, 0, 0, store))
    rows = rows_of([rollout.run.tape], {"solver": "policy"})
    assert informed([rollout], rows, "grpo", engine) == [rollout]
    (told,) = informed([rollout], rows, "igpo", engine)
    assert told.notes == {"1": {"answer_logp": approx(-log(2))}, "2": {"answer_logp": approx(-log(2))}}
