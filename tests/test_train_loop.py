"""The training loop: it learns, goes on after a kill as if there had been none, and refuses nonsense."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

import motet
from motet.errors import BadInput, MotetError, UnknownName
from motet.models.scripted import Scripted
from motet.train import Adam, Loss, tabular_engine
from motet.train.folder import Folder
from motet.train.loop import Trained, train
from motet.train.plan import Stop, read_plan
from motet.train.report import sparkline
from motet.train.source import Episodes, Tasks, derived
from motet.types import Task

ROOT = Path(__file__).parent.parent
FAST: dict[str, Any] = {"groups": 4, "group_size": 8, "adam": Adam(lr=0.3), "checkpoint_every": 5}


@motet.team
async def pull(task, gambler):
    """Pull an arm."""
    return await gambler.ask("Which arm?", task)


class Bandit:
    """Two arms; the right one pays 1. What cannot be marked is NaN."""

    name = "bandit"
    tasks = (Task("left or right?", id="a"), Task("right or left?", id="b"))

    def __init__(self, pay: Mapping[str, float] = {"right": 1.0}) -> None:
        self.pay = pay
        self.scorer = self

    async def __call__(self, task: Task, answer: str) -> Any:
        return SimpleNamespace(value=self.pay.get(answer, 0.0))


def bandit(pay: Mapping[str, float] = {"right": 1.0}, **plan: Any) -> Trained:
    engine = tabular_engine(("left", "right"), ("p",))
    settings = {**FAST, "iterations": 20, **plan}
    return train(pull, Bandit(pay), engine=engine, policies={"gambler": "p"}, **settings)


def test_a_bandit_is_learned_and_the_tuned_team_runs_as_any_other() -> None:
    done = bandit(evaluate=Bandit())
    assert [line["iteration"] for line in done.curve] == list(range(21))
    assert 0.2 < done.curve[0]["score"] < 0.8
    assert done.curve[-1]["score"] > 0.9
    answers = [done.team.run("left or right?", seed=i, store=motet.Store.memory()).answer for i in range(20)]
    assert answers.count("right") >= 17
    assert done.ledger.counts["rows"] == 20 * 32


def test_a_report_shows_curves_samples_and_ledger() -> None:
    report = bandit(iterations=3).report()
    assert "| reward/gambler |" in report
    assert "drift ledger: 96 calls, 96 rows, 96 tokens" in report
    before, after = report.split("## After")
    assert "gambler: " in before
    assert "gambler: " in after
    assert sparkline([1.0, 1.0]) == "▁▁"
    assert len(sparkline(list(range(1000)))) == 48


def test_a_reward_that_is_not_known_leaves_the_baseline_and_is_counted() -> None:
    # If NaN became 0, "left" at −1 would be worse than it, and the policy would flee to what nobody can mark.
    done = bandit({"left": -1.0, "right": nan}, credit="reinforce", iterations=5, adam=Adam(lr=0.01))
    unscored = [line["unscored"] for line in done.curve[1:]]
    assert sum(unscored) > 0
    assert all(line["rows"] == 32 - line["unscored"] for line in done.curve[1:])
    assert all(line["reward/gambler"] == -1 for line in done.curve[1:])


def test_without_a_single_reward_nothing_is_trained() -> None:
    done = bandit({"left": nan, "right": nan}, iterations=2)
    assert [line["rows"] for line in done.curve[1:]] == [0.0, 0.0]
    assert "p/loss" not in done.curve[-1]


@motet.team
async def pair(task, asker, helpers: motet.Voices):
    """Ask helpers, then decide."""
    notes = await motet.ask_all(helpers.take(2), task)
    return await asker.ask(task, *notes)


def test_voices_are_trained_as_policies_of_their_own_and_keep_their_instructions() -> None:
    engine = tabular_engine(("left", "right"), ("one", "many"))
    team = pair.cast(asker=motet.Agent(Scripted(["x"]), instructions="Decide."))
    done = train(
        team, Bandit(), engine=engine, policies={"asker": "one", "helpers": "many"}, iterations=2, **FAST
    )
    assert {"reward/asker", "reward/helpers", "one/loss", "many/loss"} <= done.curve[-1].keys()
    assert done.curve[-1]["one/tokens"] == 32
    assert done.curve[-1]["many/tokens"] == 64
    run = done.team.run("left or right?", store=motet.Store.memory())
    assert run.tape.path(run.calls[-1].prompt)[0].text == "Decide."


def test_what_makes_no_sense_is_refused_before_anything_is_spent() -> None:
    engine = tabular_engine(("left", "right"), ("p",))

    def attempt(
        what: Any = pull, suite: Any = Bandit(), voices: tuple[str, ...] = ("gambler",), **plan: Any
    ) -> None:
        train(what, suite, engine=engine, **{"policies": dict.fromkeys(voices, "p"), **plan})

    with pytest.raises(UnknownName, match="no setting of a training run is called 'iteration'"):
        attempt(iteration=3)
    with pytest.raises(UnknownName, match="credit preset"):
        attempt(credit="gpro")
    with pytest.raises(BadInput, match="scale of grpo is 'sd', its default is 'std': expected one of"):
        attempt(options={"scale": "sd"})
    with pytest.raises(UnknownName, match="voice of pull on bandit"):
        attempt(voices=("gamblers",))
    with pytest.raises(UnknownName, match="no policy of this engine is called 'q'"):
        attempt(policies={"gambler": "q"})
    with pytest.raises(BadInput, match="`policies` is empty"):
        attempt(voices=())
    with pytest.raises(BadInput, match="needs a suite"):
        attempt(suite=None)
    for name, value in {"group_size": 0, "at_once": 0, "tests": -1, "final": nan}.items():
        with pytest.raises(BadInput, match=f"{name} is {value}"):
            attempt(**{name: value})
    with pytest.raises(BadInput, match=r"cap is -1\.0; expected a number above 0"):
        attempt(loss=Loss(cap=-1.0))
    with pytest.raises(BadInput, match="learning rate is nan"):
        attempt(adam=Adam(lr=nan))
    with pytest.raises(BadInput, match="divides losses by a constant length"):
        attempt(credit="dr_grpo")


def test_a_voice_without_ids_cannot_be_trained() -> None:
    class Engine:
        policies = ("p",)

        def model(self, policy: str) -> Any:
            return Scripted(["left"] * 100)

    with pytest.raises(BadInput, match="gives no token ids"):
        train(pull, Bandit(), engine=Engine(), policies={"gambler": "p"}, **FAST)  # type: ignore[arg-type]


def test_groups_that_started_differently_are_refused() -> None:
    class Shaky(Tasks):
        async def rollout(self, team: Any, number: int, seed: int, store: Any) -> Any:
            found = await super().rollout(team, number, seed, store)
            return msgspec.structs.replace(found, group="g", start=f"start {number}")

    engine = tabular_engine(("left", "right"), ("p",))
    with pytest.raises(BadInput, match=r"start 0.*start 1"):
        train(Shaky(pull, Bandit()), engine=engine, policies={"gambler": "p"}, **FAST)


def test_training_stops_when_there_is_no_reason_to_go_on() -> None:
    done = bandit(evaluate=Bandit(), evaluate_every=1, stop=Stop(target=0.9))
    assert done.stopped.startswith("score is 0.9")
    assert len(done.curve) < 21
    idle = bandit({}, evaluate=Bandit({}), evaluate_every=1, stop=Stop(patience=2))
    assert idle.stopped == "score has not been better than 0 for 2 lines"
    assert len(idle.curve) == 4
    assert Stop(lowest=True, target=1.0).reached(0.9)


def test_the_learning_rate_fades() -> None:
    plan = read_plan({"iterations": 11, "final": 0.5, "adam": Adam(lr=1.0)})
    assert plan.adam_at(0).lr == 1.0
    assert plan.adam_at(10).lr == pytest.approx(0.5)
    assert plan.adam_at(5).lr == pytest.approx(0.75)


def test_a_folder_holds_all_there_is(tmp_path: Path) -> None:
    done = bandit(out=tmp_path / "run", iterations=12)
    assert sorted(p.name for p in (tmp_path / "run" / "checkpoints").iterdir()) == ["000010", "000012"]
    assert read(tmp_path / "run" / "curve.jsonl") == done.curve
    store = motet.Store(tmp_path / "run" / "tapes.sqlite", readonly=True)
    tapes = store.runs(limit=10_000)
    store.close()
    assert len(tapes) == 12 * 32
    assert tapes[0].score in (0.0, 1.0)
    assert (tmp_path / "run" / "report.md").read_text() == done.report()


def read(curve: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in curve.read_text().splitlines()]


def without_time(curve: list[dict[str, float]]) -> list[dict[str, float]]:
    return [{name: value for name, value in line.items() if name != "seconds"} for line in curve]


SCRIPT = """
import sys
from pathlib import Path
from motet.train import Adam, Loss, tabular_engine
from motet.train.loop import train
from motet.train.selfplay import Pool

engine = tabular_engine(("check", "bet", "call", "fold"), ("p", "past"))
train("kuhn", engine=engine, policies={"*": "p"}, out=Path(sys.argv[1]), resume=True, iterations=12, groups=4,
      group_size=2, credit="rae", adam=Adam(lr=0.1), checkpoint_every=3, pool=Pool(every=2), keep_tapes=False,
      evaluate=lambda engine: {"step": engine.step("p")}, evaluate_every=1, loss=Loss("ppo", entropy=0.01))
"""


def start(out: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SCRIPT, str(out)], cwd=ROOT, env={**os.environ})


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_as_if_it_had_not_been(tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert start(whole).wait() == 0
    first = start(broken)
    curve = broken / "curve.jsonl"
    while not curve.exists() or curve.read_bytes().count(b"\n") < 6:
        assert first.poll() is None
        time.sleep(0.002)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert (broken / "checkpoints" / "000003").is_dir()
    assert not (broken / "checkpoints" / "000012").exists()
    assert start(broken).wait() == 0
    one, two = (without_time(read(place / "curve.jsonl")) for place in (whole, broken))
    assert one == two
    assert len(one) == 13
    assert any(line["elo"] for line in one[1:])


def test_a_folder_is_not_overwritten_and_not_mixed_up(tmp_path: Path) -> None:
    bandit(out=tmp_path, iterations=5)
    with pytest.raises(BadInput, match="holds a run with 5 iterations; resume it"):
        bandit(out=tmp_path, iterations=5)
    with pytest.raises(BadInput, match="its group_size is 8, not 4"):
        bandit(out=tmp_path, resume=True, group_size=4)
    with pytest.raises(BadInput, match="its source is 'pull on bandit', not 'kuhn'"):
        train("kuhn", engine=tabular_engine(("x",), ("q",)), policies={"*": "q"}, out=tmp_path, resume=True)
    longer = bandit(out=tmp_path, resume=True, iterations=7)
    assert [line["iteration"] for line in longer.curve] == list(range(8))
    assert without_time(longer.curve) == without_time(bandit(iterations=7).curve)


def test_a_folder_in_use_says_by_whom(tmp_path: Path) -> None:
    holder = Folder(tmp_path)
    with pytest.raises(BadInput, match=f"in use by process {os.getpid()}"):
        bandit(out=tmp_path)
    holder.close()
    assert len(bandit(out=tmp_path, iterations=1).curve) == 2


def test_a_damaged_checkpoint_is_named_and_the_one_before_it_still_works(tmp_path: Path) -> None:
    whole = bandit(out=tmp_path, iterations=12)
    file = tmp_path / "checkpoints" / "000012" / "p.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(MotetError, match=r"000012 is damaged .* remove it to go on"):
        bandit(out=tmp_path, resume=True, iterations=12)
    file.unlink()
    with pytest.raises(MotetError, match=r"000012 is damaged \(p.safetensors is missing\); remove it"):
        bandit(out=tmp_path, resume=True, iterations=12)
    (file.parent / "state.json").unlink()
    file.parent.rmdir()
    assert without_time(bandit(out=tmp_path, resume=True, iterations=12).curve) == without_time(whole.curve)


def test_a_line_cut_short_is_no_line(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.log({"iteration": 0})
    folder.log({"iteration": 1})
    text = (tmp_path / "curve.jsonl").read_text()
    (tmp_path / "curve.jsonl").write_text(text[:-4])
    assert folder.curve() == [{"iteration": 0}]
    folder.close()


def test_seeds_depend_on_every_part() -> None:
    seeds = {derived(run, i, g) for run in range(5) for i in range(5) for g in range(5)}
    assert len(seeds) == 125
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_every_seat_of_an_environment_earns_its_own_return() -> None:
    engine = tabular_engine(("check", "bet", "call", "fold"), ("p",))
    done = train(Episodes("kuhn"), engine=engine, policies={"*": "p"}, iterations=1, credit="rae", **FAST)
    line = done.curve[-1]
    assert line["reward/first"] == -line["reward/second"]
    against = Episodes("kuhn", others={"second": "perfect"})
    assert against.voices == ("first",)
    alone = train(against, engine=engine, policies={"first": "p"}, iterations=1, evaluate=against, **FAST)
    assert "reward/second" not in alone.curve[-1]
    assert alone.curve[-1]["score"] == alone.curve[-1]["test/reward/first"]
