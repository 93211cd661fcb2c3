"""The laboratory against what is known without it: closed forms, and sweeps that must come out even."""

import json
import math
from itertools import product
from typing import Any

import pytest
from click.testing import CliRunner, Result

import motet
from motet.cli import main
from motet.errors import BadInput
from motet.evals import lab
from motet.evals.lab.sweep import Cell, Sweep, marks
from motet.evals.lab.words import heat, verdict
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
    alone = marks(direct.cast(Sim(skill=0.6, rho=1, judge=1)), SUM, range(60))[0]
    assert len(found.cells) == 2
    for cell in found.cells:
        assert cell.gain.mean == 0
        assert cell.method.mean == sum(alone) / 60
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
    with pytest.raises(BadInput, match="deceivers=1: stubborn has 1 seats"):
        lab.sweep(stubborn.cast(wall=str.upper), items=1, deceivers=1)


@pytest.mark.parametrize(
    ("axes", "error", "words"),
    [
        ({"skil": 0.5}, BadInput, "no 'skil' to vary; voices have skill"),
        ({"skill": 1.5}, BadInput, "skill is 1.5"),
        ({"skill": ()}, BadInput, "expected numbers"),
        ({"items": 0}, BadInput, "items=0"),
        ({"deceivers": 3}, BadInput, "debate has 3 seats"),
    ],
)
def test_wrong_worlds_are_refused(axes: dict, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        lab.sweep("debate", **axes)


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
    assert [(c.method, c.vote, c.gain) for c in alone.cells] == [
        (c.method, c.vote, c.gain) for c in found.cells[2:]
    ]
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
        (["debate", "--card", "--json"], "METHOD alone"),
    ],
)
def test_wrong_words_are_answered(words: list[str], said: str) -> None:
    result = typed(*words)
    assert result.exit_code == 2
    assert said in result.output
