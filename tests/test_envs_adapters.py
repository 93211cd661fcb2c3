"""Adapters, each against the real package."""

import random
from random import Random
from typing import Any

import numpy
import pytest

from motet.envs import EnvSpec, Solved, check_env, make
from motet.errors import BadInput

EXAMPLES: list[tuple[str, dict[str, Any]]] = [
    ("gymnasium:FrozenLake-v1", {}),
    ("gymnasium:CartPole-v1", {}),
    ("gymnasium:Blackjack-v1", {}),
    ("gymnasium:Pendulum-v1", {"max_episode_steps": 20}),
    ("pettingzoo:classic/tictactoe-v3", {}),
    ("pettingzoo:classic/rps-v2", {}),
    ("pettingzoo:classic/connect_four-v3", {}),
    ("pettingzoo:mpe2.simple_spread_v3", {"max_cycles": 10}),
    ("pettingzoo:mpe2.simple_spread_v3", {"max_cycles": 5, "turns": "aec"}),
    ("textarena:TicTacToe-v0-raw", {}),
    ("textarena:KuhnPoker-v0", {}),
    ("textarena:GuessTheNumber-v0-raw", {"players": 1}),
    ("reasoning_gym:chain_sum", {}),
]


@pytest.mark.parametrize(("name", "options"), EXAMPLES, ids=lambda value: str(value))
def test_adapters_keep_the_contract(name: str, options: dict[str, Any]) -> None:
    check_env(EnvSpec(name, options), range(2))


def test_gymnasium_in_words_and_arrays() -> None:
    lake = make("gymnasium:FrozenLake-v1", 1, is_slippery=False)
    seen = lake.observe("player")
    assert "FFFH" in seen.text and seen.legal == (0, 1, 2, 3)
    brief = lake.brief("player")
    assert "- 2: Move right" in brief and "Reach goal" in brief and "gym.make" not in brief
    for action in ("Action: 2", "[2]", "1", "1", "1", "I go 2"):
        step = lake.step({"player": lake.read_action("player", action)})
    assert step.done and lake.returns() == {"player": 1.0}
    pole = make("gymnasium:CartPole-v1", 1)
    assert isinstance(pole.observe("player").array, numpy.ndarray) and pole.read_action("player", "2") is None
    pendulum = make("gymnasium:Pendulum-v1", 1)
    assert pendulum.read_action("player", "Action: [0.5]") == numpy.float32(0.5)
    assert (
        pendulum.read_action("player", "Action: [5]") is None
        and pendulum.read_action("player", "left") is None
    )


def test_pettingzoo_masks_and_pays() -> None:
    env = make("pettingzoo:classic/tictactoe-v3", 0)
    first, second = env.seats
    for seat, cell in ((first, 0), (second, 3), (first, 1), (second, 4)):
        env.step({seat: cell})
    assert 4 not in (env.observe(first).legal or ())
    assert env.step({first: 4}).invalid == {first: "4 is not a legal action."}
    step = env.step({first: 2})
    assert step.done and step.rewards == {first: 1.0, second: -1.0} == env.returns()
    both = make("pettingzoo:classic/rps-v2", 0)
    assert set(both.acting()) == set(both.seats)
    assert sum(both.step(dict.fromkeys(both.seats, 0)).rewards.values()) == 0


def test_textarena_leaves_the_global_generator_alone_and_episodes_apart() -> None:
    """Each round of its Kuhn poker shuffles with the global generator; here episodes take turns."""

    def play(envs: list[Any]) -> list[str]:
        while any(env.acting() for env in envs):
            for env in envs:
                for seat in env.acting():
                    env.step({seat: "[check]"})
        return [env.observe(seat).text for env in envs for seat in env.seats]

    alone = [text for seed in range(6) for text in play([make("textarena:KuhnPoker-v0", seed)])]
    random.seed(99)
    state = random.getstate()
    together = play([make("textarena:KuhnPoker-v0", seed) for seed in range(6)])
    assert together == alone and random.getstate() == state
    assert len(set(together)) > 2


def test_reasoning_gym_has_its_own_answer() -> None:
    env = make("reasoning_gym:chain_sum", 4)
    assert isinstance(env, Solved)
    answer = env.perfect("player", Random(0))
    assert env.clone().step({"player": env.read_action("player", f"So.\nAction: {answer}")}).rewards == {
        "player": 1.0
    }
    assert env.step({"player": "no idea"}).rewards["player"] < 1


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("gymnasium:NoSuch-v1", {}, "gymnasium cannot make"),
        ("gymnasium:CartPole-v1", {"nonsense": 1}, "nonsense"),
        ("pettingzoo:classic/none-v1", {}, "PettingZoo knows no"),
        ("pettingzoo:classic/tictactoe-v3", {"turns": "parallel"}, "has it as aec"),
        ("textarena:GuessTheNumber-v0-raw", {}, "players=N"),
        ("textarena:NoSuch-v0", {}, "textarena cannot begin"),
        ("reasoning_gym:no_such", {}, "reasoning_gym cannot make"),
    ],
)
def test_wrong_names_are_told(name: str, options: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        make(name, **options)
