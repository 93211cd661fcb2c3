"""`motet credit`: JSON in, the same JSON with advantages out."""

import json
from typing import Any

import pytest
from click.testing import CliRunner, Result

from motet.cli.credit import command
from motet.credit import Step, Trajectory
from motet.errors import BadInput, MotetError, UnknownName


def trajectory(reward: Any, *rewards: float, **more: Any) -> dict[str, Any]:
    steps = [{"state": f"s{i}", "reward": r, "value": 0.25, "tokens": 2} for i, r in enumerate(rewards)]
    return {"group": "g", "voice": "v", "reward": reward, "steps": steps, **more}


UNPAID = '{"trajectories": [{"reward": 1, "steps": [{"tokens": 3}]}]}'
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


def test_its_own_output_and_a_name_are_passed_on() -> None:
    once = ask("grpo", trajectories=[trajectory(1.0, 0.0, id=7), trajectory(0.0, 0.0)])
    again = ask("ppo_token_gae", trajectories=once["trajectories"])
    assert again["trajectories"][0]["id"] == 7
    assert advantages(again) != advantages(once)


def test_help_tells_every_field_and_what_each_preset_reads() -> None:
    told = " ".join(run("--help").stdout.split())
    for kind in (Trajectory, Step):
        assert all(f" {field} " in told for field in kind.__struct_fields__)
    assert "which turn this was, where that is not the place in the trajectory." in told
    assert "gigpo group voice reward start; state reward at_grpo" in told
    assert "spa_rl group; reward value progress executable. Needs value, and progress or reward." in told
    for row in json.loads(run("--json").stdout):
        read = {*row["reads"]["trajectory"], *row["reads"]["step"]}
        assert read >= {field for need in row["needs"] for field in need.split("|")}


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
        (
            ("grpo",),
            '{"trajectories": [{"rewards": 1}]}',
            UnknownName,
            "credit trajectory is called",
        ),
        (
            ("grpo",),
            '{"trajectories": [{"steps": [{"logprobs": []}]}]}',
            UnknownName,
            "'logprobs'",
        ),
        (
            ("marti",),
            UNPAID,
            BadInput,
            "'marti' reads `reward` of steps, and none",
        ),
        (("llm_critic",), UNPAID, BadInput, "`judge` of steps or `reward` of steps"),
        (("spa_rl",), UNPAID, BadInput, "`value` of steps and `progress` of steps or"),
        (("shapley",), UNPAID, BadInput, "`coalitions` of trajectories"),
        (("grpo",), "[" * 100_000, BadInput, "no trajectories"),
        (("grpo", "--file", "absent.json"), "", BadInput, "absent.json"),
    ],
)
def test_wrong_words(words: tuple[str, ...], text: str, error: type[MotetError], says: str) -> None:
    with pytest.raises(error, match=says):
        run(*words, text=text)
