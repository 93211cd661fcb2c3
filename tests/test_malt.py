"""The MALT recipe end to end on a small model, and the tuning that it is made of."""

from pathlib import Path

import pytest
import torch
from small_models import SHAPE, talker

from motet.errors import BadInput, UnknownName
from motet.models.trainable.weights import load_base
from motet.train import Adam, Loss, Row, torch_engine
from motet.train.builders.malt import GENERATE, REFINE, ROLES, VERIFY
from motet.train.tune import Lesson, steps, tune
from motet.types import Task
from recipes.malt import Lab, Size, experiment, items, table

torch.set_num_threads(1)
TASKS = [Task(f"Pick a digit, number {i}.", target="7", kind="number", id=str(i)) for i in range(24)]


@pytest.mark.slow
def test_the_tuned_trio_beats_what_it_was(tmp_path: Path) -> None:
    prompts = [
        form.format(task=TASKS[0].prompt, draft="3", notes="7", form="")
        for form in (GENERATE, VERIFY, REFINE)
    ]
    base = load_base(talker(tmp_path / "m", prompts, ["7", "3"]))
    engine = torch_engine(base, ROLES)
    size = Size(train=8, held=12, n=2, examples=24, pairs=8, epochs=4, tokens=4)
    lab = Lab(engine, base.vocabulary, engine.model("reference"))
    marks = experiment(lab, TASKS[:8], TASKS[8:20], size, 0)
    mean = {name: sum(found) / len(found) for name, found in marks.items()}
    assert 0.1 < mean["untrained trio"] < 0.9
    assert mean["tuned trio"] > mean["untrained trio"] + 0.2
    assert [engine.step(role) > 0 for role in ROLES] == [True] * 3
    shown = table(marks)
    assert shown.count("\n") == 5 and f"| tuned trio | {mean['tuned trio']:.3f} [" in shown


def test_no_held_out_question_is_learned_from() -> None:
    train, held = items(0, Size(train=30, held=50))
    asked = [task.prompt for task in (*train, *held)]
    assert len(train) == 30 and len(held) == 50 and len(set(asked)) == 80


def rows(policy: str, count: int) -> list[Row]:
    mask = (False, False, True, True)
    return [Row(ids=(1, 2, 3 + i % 2, 4), mask=mask, policy=policy) for i in range(count)]


def pairs(policy: str) -> list[Row]:
    good, bad = rows(policy, 2)
    return [good.but(label=1.0, pair="a"), bad.but(label=-1.0, pair="a")]


def test_each_policy_learns_its_own_rows_in_so_many_steps() -> None:
    engine, seen = torch_engine(SHAPE, ("one", "two", "three")), []
    work, lesson = rows("one", 5) + rows("two", 2), Lesson(epochs=2, batch=2, adam=Adam(lr=1e-2))
    losses = tune(engine, work, lesson, lambda policy, done, _: seen.append((policy, done)))
    assert steps(work, lesson) == 8 and [n for _, n in seen] == list(range(1, 9))
    assert [engine.step(name) for name in ("one", "two", "three")] == [6, 2, 0]
    assert losses["one"][-1] < losses["one"][0]


def test_preferences_are_measured_against_the_policy_as_it_was() -> None:
    engine = torch_engine(SHAPE, ("p",))
    tune(engine, rows("p", 8), Lesson(adam=Adam(lr=1e-2)))
    first = tune(engine, pairs("p"), Lesson(Loss("dpo"), epochs=3, adam=Adam(lr=1e-2)))["p"]
    assert first[0] == pytest.approx(0.6931, abs=1e-3) and first[-1] < first[0]


def test_nothing_to_tune_on_is_refused() -> None:
    engine = torch_engine(SHAPE, ("p",))
    with pytest.raises(BadInput, match="no rows"):
        tune(engine, [])
    with pytest.raises(UnknownName, match="policy"):
        tune(engine, rows("q", 1))
