"""What a voice was worth: axioms, known games, agreement of the exact and the sampled."""

from itertools import combinations
from math import fsum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx

from motet.credit.counterfactual import from_table, leave_one_out, shapley, shapley_sampled
from motet.credit.public_goods import PLAIN, Rules, payoffs, subgame_perfect
from motet.errors import BadInput

VOICES = ("a", "b", "c", "d")
COALITIONS = [frozenset(s) for n in range(5) for s in combinations(VOICES, n)]
GAMES = st.lists(st.floats(-1, 1), min_size=16, max_size=16).map(
    lambda xs: dict(zip(COALITIONS, xs, strict=True))
)
METHODS = (shapley, lambda voices, value: shapley_sampled(voices, value, samples=10))


@pytest.mark.parametrize("method", METHODS)
@given(GAMES)
def test_efficiency(method: Any, game: dict[frozenset[str], float]) -> None:
    """What the voices are worth sums to what the team gains over nobody."""
    found = method(VOICES, game.__getitem__)
    assert fsum(found.values()) == approx(game[frozenset(VOICES)] - game[frozenset()], abs=1e-9)


@given(GAMES)
def test_symmetry_and_dummy(game: dict[frozenset[str], float]) -> None:
    def alike(coalition: frozenset[str]) -> float:  # a and b may be exchanged, d does nothing
        few = coalition - {"d"}
        swapped = frozenset({"a": "b", "b": "a"}.get(v, v) for v in few)
        return game[few] + game[swapped]

    found = shapley(VOICES, alike)
    assert found["a"] == approx(found["b"], abs=1e-9)
    assert found["d"] == approx(0, abs=1e-9)
    assert leave_one_out(VOICES, alike)["d"] == 0


@pytest.mark.parametrize("method", [*METHODS, leave_one_out])
@given(st.lists(st.integers(-8, 8), min_size=4, max_size=4))
def test_additive_games_are_recovered_exactly(method: Any, worth: list[int]) -> None:
    """As value decomposition networks assume them: the team's value is a sum over its voices."""
    game = dict(zip(VOICES, worth, strict=True))
    assert method(VOICES, lambda coalition: fsum(game[v] for v in coalition)) == approx(game, abs=1e-12)


def test_glove_game() -> None:
    """Left gloves: a and b; right: c; a pair is worth 1. The known values are 1/6, 1/6, 2/3."""
    found = shapley("abc", lambda team: float("c" in team and len(team) > 1))
    assert found == approx({"a": 1 / 6, "b": 1 / 6, "c": 2 / 3})


def test_sampled_tends_to_exact_and_asks_once_for_each_coalition() -> None:
    asked: list[frozenset[str]] = []

    def value(coalition: frozenset[str]) -> float:
        asked.append(coalition)
        return len(coalition) ** 2 + 3.0 * ({"a", "b"} <= coalition)

    few, many = (shapley_sampled(VOICES, value, samples=n, seed=1) for n in (20, 4000))
    exact = shapley(VOICES, value)
    assert len(asked) <= 3 * 16
    assert many == approx(exact, abs=0.06)
    assert many == shapley_sampled(VOICES, value, samples=4000, seed=1)
    assert max(abs(many[v] - exact[v]) for v in VOICES) <= max(abs(few[v] - exact[v]) for v in VOICES)


@given(GAMES, st.sampled_from(VOICES))
def test_difference_rewards_rank_a_voices_actions_as_the_team_reward_does(
    game: dict[frozenset[str], float], voice: str
) -> None:
    """What the team gets without the voice does not depend on what the voice did."""
    others = game[frozenset(VOICES) - {voice}]
    team = [
        game[frozenset(VOICES)],
        game[frozenset({voice})],
    ]  # two actions of the voice, two rewards of the team
    credit = [
        leave_one_out(VOICES, {**game, frozenset(VOICES): reward}.__getitem__)[voice] for reward in team
    ]
    assert credit == approx([reward - others for reward in team])
    assert (credit[0] > credit[1]) == (team[0] - others > team[1] - others)


def test_too_many_voices_and_missing_coalitions_are_refused() -> None:
    with pytest.raises(BadInput, match="8,192 replays"):
        shapley([f"v{i}" for i in range(13)], len)
    with pytest.raises(BadInput, match=r"coalitions lack 'a\+b'"):
        shapley("ab", from_table({"": 0.0, "a": 1.0, "b": 1.0}))
    assert leave_one_out("ab", from_table({"b+a": 1.0, "a": 0.5, "b": 0.25})) == {"a": 0.75, "b": 0.5}


def test_everyone_contributes_under_the_redesigned_payoff_and_nobody_under_the_plain_one() -> None:
    levels = (0.0, 0.25, 0.5, 0.75, 1.0)
    assert subgame_perfect(levels, 3, Rules(threshold=3.0)) == (1.0, 1.0, 1.0)
    assert subgame_perfect(levels, 3, PLAIN) == (0.0, 0.0, 0.0)
    assert sum(payoffs((1, 1, 1), 3, PLAIN)) > sum(payoffs((0, 0, 0), 0, PLAIN))  # a dilemma all the same


@given(st.sampled_from((0.0, 1.0, 2.0, 3.0)), st.floats(0, 2), st.floats(0, 2))
def test_no_voice_gains_by_leaving_the_equilibrium_path(
    threshold: float, bonus: float, penalty: float
) -> None:
    levels = (0.0, 0.5, 1.0)
    rules = Rules(bonus=bonus, penalty=penalty, threshold=threshold)
    played = subgame_perfect(levels, 3, rules)
    last = [payoffs((*played[:2], x), sum(played[:2]) + x, rules)[2] for x in levels]
    assert payoffs(played, sum(played), rules)[2] == max(last)


def test_nobody_puts_in_less_than_nothing() -> None:
    with pytest.raises(BadInput, match="less than 0"):
        payoffs((-1.0, 1.0), 0.0, Rules())
