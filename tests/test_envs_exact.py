"""Exact values of the poker games, against numbers known by hand and against OpenSpiel."""

from collections.abc import Mapping
from random import Random

import pytest

from motet.envs.exact import Policy, best_response, expected_returns, exploitability, nash_conv, uniform
from motet.envs.kuhn import CARDS, SEATS, TO_ACT, Hand, Kuhn
from motet.envs.leduc import Leduc, paid


def equilibrium(rules: Kuhn) -> Policy:
    known = {}
    for history, (seat,) in TO_ACT.items():
        for card in CARDS:
            state = Hand((card, card), history)
            bold = rules.boldness(state, seat)
            legal = rules.legal(state, seat)
            names = legal if legal[0] == "call" else legal[::-1]
            known[seat, rules.text(state, seat)] = dict(zip(names, (bold, 1 - bold), strict=True))
    return lambda seat, seen, legal: known[seat, seen]


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_kuhn_is_worth_minus_one_eighteenth(alpha: float) -> None:
    rules = Kuhn(alpha)
    policy = equilibrium(rules)
    assert nash_conv(rules, policy) == pytest.approx(0, abs=1e-12)
    assert expected_returns(rules, policy) == pytest.approx({"first": -1 / 18, "second": 1 / 18})
    assert best_response(rules, policy, "first") == pytest.approx(-1 / 18)


def test_what_is_no_equilibrium_is_found_out() -> None:
    assert nash_conv(Kuhn(), equilibrium(Kuhn(alpha=0.5))) > 0.05
    assert exploitability(Kuhn(), uniform) == pytest.approx(0.916666666 / 2)
    always_call = lambda seat, seen, legal: {"call": 1.0} if "call" in legal else {"bet": 1.0}  # noqa: E731
    assert exploitability(Kuhn(), always_call) > exploitability(Kuhn(), uniform) / 2


def test_uniform_leduc() -> None:
    assert nash_conv(Leduc(), uniform) == pytest.approx(4.747222222)
    assert sum(chance for chance, _ in Leduc().deals()) == pytest.approx(1)


def test_leduc_chips() -> None:
    assert paid((("raise", "raise", "call"), ("call", "raise", "raise", "call"))) == [13, 13]
    assert paid((("raise", "fold"),)) == [3, 1]


def test_kuhn_agrees_with_open_spiel() -> None:
    import pyspiel
    from open_spiel.python.algorithms import exploitability as theirs
    from open_spiel.python.policy import tabular_policy_from_callable

    rng, rules = Random(5), Kuhn()
    bold = {f"{card}{history}": rng.random() for card in range(3) for history in ("", "p", "b", "pb")}
    game = pyspiel.load_game("kuhn_poker")

    def spiel(state: "pyspiel.State") -> Mapping[int, float]:
        chance = bold[state.information_state_string()]
        return {0: 1 - chance, 1: chance}

    short = {"check": "p", "bet": "b"}

    def ours(seat: str, seen: str, legal: tuple[str, ...]) -> dict[str, float]:
        said = seen.partition("So far: ")[2].partition(".")[0].replace("nothing yet", "")
        history = "".join(short[word] for word in said.split(", ") if word)
        chance = bold[f"{CARDS.index(seen.partition('card: ')[2][0])}{history}"]
        return {"bet": chance, "call": chance, "check": 1 - chance, "fold": 1 - chance}

    wanted = theirs.nash_conv(game, tabular_policy_from_callable(game, spiel))
    assert nash_conv(rules, ours) == pytest.approx(wanted, abs=1e-9)


def test_leduc_agrees_with_open_spiel() -> None:
    import pyspiel
    from open_spiel.python.algorithms import exploitability as theirs
    from open_spiel.python.policy import tabular_policy_from_callable

    weights = {"fold": 0.2, "call": 0.5, "raise": 0.3}
    names = tuple(weights)

    def shares(legal: tuple[str, ...]) -> dict[str, float]:
        total = sum(weights[name] for name in legal)
        return {name: weights[name] / total for name in legal}

    game = pyspiel.load_game("leduc_poker")
    policy = tabular_policy_from_callable(
        game,
        lambda state: {
            names.index(name): p for name, p in shares(tuple(names[a] for a in state.legal_actions())).items()
        },
    )
    assert nash_conv(Leduc(), lambda seat, seen, legal: shares(legal)) == pytest.approx(
        theirs.nash_conv(game, policy), abs=1e-9
    )


def test_seats_are_those_of_the_rules() -> None:
    assert Kuhn().seats == Leduc().seats == SEATS
