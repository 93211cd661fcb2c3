"""`motet credit`: JSON in, the same JSON with advantages out."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from motet.cli.credit import command
from motet.errors import BadInput, MotetError, UnknownName


def trajectory(reward: Any, *rewards: float, **more: Any) -> dict[str, Any]:
    steps = [{"state": f"s{i}", "reward": r, "value": 0.25, "tokens": 2} for i, r in enumerate(rewards)]
    return {"group": "g", "voice": "v", "reward": reward, "steps": steps, **more}


PAIR = [trajectory(1.0, 0.0, 1.0), trajectory(0.0, 0.0)]


def run(*words: str, text: str = "") -> Result:
    result = CliRunner().invoke(command, words, input=text, catch_exceptions=True)
    if isinstance(result.exception, MotetError):
        raise result.exception
    return result


def ask(*words: str, trajectories: list[dict[str, Any]] | None = None, **top: Any) -> dict[str, Any]:
    document = {"trajectories": PAIR if trajectories is None else trajectories, **top}
    result = run(*words, text=json.dumps(document))
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def advantages(found: dict[str, Any]) -> list[list[float | None]]:
    return [[step["advantage"] for step in t["steps"]] for t in found["trajectories"]]


def test_the_same_shape_comes_back_with_one_number_a_step() -> None:
    found = ask("dr_grpo")
    assert advantages(found) == [[0.5, 0.5], [-0.5]]
    for t in found["trajectories"]:
        for step in t["steps"]:
            del step["advantage"]
    assert found["trajectories"] == PAIR
    assert found["counts"] == {"trajectories": 2, "groups": 1}


def test_options_are_set_in_either_way() -> None:
    one = ask("gigpo", "--set", "omega=0", "--set", "scale=none", "--json")
    assert advantages(one) == [[0.5, 0.5], [-0.5]]
    two = ask("gigpo", "--set", "gamma=.95", "omega=1", "scale=none")
    assert (two["options"]["gamma"], two["options"]["omega"]) == (0.95, 1.0)
    assert advantages(two) == [[0.5 + 0.95 / 2, 0.5], [-0.5 - 0.95 / 2]]


def test_a_reward_that_is_missing_or_nan_is_null_and_counted() -> None:
    lost = [{**trajectory(None, 0.0)}, trajectory(float("nan"), 0.0)]
    del lost[0]["reward"]
    found = ask("grpo", trajectories=[*PAIR, *lost])
    assert advantages(found)[2:] == [[None], [None]]
    assert advantages(found)[:2] == advantages(ask("grpo"))
    assert found["counts"]["unscored"] == 2


def test_running_baselines_come_and_go_in_the_document() -> None:
    found = ask("rae", state={"g/v": 0.5})
    assert advantages(found) == [[0.5, 0.5], [-0.525]]
    assert advantages(ask("rae", state=found["state"])) != advantages(found)


def test_tokens_have_advantages_of_their_own_where_the_preset_goes_so_far() -> None:
    step = ask("ppo_token_gae")["trajectories"][0]["steps"][0]
    assert len(step["token_advantages"]) == 2
    assert "token_advantages" not in ask("grpo")["trajectories"][0]["steps"][0]


def test_what_is_not_read_is_passed_on_and_named() -> None:
    result = run("grpo", text=json.dumps({"trajectories": [trajectory(1.0, 0.0, id=7)]}))
    assert json.loads(result.stdout)["trajectories"][0]["id"] == 7
    assert "id" in result.stderr


def test_without_a_name_it_lists_what_there_is() -> None:
    listed = json.loads(run("--json").stdout)
    assert {"gigpo", "rae", "shapley"} <= {row["name"] for row in listed}
    assert next(row for row in listed if row["name"] == "gigpo")["options"]["omega"] == 1.0
    assert "arXiv:2505.10978" in run().stdout


@pytest.mark.parametrize(
    ("words", "text", "error", "says"),
    [
        (("gripo",), "{}", UnknownName, "grpo"),
        (("grpo", "omega=1"), "{}", UnknownName, "omega"),
        (("grpo", "--set", "eps"), "{}", BadInput, "OPTION=VALUE"),
        (("gigpo", "--set", "gamma=high"), "{}", BadInput, "'high'"),
        (("grpo",), "", BadInput, "trajectories"),
        (("grpo",), "[1, 2]", BadInput, r"\[1, 2\]"),
        (("grpo",), '{"trajectories": [{"reward": "high"}]}', BadInput, r"trajectories\[0\].reward"),
        (("grpo",), '{"trajectories": [{"steps": [{"tokens": -1}]}]}', BadInput, "tokens"),
        (("grpo",), "[" * 100_000, BadInput, "no trajectories"),
        (("grpo", "--file", "absent.json"), "", BadInput, "absent.json"),
    ],
)
def test_wrong_words(words: tuple[str, ...], text: str, error: type[MotetError], says: str) -> None:
    with pytest.raises(error, match=says):
        run(*words, text=text)
