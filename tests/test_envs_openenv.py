"""The OpenEnv adapter against a server made by OpenEnv's own package."""

import time
from random import Random

import pytest
from openenv_server import PLACES, Digit, Echo, Forgetful, Saying, openenv_server

from motet.envs import EnvSpec, check_env, make
from motet.errors import BadInput, ToolError


def test_an_episode_is_a_session() -> None:
    with openenv_server() as address:
        name = f"openenv:{address}"
        check_env(EnvSpec(name), range(2))
        first, same, other = make(name, 3), make(name, 3), make(name, 4)
        clue = first.observe("player").text
        assert clue == same.observe("player").text != other.observe("player").text
        assert first.read_action("player", 'I say {"guess": 4}.') == {"guess": 4}
        for text in ("4", '{"guess": "four"}', '{"guess": 10}', '{"gues": 4}', "{}"):
            assert first.read_action("player", text) is None
        step = first.step({"player": {"guess": int(clue[-1])}})
        assert step.done and step.rewards == {"player": 1.0}
        assert first.observe("player").text == "hint: right"
        for env in (first, same, other):
            env.close()


def test_fields_may_be_references_and_may_be_left_out() -> None:
    with openenv_server(Echo, Saying) as address:
        env = make(f"openenv:{address}", 1)
        assert "loud" in env.brief("player")
        assert env.read_action("player", '{"words": "hi", "tone": "shrill"}') is None
        step = env.step({"player": env.read_action("player", '{"words": "more", "tone": "loud"}')})
        assert env.observe("player").text == "hint: MORE" and not step.done
        assert env.step({"player": env.sample("player", Random(0))}).rewards == {"player": 1.0}
        env.close()


def test_sessions_are_given_back() -> None:
    with openenv_server() as address:
        envs = [make(f"openenv:{address}", seed) for seed in range(PLACES)]
        assert Digit.open == PLACES
        with pytest.raises(ToolError, match="CAPACITY_REACHED"):
            make(f"openenv:{address}")
        for env in envs:
            env.close()
            env.close()
        deadline = time.monotonic() + 5
        while Digit.open and time.monotonic() < deadline:
            time.sleep(0.001)
        assert Digit.open == 0


def test_a_server_that_drops_the_seed_is_found_out() -> None:
    with openenv_server(Forgetful) as address:
        one, two = (make(f"openenv:{address}", 7) for _ in range(2))
        assert one.state_hash() != two.state_hash()
        with pytest.raises(BadInput, match="begins differently with the same seed"):
            one.clone()
        one.close()
        two.close()


def test_what_goes_wrong_is_told() -> None:
    with openenv_server() as address:
        env = make(f"openenv:{address}", 1, most=1)
        with pytest.raises(ToolError, match="nothing to guess"):
            env.step({"player": {"guess": 1}})
        env.close()
    with pytest.raises(ToolError, match="does not answer"):
        make("openenv:http://127.0.0.1:9")
    with pytest.raises(BadInput, match="http://HOST:PORT"):
        make("openenv:nowhere")
