"""Playing: seats as voices, moves as calls, steps on the tape; `motet envs` and `motet play`."""

import asyncio
import io
import json
from random import Random
from typing import Any

import pytest
from click.testing import CliRunner, Result

import motet
from motet.cli.envs import command as envs_command
from motet.cli.export import command as export_command
from motet.cli.play import command as play_command
from motet.envs import ENVS, Env, make
from motet.envs.play import marks_of, play, returns_of, seat_players
from motet.envs.players import Player
from motet.errors import BadInput, UnknownName
from motet.models.scripted import Line, Scripted
from motet.tape.store import home


def run(env: str, voices: dict[str, Any], seed: int = 0, **options: Any) -> motet.Run:
    team = seat_players(env, voices, **options).configured(seed=seed)
    return team.run("Play.", seed=seed, store=motet.Store.memory())


def invoke(command: Any, *words: str, said: str | None = None) -> Result:
    return CliRunner().invoke(command, words, input=said)


def test_moves_are_calls_and_steps_are_on_the_tape() -> None:
    played = run("tic_tac_toe", {"x": Scripted(["I take 1.", "2", "Action: 3"]), "o": Scripted(["4", "5"])})
    assert returns_of(played) == {"x": 1.0, "o": -1.0}
    assert [call.voice for call in played.calls] == ["x", "o", "x", "o", "x"]
    steps = played.tape.steps
    assert [step.actions for step in steps] == [{"x": "1"}, {"o": "4"}, {"x": "2"}, {"o": "5"}, {"x": "3"}]
    assert [step.calls for step in steps] == [{step_seat: str(i)} for i, step_seat in enumerate("xoxox", 1)]
    assert [step.done for step in steps] == [False] * 4 + [True]
    assert steps[-1].rewards == {"x": 1.0, "o": -1.0} and steps[0].rewards == {}
    assert steps[0].state == make("tic_tac_toe").state_hash()
    assert steps[0].observations == {"x": make("tic_tac_toe").observe("x").digest}
    recorded = played.record()["steps"]
    assert recorded[0]["actions"] == {"x": "1"} and recorded[-1]["done"] and len(recorded) == 5
    asked = played.record()["calls"][0]["messages"][0]["content"]
    assert "1 | 2 | 3" in asked and asked.endswith("Action: 8\nAction: 9")


def test_seats_that_act_at_once_are_one_step() -> None:
    played = run(
        "prisoners_dilemma", {"row": lambda text: "defect", "column": lambda text: "cooperate"}, rounds=3
    )
    assert returns_of(played) == {"row": 15.0, "column": 0.0} and len(played.tape.steps) == 3
    assert set(played.tape.steps[0].calls) == {"row", "column"}


def test_what_cannot_be_read_is_asked_again_then_forfeits() -> None:
    played = run("tic_tac_toe", {"x": Scripted(["Hm."] * 3), "o": "random"})
    assert returns_of(played) == {"x": -1.0, "o": 1.0}
    assert [step.actions for step in played.tape.steps] == [{"x": None}] * 3
    assert played.tape.steps[0].invalid == {"x": "No action could be read."}
    assert "No action could be read." in played.record()["calls"][1]["messages"][0]["content"]


def test_a_voice_that_fails_is_data() -> None:
    played = run("kuhn", {"first": Scripted([Line(error="timeout")] * 3), "second": "random"})
    assert returns_of(played) == {"first": -2.0, "second": 2.0}
    assert [str(call.failure.kind) for call in played.calls if call.failure] == ["timeout"] * 3
    assert played.tape.steps[0].calls == {}


def test_a_small_network_plays_with_arrays() -> None:
    def lean(env: Env, seat: str, rng: Random) -> int:
        return int(env.observe(seat).array[2] > 0)

    played = run("gymnasium:CartPole-v1", {"player": Player("lean", lean)})
    assert returns_of(played)["player"] > 20 and played.tape.steps[0].actions["player"] in ("0", "1")


def test_runs_repeat_by_seed() -> None:
    def record(seed: int) -> list[Any]:
        return [(step.state, step.actions) for step in run("social_deduction", {}, seed).tape.steps]

    assert record(3) == record(3) != record(4)


def test_seats_that_nobody_is_given_are_played_well() -> None:
    assert seat_players("kuhn", {}).parts["players"][0].model.name == "perfect"  # type: ignore[union-attr]
    assert seat_players("negotiation", {}).parts["players"][0].model.name == "random"  # type: ignore[union-attr]
    assert returns_of(run("tic_tac_toe", {"x": "perfect"})) == {"x": 0.0, "o": 0.0}
    with pytest.raises(UnknownName, match="seat of kuhn"):
        seat_players("kuhn", {"x": "random"})
    with pytest.raises(BadInput, match=r"1 players for 2 seats \(x, o\)"):
        play.cast(players=[Scripted(["1"])]).run("Play.", store=motet.Store.memory())


def test_players_only_play() -> None:
    with pytest.raises(BadInput, match="can only play"):
        asyncio.run(motet.Agent(Player("p", lambda env, seat, rng: "1")).ask("Hello."))
    with pytest.raises(BadInput, match="no perfect player"):
        run("leduc", {"first": "perfect"})


def test_envs_command() -> None:
    listed = json.loads(invoke(envs_command, "--json").stdout)
    assert [entry["name"] for entry in listed] == list(ENVS) and listed[1]["seats"] == ["first", "second"]
    assert "household" in invoke(envs_command).stdout and "textarena:" in invoke(envs_command).stdout
    one = json.loads(invoke(envs_command, "kuhn", "--json").stdout)
    assert set(one["rules"]) == {"first", "second"} and "Your card" in one["start"]["first"]
    assert "help-desk" in invoke(envs_command, "help_desk").stdout


def test_play_command() -> None:
    done = invoke(play_command, "kuhn", "--voice", "first=random", "--episodes", "6", "--json")
    document = json.loads(done.stdout)
    assert len(document["returns"]) == len(document["runs"]) == 6 and done.exit_code == 0
    mean = sum(returned["first"] for returned in document["returns"]) / 6
    assert document["mean"]["first"] == pytest.approx(mean) == -document["mean"]["second"]
    assert len({run["steps"][0]["state"] for run in document["runs"]}) > 1
    table = invoke(play_command, "prisoners_dilemma", "--set", "rounds=2", "--voice", "row=random")
    assert "column" in table.stdout and "row: " in table.stderr
    assert isinstance(invoke(play_command, "kuhn", "--voice", "x=random").exception, UnknownName)


def test_a_person_plays_without_seeing_what_is_secret() -> None:
    done = invoke(
        play_command, "kuhn", "--voice", "second=person", "--voice", "first=random", said="call\ncall\n"
    )
    assert "your turn" in done.stderr and "first: " not in done.stderr and done.exit_code == 0


def test_a_transcript_shows_what_the_environment_made_of_it() -> None:
    from rich.console import Console

    from motet.viewer.transcript import transcript

    console = Console(width=100, file=io.StringIO(), force_terminal=False)
    console.print(
        transcript(run("kuhn", {"first": Scripted(["bet", "bet"]), "second": Scripted(["dance"] * 3)}).tape)
    )
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert "▸ first: bet" in shown
    assert "▸ second: None (" in shown
    assert "the end" in shown


def test_a_seat_that_never_answers_is_told_and_counts_as_failed_work() -> None:
    done = invoke(play_command, "tic_tac_toe", "--voice", "x=sim:skill=1")
    assert "calls of x failed: bad_request: sim:skill=1" in done.stderr


def marks(played: motet.Run) -> list[tuple[str, float]]:
    voices = {call.id: call.voice for call in played.calls}
    return [(voices[score.call], score.value) for score in marks_of(played, 0.0)]


def test_moves_are_marked_by_what_their_seat_got() -> None:
    won = run("tic_tac_toe", {"x": Scripted(["1", "Hm.", "2", "3"]), "o": Scripted(["4", "5"])})
    assert marks(won) == [("x", 1), ("o", 0), ("x", 0), ("x", 1), ("o", 0), ("x", 1)]
    drawn = run("tic_tac_toe", {})
    assert {value for _, value in marks(drawn)} == {0.5}
    split = run("negotiation", {"first": "random"}, 3)
    assert {value for _, value in marks(split)} == set(returns_of(split).values())
    points = run("prisoners_dilemma", {"row": "random"}, rounds=3)
    assert max(returns_of(points).values()) > 1 and marks(points) == []


def test_what_was_played_can_be_exported_for_trainers() -> None:
    for seed in ("1", "2"):
        invoke(play_command, "kuhn", "--voice", "first=random", "--voice", "second=random", "--seed", seed)
        rows = [
            json.loads(line) for line in invoke(export_command, "last", "--to", "trl-sft").stdout.splitlines()
        ]
        tape = motet.Store(home() / "tape.db", readonly=True).load("last")
        earned = {seat: sum(step.rewards.get(seat, 0) for step in tape.steps) for seat in ("first", "second")}
        winner = max(earned, key=earned.__getitem__)
        assert [row["voice"] for row in rows] == [c.voice for c in tape.calls if c.voice == winner] != []
        assert rows[0]["completion"][0]["content"] in ("check", "bet", "call", "fold")
    invoke(play_command, "prisoners_dilemma", "--voice", "row=random")
    refused = invoke(export_command, "last", "--to", "trl-kto")
    assert isinstance(refused.exception, BadInput) and "has a mark" in str(refused.exception)
