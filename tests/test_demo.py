"""`motet demo`: one document, and a team that learns from its own verified runs."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from small_models import SHAPE, talker

import motet
from motet.cli import demo_tune, main
from motet.cli.demo import CRITIC, REWRITE, review
from motet.cli.demo_tune import Size, split, trainable, tune_team
from motet.evals.suite import Suite, load_suite
from motet.types import Message, Sampling, Task

torch.set_num_threads(1)
SMALL = Size(train=8, held=24, draws=16, rows=120, epochs=3, tokens=12, lr=1e-2)

TASKS = tuple(Task(f"Pick a digit, number {i}.", target="7", kind="number") for i in range(40))
ASKED = TASKS[0].prompt
PROMPTS = [ASKED, f"{CRITIC}\n\n{ASKED}\n\n3", f"{REWRITE}\n\n{ASKED}\n\n7\n\n3"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def demo(*words: str) -> dict[str, object]:
    result = CliRunner().invoke(main, ["demo", "--n", "2", "--json", *words])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_demo_is_one_document_and_says_why_nothing_was_tuned(here: Path) -> None:
    made = demo("--model", "sim:skill=0.8")
    assert {"run", "comparison", "report", "tuned"} <= set(made)
    assert "not here to be tuned" in made["tuned"]["skipped"]
    assert (here / made["report"]).is_file()
    assert demo("--model", "sim:skill=0.8", "--no-tune")["tuned"] == {"skipped": "--no-tune"}


def test_without_torch_the_demo_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("motet.cli.demo.trainable", lambda model: SHAPE)
    monkeypatch.delitem(sys.modules, "motet.train.network", raising=False)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert "motet[train]" in demo("--model", "sim:skill=0.8")["tuned"]["skipped"]


@pytest.mark.parametrize(
    ("model", "weights"),
    [
        ("local", "smollm2-135m"), ("local:smollm2-135m", "smollm2-135m"), ("torch:tiny", "tiny"),
        ("local:x.gguf", None), ("sim:skill=1", None), ("openai:gpt-5-mini", None),
    ],
)  # fmt: skip
def test_what_can_be_tuned(model: str, weights: str | None) -> None:
    assert trainable(model) == weights


def test_no_held_out_question_is_learned_from() -> None:
    tasks = [Task(f"{i % 50}?", target="1") for i in range(500)]
    train, held = split(tasks, Size(train=20, held=25), 0)
    assert (len(train), len(held)) == (20, 25)
    assert len({task.prompt for task in (*train, *held)}) == 45


@pytest.mark.slow
def test_the_team_learns_from_its_verified_runs_and_runs_again(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = Suite("digits", TASKS, load_suite("arithmetic", 1).scorer)
    monkeypatch.setattr(demo_tune, "load_suite", lambda *_: suite)
    base = talker(here / "m", PROMPTS, ["7", "3"])
    made = tune_team(review, base, "digits", here / "demo.safetensors", size=SMALL)
    assert (made.runs, made.held) == (128, 24) and 0 < made.verified < 128 and made.rows and made.steps
    team = made.parts["team"]
    assert team.after.mean > team.before.mean + 0.2 and team.gain.low > 0
    assert made.table().row_count == 2
    again = motet.model(made.adapter).sample([Message.say("user", ASKED)], 1, Sampling(temperature=0))
    (reply,) = asyncio.run(again)
    assert reply.text == "7"


@pytest.mark.slow
def test_a_team_that_is_never_right_learns_nothing_and_says_so(here: Path) -> None:
    suite = "rg:chain_sum?min_terms=2&max_terms=2&min_digits=1&max_digits=1"
    made = tune_team(review, SHAPE, suite, here / "demo.safetensors", size=Size(2, 3, 1, 8, tokens=4))
    assert (made.verified, made.rows, made.steps) == (0, 0, 0)
    assert made.parts["team"].gain.mean == 0
