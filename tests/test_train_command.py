"""`motet train`: a recipe, a file, a team on a suite, the seats of a world."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from motet.cli import main

TINY = ("--model", "torch:tiny:hidden=32,layers=2,heads=2,context=2048", "--max-tokens", "4")
SHORT = (*TINY, "--iterations", "1", "--set", "groups=2", "--set", "group_size=2")
TEAM = """
import motet

@motet.team
async def pair(task, writer, critic, *, rounds: int = 3):
    "Write, and write again."
    said = await writer.ask(task)
    for _ in range(rounds):
        said = await writer.ask(said, await critic.ask(said))
    return said
"""

RECIPE = """
from motet.train.recipes import bandit

def train(*, out, resume, **plan):
    return bandit(out=out, resume=resume, **{"iterations": 1, **plan})
"""


def run_cli(*words: str) -> Any:
    return CliRunner().invoke(main, ["train", *words])


def test_the_command_trains_by_name_and_from_a_file(tmp_path: Path) -> None:
    listed = json.loads(run_cli("--json").stdout)
    assert [recipe["name"] for recipe in listed] == ["bandit", "kuhn_selfplay"]
    (tmp_path / "mine.py").write_text(RECIPE)
    done = run_cli(str(tmp_path / "mine.py"), "--out", str(tmp_path / "run"), "--json")
    document = json.loads(done.stdout)
    assert (done.exit_code, document["iterations"], len(document["curve"])) == (0, 1, 2)
    assert document["ledger"]["counts"]["tokens"] == 32
    again = run_cli("bandit", "--out", str(tmp_path / "run"), "--iterations", "2", "--resume")
    assert again.exit_code == 0
    assert "reward/gambler" in again.stdout
    assert "report.html" in again.stderr


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("train = 3")
    (tmp_path / "narrow.py").write_text("def train(x): ...")
    (tmp_path / "numb.py").write_text("def train(**plan): return 3")
    for words, said in {
        ("bandut",): "did you mean bandit",
        ("bandit", "--suite", "arithmetic"): "--suite is for teams and worlds",
        ("bandit", "--set", "bandit.n=1"): "is for teams and worlds",
        ("debate",): "say what it is trained on with --suite",
        ("kuhn", "--suite", "arithmetic"): "leave --suite out",
        ("kuhn", "--model", "sim:skill=1"): "whose weights cannot be trained here",
        ("kuhn", "--voice", "first=random", "--voice", "second=random"): "leave one to be trained",
        ("kuhn", *TINY, "--policy", "first=lroa"): "did you mean lora?",
        ("debate", "--suite", "arithmetic", *TINY, "--held-out", "100000"): "leave some to learn from",
        ("debate", "--suite", "arithmetic", *TINY, "--set", "debate.rond=1"): "no knob of debate",
        ("debate", "--suite", "arithmetic", *TINY, "--set", "adan.lr=1"): "did you mean adam?",
        ("debate", "--suite", "arithmetic", *TINY, "--set", "adam.rl=1"): "unknown field `rl`",
        ("bandit", "--set", "gruops=1"): "did you mean groups",
        ("bandit", "--set", 'groups="x"'): "Expected `int`, got `str`",
        ("bandit", "--resume"): "--out DIR",
        (str(tmp_path / "none.py"),): "there is no file",
        ("bandit", "--set", 'loss={"kl_from":"k1"}'): "Object contains unknown field `kl_from`",
        (str(tmp_path / "empty.py"),): "has no function `train",
        (str(tmp_path / "narrow.py"),): "does not take {'out': None, 'resume': False}",
        (str(tmp_path / "numb.py"),): "returned 3; expected `train",
    }.items():
        found = run_cli(*words)
        assert found.exit_code == 2
        assert said in found.stderr


def test_a_team_of_ones_own_is_trained_voice_by_voice_and_runs_again_by_name(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(TEAM)
    team, out = str(tmp_path / "mine.py"), tmp_path / "run"
    words = (team, "--suite=arithmetic", *SHORT, "--held-out=2", "--lr=0.01", "--set=pair.rounds=1")
    done = run_cli(*words, "--voice", "critic=sim:skill=1", "--out", str(out))
    assert done.exit_code == 0, done.stderr
    assert "12 calls, 8 rows, 32 tokens, 4 untrained" in done.stderr  # the critic's
    assert "test/reward/writer" in done.stdout
    (file,) = (out / "checkpoints" / "000001").glob("*.safetensors")
    assert f"--voice writer=torch:{file}" in "".join(done.stderr.split("\n"))
    plan = json.loads((out / "checkpoints" / "000001" / "state.json").read_text())["plan"]
    assert (plan["adam"]["lr"], plan["tests"], plan["policies"]) == (0.01, 2, {"writer": "writer"})
    again = ("run", team, "7 + 1 =", "--voice", f"writer=torch:{file}", "--voice", "critic=sim:skill=1")
    run = CliRunner().invoke(main, [*again, "--set", "rounds=0", "--json"])
    assert json.loads(run.stdout)["calls"][0]["model"] == f"torch:{file}"


@pytest.mark.parametrize(
    ("policy", "trained"),
    [
        ((), {"first": "first", "second": "second"}),
        (("--policy", "*=full"), {"first": "everybody", "second": "everybody"}),
        (("--voice", "second=perfect"), {"first": "first"}),
    ],
)
def test_the_seats_of_a_world_are_trained(
    policy: tuple[str, ...], trained: dict[str, str], tmp_path: Path
) -> None:
    done = run_cli("kuhn", *SHORT, "--credit", "rae", *policy, "--held-out", "3", "--out", str(tmp_path))
    assert done.exit_code == 0, done.stderr
    plan = json.loads((tmp_path / "checkpoints" / "000001" / "state.json").read_text())["plan"]
    assert (plan["policies"], plan["tests"], plan["credit"]) == (trained, 3, "rae")
    assert all(f"reward/{seat}" in done.stdout for seat in trained)
