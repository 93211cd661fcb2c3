"""`motet tune`: voices learn from runs that are there, and run again by name."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from motet.cli import main

TINY = "torch:tiny:hidden=32,layers=2,heads=2,context=2048"


def run_cli(*words: str) -> Any:
    return CliRunner().invoke(main, words)


def run_json(*words: str) -> Any:
    done = run_cli(*words, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with six runs of one team, of which some are right."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    words = ("compare", "self_refine", "--suite", "arithmetic", "--n", "6", "--model", "sim:skill=0.6")
    assert run_cli(*words).exit_code == 0
    return tmp_path


def test_what_went_well_is_imitated_and_the_tuned_model_runs_by_name(home: Path) -> None:
    words = ("tune", "--newest", "99", "--method", "self_refine", "-m", TINY, "--epochs", "3")
    done = run_json(*words, "--out", str(home / "tuned"))
    losses = done["losses"]["sft"]["everybody"]
    assert losses[-1] < losses[0]
    right = 6 - sum(done["rejected"].values())
    assert 0 < right < 6 and all("is too low" in reason for reason in done["rejected"])
    assert done["ledger"]["counts"].get("untrained", 0) == 0
    (file,) = done["tuned"].values()
    run = run_cli("run", "direct", "2 + 2 =", "--model", f"torch:{file}", "--json")
    assert json.loads(run.stdout)["calls"][0]["model"] == f"torch:{file}"


def test_each_voice_can_have_an_adapter_and_the_others_are_counted(home: Path) -> None:
    words = ("tune", "--newest", "99", "--method", "self_refine", "-m", TINY, "--policy", "writer=lora")
    done = run_json(*words, "--out", str(home / "tuned"))
    assert list(done["tuned"]) == ["writer"]
    assert done["ledger"]["counts"]["untrained"] > 0


def test_preferences_come_after_imitation(home: Path) -> None:
    tree = ("compare", "malt_tree", "--suite", "arithmetic", "--n", "4", "--set", "malt_tree.n=2")
    assert run_cli(*tree, "--model", "sim:skill=0.5").exit_code == 0
    words = ("tune", "--newest", "99", "--method", "malt_tree", "--by", "malt", "-m", TINY)
    done = run_json(*words, "--policy", "*=full", "--out", str(home / "tuned"))
    assert list(done["losses"]) == ["sft", "dpo"]
    assert done["losses"]["dpo"]["everybody"][0] == pytest.approx(0.6931, abs=1e-3)  # as yet no preference


def test_the_data_go_to_another_trainer(home: Path) -> None:
    out = home / "data.jsonl"
    done = run_json("tune", "--newest", "99", "--by", "distill", "--to", "trl-sft", "--out", str(out))
    assert len(out.read_text().splitlines()) >= done["counts"]["sft"] > 0


def test_without_runs_the_builders_are_listed() -> None:
    assert {"malt", "distill", "optima"} <= {one["name"] for one in run_json("tune")}


def test_what_cannot_be_tuned_on_is_refused(home: Path) -> None:
    out = ("--out", str(home / "tuned"))
    for words, said in {
        ("last",): "--out",
        ("last", "--newest", "2", *out): "not both",
        ("--newest", "9", "--by", "mlat", *out): "did you mean malt?",
        ("--newest", "9", "--by", "malt", *out): "expected one of 'malt_tree'",
        ("--newest", "9", "--set", "etta=1", *out): "did you mean eta?",
        ("--newest", "9", "--set", "eta=2", *out): "expected a share",
        ("--newest", "9", "--method", "debate", *out): "none of these runs is of 'debate'",
        ("--newest", "99", "--method", "self_refine", "--by", "roles", *out): "no tool was called",
        ("--newest", "99", "-m", "sim:skill=1", *out): "whose weights cannot be trained here",
        ("--newest", "99", "--to", "trl-spo", *out): "did you mean trl-dpo",
    }.items():
        done = run_cli("tune", *words)
        assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
