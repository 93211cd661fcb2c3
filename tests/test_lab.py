"""The laboratory against what is known without it: closed forms, and sweeps that must come out even."""

import json
import math
from itertools import product
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result

import motet
from motet.cli import main
from motet.errors import BadInput
from motet.evals import lab
from motet.evals.lab.prepared import prepared
from motet.evals.lab.subject import subject
from motet.evals.lab.sweep import Cell, Sweep, gain_of, marks
from motet.evals.lab.words import heads, heat, sign, verdict
from motet.evals.lab.world import on, singers, specialists
from motet.evals.stats import Interval, binomial_majority
from motet.methods import best_of_n, direct, mixture_of_agents, self_moa
from motet.models.sim import Sim

SUM = motet.Task("What is 17 + 25?", target="42", kind="number")
N = 300


def near(p: float, n: int = N) -> object:
    """Within three and a half standard errors of a share."""
    return pytest.approx(p, abs=3.5 * math.sqrt(max(p * (1 - p), 0.01) / n))


def share(team: motet.Team, n: int = N) -> float:
    return sum(marks(team, SUM, range(n))[0]) / n


def test_a_majority_is_right_as_often_as_the_binomial_says() -> None:
    found = lab.sweep("self_consistency", items=N, skill=(0.4, 0.7), wrong=1, knobs={"n": 5})
    assert [cell.method.mean for cell in found.cells] == [near(binomial_majority(p, 5)) for p in (0.4, 0.7)]
    assert [(cell.gain.mean, cell.votes) for cell in found.cells] == [(0, 5), (0, 5)]


def test_equal_voices_gain_nothing_from_a_debate() -> None:
    found = lab.sweep("debate", items=60, rho=1, judge=(0, 1), fix=0, spoil=0)
    assert len(found.cells) == 2
    for cell in found.cells:
        assert cell.gain.mean == 0
        assert cell.method.mean == cell.vote.mean == near(0.6, 60)
        assert cell.gain.low < 0 < cell.gain.high  # sixty items do not prove that there is nothing


def test_one_good_voice_several_times_beats_a_mixture_with_weak_ones() -> None:
    """Self-MoA against MoA at equal calls (Li et al. 2025)."""
    good, weak, reader = Sim(skill=0.8), Sim(skill=0.2), Sim(skill=0.5, follow=1)
    mixed = mixture_of_agents(n=3, layers=2).cast(proposers=[good, weak, weak], aggregator=reader)
    alone = self_moa(n=3).cast(proposer=good, aggregator=reader)
    assert len(mixed.run(SUM, store=motet.Store.memory()).calls) == 4 == self_moa_calls(alone)
    assert share(alone, 300) > share(mixed, 300) + 0.15


def self_moa_calls(team: motet.Team) -> int:
    return len(team.run(SUM, store=motet.Store.memory()).calls)


def aggregated(honest: int, liars: int, skill: float, judge: float) -> float:
    """How often an aggregator is right: a judge among the proposals and its own, or the most common (the
    first of equals); there is one wrong answer. Summed over all that can happen."""
    total = 0.0
    for rights in product([True, False], repeat=honest + 1):
        chance = math.prod(skill if right else 1 - skill for right in rights)
        shown = [*rights[:honest], *[False] * liars, rights[-1]]
        most = sum(shown) * 2 > len(shown) or (sum(shown) * 2 == len(shown) and shown[0])
        total += chance * (judge * any(shown) + (1 - judge) * most)
    return total


def test_a_deceiver_in_a_mixture_costs_what_it_costs() -> None:
    knobs = {"n": 3, "layers": 2}
    found = lab.sweep(
        "mixture_of_agents",
        items=N,
        knobs=knobs,
        deceivers=(0, 1, 2),
        skill=0.7,
        judge=0.5,
        follow=1,
        wrong=1,
    )
    planted = [aggregated(3 - liars, liars, 0.7, 0.5) for liars in (0, 1, 2)]
    assert planted[0] - planted[2] > 0.15
    assert [cell.method.mean for cell in found.cells] == [near(p) for p in planted]


def test_a_judge_that_lies_leaves_nothing_but_what_all_agree_on() -> None:
    team = best_of_n(n=3).cast(solver=Sim(skill=0.8), judge=Sim(skill=0.8, judge=1, deceive=1))
    assert share(team, 300) == near(0.8**3, 300)


def test_a_sweep_takes_every_combination_and_comes_out_the_same_again() -> None:
    found = lab.sweep("chain_of_thought", items=10, skill=(0.2, 0.8), rho=(0, 0.5, 1), judge=0)
    assert [(c.world["skill"], c.world["rho"]) for c in found.cells] == list(product((0.2, 0.8), (0, 0.5, 1)))
    assert found == lab.sweep("chain_of_thought", items=10, skill=(0.2, 0.8), rho=(0, 0.5, 1), judge=0)
    assert found != lab.sweep(
        "chain_of_thought", items=10, seed=10, skill=(0.2, 0.8), rho=(0, 0.5, 1), judge=0
    )
    assert all(cell.gain.mean == 0 and cell.calls == 1 for cell in found.cells)
    assert heat(found).splitlines()[0].split() == ["skill", "\\", "rho", "0", "0.5", "1"]


def test_a_team_of_ones_own_is_tried_like_a_method() -> None:
    @motet.team
    async def stubborn(task, writer, wall, *, times: int = 2):
        for _ in range(times):
            draft = await writer.ask(task)
        return draft

    found = lab.sweep(stubborn.cast(wall=str.upper), items=20, skill=1, knobs={"times": 3})
    assert (found.name, found.cells[0].calls, found.cells[0].method.mean) == ("stubborn", 3, 1)
    with pytest.raises(BadInput, match="deceivers=1, weak=0: stubborn has 1 seat"):
        lab.sweep(stubborn.cast(wall=str.upper), items=1, deceivers=1)


@pytest.mark.parametrize(
    ("axes", "error", "words"),
    [
        ({"skil": 0.5}, BadInput, "no 'skil' to vary; voices have skill"),
        ({"skill": 1.5}, BadInput, "skill is 1.5"),
        ({"skill": ()}, BadInput, "expected numbers"),
        ({"items": 0}, BadInput, "items=0"),
        ({"deceivers": 3}, BadInput, "debate has 3 seats"),
        ({"deceivers": 1, "weak": 2}, BadInput, "debate has 3 seats"),
        ({"deceivers": 0.5}, BadInput, "deceivers=0.5: expected a whole number"),
        ({"wrong": 1.5}, BadInput, "wrong=1.5: expected a whole number"),
        ({"profile": 2}, BadInput, "profile is 2"),
        ({"profile": 1, "skills": [{"law": 1.0}]}, BadInput, "give one of the two"),
        ({"skills": [{"law": 1.0}] * 4}, BadInput, "4 skills: debate has 3 seats"),
        ({"failure": 1}, BadInput, "no 'failure' to vary; voices have skill"),
    ],
)
def test_wrong_worlds_are_refused(axes: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        lab.sweep("debate", **axes)


@pytest.mark.parametrize("name", ["direct", "self_consistency"])
def test_a_method_without_effect_shows_no_sign(name: str) -> None:
    found = lab.survey(name, items=40)
    assert {sign(cell.gain) for cell in found.cells} == {"·"}
    assert len({cell.vote.mean for cell in found.cells}) > 5  # worlds have items of their own


def test_a_group_of_one_has_no_profile() -> None:
    found = lab.survey("self_organized", items=1)
    assert not any(cell.world["profile"] for cell in found.cells)


@pytest.mark.parametrize("apart", [0.02, 0.2])
def test_signs_by_chance_are_as_rare_in_all_settings_together_as_one_should_be(apart: float) -> None:
    """Marks with a true gain of 0, of which few differ, or many."""
    rng, settings, tries = Random(4), 13, 12

    def drawn() -> str:
        pairs = [rng.choices([(1, 1), (1, 0), (0, 1)], [1 - 2 * apart, apart, apart])[0] for _ in range(200)]
        return sign(gain_of(*zip(*pairs, strict=True), 1 - 0.05 / settings))

    alarms = sum(any(drawn() != "·" for _ in range(settings)) for _ in range(tries))
    assert alarms <= 0.05 * tries + 3 * math.sqrt(0.05 * tries)
    assert sign(gain_of([1] * 20 + [0] * 180, [0] * 200, 1 - 0.05 / settings)) == "▲▲"


def test_a_weak_member_makes_a_mixture_lose_to_one_good_voice() -> None:
    """Self-MoA against MoA with a weak member (Li et al. 2025), at equal calls."""
    axes = {"weak": (0, 1), "skill": 0.7, "judge": 0.0, "items": 150}
    even, uneven = lab.sweep("mixture_of_agents", knobs={"n": 3, "layers": 2}, **axes).cells
    assert even.calls == uneven.calls == 4
    assert even.method.mean - uneven.method.mean > 0.1
    assert uneven.gain.high < 0 and uneven.vote.mean == near(
        even.vote.mean, 150
    )  # the rival is the able voice
    good = lab.sweep("self_moa", items=150, knobs={"n": 3}, skill=0.7, judge=0.0).cells[0]
    assert good.calls == 4 and good.method.mean - uneven.method.mean > 0.05


def test_a_profile_gives_each_seat_a_topic_and_the_same_mean() -> None:
    there = subject("agent_store")
    found = specialists({**lab.BASE, "profile": 0.5}, 3)
    assert [sum(p.values()) / 3 for p in found] == pytest.approx([0.6] * 3)
    assert [max(p, key=p.__getitem__) for p in found] == ["algebra", "biology", "chemistry"]
    seated = singers({**lab.BASE, "weak": 1, "deceivers": 1}, 3, found)
    assert ["skill.algebra=0.8" in seated[0], "skill.biology=0.4" in seated[1], "deceive=1" in seated[2]] == [
        True
    ] * 3
    tasks = [on(there.task, topic) for topic in ("algebra", "biology")]
    right, runs = marks(direct.cast("sim:skill=0,skill.biology=1"), tasks, range(4))
    assert right == [0, 1, 0, 1]
    assert [run.tape.started.task.meta["skill"] for run in runs] == ["algebra", "biology"] * 2


def test_a_store_of_specialists_is_worth_it_where_each_has_a_topic() -> None:
    plain, apart = lab.sweep("agent_store", items=60, profile=(0, 1)).cells
    assert apart.method.mean == 1 and apart.gain.low > 0.1
    assert plain.gain.low <= 0 <= plain.gain.high
    skills = [{"law": 1.0, "music": 0.0}, {"law": 0.0, "music": 1.0}]
    [told] = lab.sweep("agent_store", items=30, skills=skills).cells
    assert told.method.mean == 1 and told.vote.mean == 0.5


@pytest.mark.parametrize(
    ("name", "knob"),
    [
        ("free_agents", "active"),
        ("focal_fusion", "members"),
        ("mas_router", "controller"),
        ("symbolic_moe", "profiles"),
        ("improper_mixture", "weights"),
        ("agent_store", "tokens"),
        ("llm_selector", None),
    ],
)
def test_what_learns_is_made_ready_on_the_voices_of_the_world(name: str, knob: str | None) -> None:
    there = subject(name)
    assert there.training
    size = len(there.seats)
    seats = singers({**lab.BASE, "skill": 0.9, "deceivers": 1}, size)
    ready = prepared(there.seated(seats[0], seats), there.training, [""])
    again = prepared(there.seated(seats[0], seats), there.training, [""])
    assert ready.identity == again.identity
    told = ready.knobs[knob] if knob else ready.parts
    match name:
        case "free_agents":
            assert set(told) == {0, 1, 2}  # the liar, the last, has lost its seat
        case "focal_fusion":
            assert size - 1 not in told
        case "improper_mixture":
            assert told[-1] < 0.1
        case "symbolic_moe":
            assert told[-1]["sums"] < 0 < told[0]["sums"]
        case "llm_selector":
            assert {m.model.name for some in told.values() for m in some} == {seats[0]}
        case _:
            assert told != there.team.knobs[knob or ""]
    broken = singers({**lab.BASE, "fail": 1.0}, size)
    prepared(there.seated(broken[0], broken), there.training, [""])  # nobody answers: nothing to learn
    assert subject(name, **({knob: told} if knob else {})).training is (None if knob else there.training)


def test_who_finds_out_the_liars_is_held_against_a_vote_that_has_not() -> None:
    [cell] = lab.sweep("agent_store", items=N, deceivers=2).cells
    assert (cell.votes, cell.vote.mean) == (1, near(0.6 / 3))
    assert cell.method.mean == near(0.6) and cell.gain.low > 0.2


def test_tokens_and_money_are_counted() -> None:
    cheap, dear = lab.sweep("debate", items=10, cost=(1, 2)).cells
    assert cheap.tokens == dear.tokens > cheap.vote_tokens > 9 * 32  # who reads more, pays more
    assert cheap.cost == pytest.approx(cheap.tokens / 1e6) and dear.cost == pytest.approx(2 * cheap.cost)
    assert dear.vote_cost == pytest.approx(2 * dear.vote_tokens / 1e6)
    assert "$ in 1000 runs" in heads(lab.sweep("debate", items=2, cost=1))
    assert "$ in 1000 runs" not in heads(lab.sweep("debate", items=2))


def cell(mean: float, low: float, high: float, **world: float) -> Cell:
    whole = Interval(0.5, 0.4, 0.6)
    return Cell({**lab.BASE, **world}, whole, whole, Interval(mean, low, high), 5, 5, 0)


def test_the_verdict_says_what_the_figures_say() -> None:
    cells = (cell(0.2, 0.1, 0.3), cell(-0.1, -0.2, -0.01, skill=0.9), cell(0.01, -0.1, 0.1, skill=0.3))
    found = Sweep("it", 100, 0, dict(lab.BASE), cells)
    assert verdict(found) == (
        "it beats self-consistency with as many calls in 1 of 3 settings, most at the base (+20.0 points, "
        "95% CI 10.0 to 30.0), falls behind it in 1, most at skill 0.9 (−10.0 points, 95% CI −20.0 to −1.0), "
        "and shows no sure difference in 1."
    )
    assert heat(found).split() == ["skill", "0.3", "·", "0.6", "▲▲▲", "0.9", "▼▼"]
    none = Sweep("it", 100, 0, dict(lab.BASE), cells[2:])
    assert "in none of 1 settings, and shows no sure difference in all" in verdict(none)


def test_knobs_of_a_method_vary_like_those_of_voices_and_each_is_held_against_as_many_calls() -> None:
    found = lab.sweep("debate", items=30, seed=3, r=(0, 2), judge=(0.0, 1.0))
    assert [(c.world["r"], c.world["judge"]) for c in found.cells] == [(0, 0), (0, 1), (2, 0), (2, 1)]
    assert [c.calls for c in found.cells] == [3, 3, 9, 9] == [c.votes for c in found.cells]
    alone = lab.sweep("debate", items=30, seed=3, knobs={"r": 2}, judge=(0.0, 1.0))
    assert [(c.method, c.vote, c.gain.mean) for c in alone.cells] == [
        (c.method, c.vote, c.gain.mean) for c in found.cells[2:]
    ]
    assert found.cells[2].gain.low < alone.cells[0].gain.low  # the more rows, the wider
    assert heat(found).splitlines()[0].split() == ["judge", "\\", "r", "0", "2"]


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({"rounds": 2}, "no 'rounds' to vary; voices have skill, .*; debate has n, r"),
        ({"r": ()}, "expected numbers"),
        ({"r": ["two"]}, "expected numbers"),
        ({"r": 0.5}, "r=0.5: expected a whole number"),
        ({"n": 2}, "n of debate is set and varied"),
    ],
)
def test_what_cannot_be_varied_is_refused(axes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        lab.sweep("debate", items=2, knobs={"n": 2}, **axes)


def typed(*words: str) -> Result:
    return CliRunner().invoke(main, ["lab", *words])


def test_no_figure_is_cut_and_each_knob_has_its_column() -> None:
    axes = ["judge=0,1", "deceivers=0,1", "skill=0.4,0.6"]
    told = typed("debate", *(word for axis in axes for word in ("--vary", axis)), "--items", "5").stdout
    assert "…" not in told
    table = [line.split() for line in told.splitlines() if line.endswith("(513) ")]
    assert sorted(row[:3] for row in table) == sorted(
        [skill, judge, liars] for skill, judge, liars in product(("0.4", "0.6"), "01", "01")
    )
    assert all(row[-3:] == ["9", "843", "(513)"] for row in table)


def test_the_command_prints_a_table_or_one_document() -> None:
    told = typed("debate", "--vary", "judge=0,1", "--set", "r=1", "--items", "20")
    assert told.exit_code == 0
    assert "judge 1" in told.stdout and "debate beats self-consistency" in told.stdout
    found = json.loads(typed("debate", "--vary", "judge=0,1", "--items", "5", "--json").stdout)
    assert [c["world"]["judge"] for c in found["cells"]] == [0, 1]
    assert found["verdict"].startswith("debate ")
    found = json.loads(typed("debate", "--vary", "r=0,1", "--items", "2", "--json").stdout)
    assert [c["calls"] for c in found["cells"]] == [3, 6]
    assert len(json.loads(typed("cascade", "--items", "2", "--json").stdout)["cells"]) > 8


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["debat"], "did you mean debate"),
        (["debate", "--vary", "skill"], "expected KNOB=V,V,…"),
        (["debate", "--vary", "skill=a"], "expected numbers"),
        (["debate", "--vary", "r=a"], "r of debate is 'a'"),
        (["debate", "--vary", "rounds=1"], "debate has n, r"),
        (["debate", "--vary", "seed=0,1"], "no 'seed' to vary; voices have skill"),
        (["debate", "--vary", "items=3"], "no 'items' to vary"),
        (["debate", "--vary", "failure=blah"], "no 'failure' to vary"),
        (["debate", "--card", "--json"], "METHOD alone"),
    ],
)
def test_wrong_words_are_answered(words: list[str], said: str) -> None:
    result = typed(*words)
    assert result.exit_code == 2
    assert said in result.output
