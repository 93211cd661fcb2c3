"""The OpenEnv adapter against a server that speaks its messages."""

import time

import pytest
from openenv_server import openenv_server

from motet.envs import EnvSpec, check_env, make
from motet.errors import BadInput, ToolError


def test_an_episode_is_a_session() -> None:
    with openenv_server() as server:
        name = f"openenv:{server.address}"
        check_env(EnvSpec(name), range(2))
        env = make(name, 3)
        clue = env.observe("player").text
        assert clue == make(name, 3).observe("player").text != make(name, 4).observe("player").text
        assert env.read_action("player", 'I say {"guess": 4}.') == {"guess": 4}
        for text in ("4", '{"guess": "four"}', '{"gues": 4}', "{}"):
            assert env.read_action("player", text) is None
        step = env.step({"player": {"guess": int(clue[-1])}})
        assert step.done and step.rewards == {"player": 1.0} and env.observe("player").text == "hint: right"


def test_sessions_are_given_back() -> None:
    with openenv_server() as server:
        envs = [make(f"openenv:{server.address}", seed) for seed in range(5)]
        assert server.open == 5
        for env in envs:
            env.close()
            env.close()
        deadline = time.monotonic() + 5
        while server.open and time.monotonic() < deadline:
            time.sleep(0.001)
        assert server.open == 0


def test_a_server_that_drops_the_seed_is_found_out() -> None:
    with openenv_server(drops_seed=True) as server:
        one, two = (make(f"openenv:{server.address}", 7) for _ in range(2))
        assert one.state_hash() != two.state_hash()
        with pytest.raises(BadInput, match="begins differently with the same seed"):
            one.clone()
        one.close()
        two.close()


def test_what_goes_wrong_is_told() -> None:
    with openenv_server() as server:
        env = make(f"openenv:{server.address}", 1)
        with pytest.raises(ToolError, match="EXECUTION_ERROR"):
            env.step({"player": {"guess": -1}})
        env.close()
    with pytest.raises(ToolError, match="does not answer"):
        make("openenv:http://127.0.0.1:9")
    with pytest.raises(BadInput, match="http://HOST:PORT"):
        make("openenv:nowhere")
