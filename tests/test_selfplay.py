"""Self-play: ratings, seats that go round, and what a policy plays exactly."""

from math import isnan
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.envs.exact import exploitability, uniform
from motet.envs.kuhn import Kuhn
from motet.errors import BadInput
from motet.train import Adam, Loss, tabular_engine
from motet.train.loop import train
from motet.train.selfplay import (
    NOW,
    Pool,
    check_pool,
    drawn_opponent,
    exact_strategy,
    expected,
    lineups,
    rated,
    score_of,
    swapped,
)

WORDS = ("check/fold", "bet/call")
SEATS = ("first", "second")


def test_ratings_by_hand() -> None:
    assert expected(0, 0) == 0.5
    assert expected(400, 0) == pytest.approx(10 / 11)
    assert rated({}, "a", "b", 1.0, 16) == {"a": 8, "b": -8}
    assert rated({"a": 1.0}, "a", "b", float("nan")) == {"a": 1.0}


@given(st.floats(-2000, 2000), st.floats(-2000, 2000), st.sampled_from([0.0, 0.5, 1.0]))
def test_what_one_wins_the_other_loses(a: float, b: float, score: float) -> None:
    after = rated({"a": a, "b": b}, "a", "b", score)
    assert sum(after.values()) == pytest.approx(a + b)
    assert (after["a"] - a) * (score - expected(a, b)) >= 0


def test_scores_of_games() -> None:
    assert score_of({"first": 1.0, "second": -1.0}, "first") == 1
    assert score_of({"first": 0.0, "second": 0.0}, "second") == 0.5
    assert isnan(score_of({"*": None}, "first"))


def test_the_policy_in_training_takes_every_seat_against_the_past() -> None:
    made = lineups(Pool(share=0.5), {"*": "p"}, SEATS, 8, 3)
    assert sum("past" in lineup.values() for lineup in made) == 4
    assert {seat for lineup in made[:4] for seat, who in lineup.items() if who == "p"} == set(SEATS)
    assert made[4:] == [{"*": "p"}] * 4
    assert drawn_opponent([], 1) is None
    assert {drawn_opponent(["a", "b"], i) for i in range(20)} == {"a", "b"}


def test_roles_go_round() -> None:
    policies = {"pioneer": "a", "observer": "b"}
    assert swapped(policies, 0, 5) == swapped(policies, 4, 5) == swapped(policies, 7, 0) == policies
    assert swapped(policies, 5, 5) == {"pioneer": "b", "observer": "a"}


def test_a_pool_needs_a_policy_to_play_the_past() -> None:
    check_pool(Pool(), {"p"}, ("p", "past"))
    for trained, known in (({"p"}, ("p",)), ({"p", "q"}, ("p", "q", "past")), ({"past"}, ("past",))):
        with pytest.raises(BadInput, match="a pool needs one policy that is trained"):
            check_pool(Pool(), trained, known)


def test_an_untrained_table_plays_uniformly_and_exactly() -> None:
    strategy = exact_strategy(tabular_engine(WORDS, ("p",)), dict.fromkeys(SEATS, "p"), "kuhn", WORDS)
    assert strategy("first", "Your card: J. So far: nothing yet. Legal: check or bet.", ("check", "bet")) == {
        "check": pytest.approx(0.5),
        "bet": pytest.approx(0.5),
    }
    assert exploitability(Kuhn(), strategy) == pytest.approx(exploitability(Kuhn(), uniform))


def test_roles_are_swapped_while_training() -> None:
    engine = tabular_engine(("heads", "tails"), ("a", "b"))
    done = train(
        "matching_pennies",
        engine=engine,
        policies={"row": "a", "column": "b"},
        iterations=4,
        groups=4,
        group_size=4,
        swap_every=2,
    )
    assert {"a/loss", "b/loss"} <= done.curve[-1].keys()
    assert len(engine._body._tables["a"]) == 2  # type: ignore[attr-defined]  # both roles were played


@pytest.mark.slow
def test_selfplay_with_a_pool_lowers_exploitability(tmp_path: Path) -> None:
    engine = tabular_engine(WORDS, ("p", "past"))
    seats = dict.fromkeys(SEATS, "p")
    done = train(
        "kuhn",
        engine=engine,
        policies=seats,
        evaluate=lambda e: {
            "exploitability": exploitability(Kuhn(), exact_strategy(e, seats, "kuhn", WORDS))
        },
        out=tmp_path,
        iterations=40,
        groups=64,
        group_size=1,
        credit="rae",
        loss=Loss("ppo", entropy=0.05),
        adam=Adam(lr=0.1, clip=None),
        pool=Pool(every=10, share=0.25),
        keep_tapes=False,
    )
    measured = [line["exploitability"] for line in done.curve if "exploitability" in line]
    assert measured[0] == pytest.approx(0.4583, abs=1e-3)
    assert measured[-1] < 0.25
    assert sorted(p.stem for p in (tmp_path / "pool").iterdir()) == ["000010", "000020", "000030", "000040"]
    assert done.curve[-1]["elo"] != 0
    assert NOW == "now"
