"""The scripts that go over all methods: a night that is cut off goes on, and the benchmark reads tapes."""

import asyncio
import time
from pathlib import Path

import pytest

from benchmarks.methods import (
    Ready,
    cells,
    longest_chain,
    measure,
    ready_tools,
    requests_of,
    same_calls,
    with_ready_models,
)
from motet import Store, Task
from motet.evals.lab.subject import subject
from motet.methods import debate
from motet.models.names import model
from motet.tape import Tape
from motet.tools.sandbox import SANDBOXES, Outcome, sandbox
from scripts import nightly

SIM = "sim:skill=0.7"


def played(store: Store, seconds: float = 60) -> tuple[str, list]:
    return asyncio.run(nightly.play("direct", 10, SIM, store, time.monotonic() + seconds))


def test_a_night_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "night.db")
    assert played(store, -1) == ("0 of 10 arithmetic?difficulty=1", [])
    items, first = played(store)
    assert items == "10 of 10 arithmetic?difficulty=1"
    assert played(store)[1] == first
    assert len(store.runs()) == 10


def test_methods_are_given_what_they_can_do() -> None:
    assert nightly.work_of(subject("agent_coder"), 99)[0].name == "mini-code"
    suite, work = nightly.work_of(subject("chase_sql"), 3)
    assert (suite.kind, [seed for _, seed in work]) == ("sql", [0, 1, 2])


def test_the_page_keeps_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "results.md"
    page.write_text("# Results\n\n## Other\n\nwords\n")
    monkeypatch.setattr(nightly, "PAGE", page)
    for words in ("one", "two"):
        nightly.write(f"{nightly.TITLE}\n\n{words}\n")
    assert page.read_text() == f"# Results\n\n## Other\n\nwords\n\n{nightly.TITLE}\n\ntwo\n"
    row = nightly.line("debate", "2 of 2 x", played(Store.memory())[1])
    assert row.startswith("| `debate` | 2 of 2 x | ") and row.endswith("| 1.0 | 44 | 0.0 | 0 |\n")
    assert "| – |" in nightly.line("debate", "0 of 2 x", [])


def test_the_benchmark_reads_calls_chain_and_steps_off_the_tape() -> None:
    found = asyncio.run(measure(subject("debate")))
    assert (found["calls"], found["chain"], found["steps"]) == (9, 3, 3)
    assert 60 < found["waited_ms"] < 600
    assert found["over_floor"] > 0.3 and found["over_same"] > 0.3
    assert cells("debate", found)[:4] == ("debate", "9", "3", "3")


def test_a_ready_model_says_the_same_again_without_asking() -> None:
    ready = Ready(model(SIM))
    team, task = debate.cast(ready), Task("2 + 2?", target="4", kind="number")
    first = team.run(task, store=Store.memory())
    ready.inner = model("sim:fail=1")
    again = team.run(task, store=Store.memory())
    assert [call.node for call in again.calls] == [call.node for call in first.calls]
    assert longest_chain(again.calls) == 3


def test_the_floor_of_the_same_calls_sends_what_the_method_sent_and_no_more() -> None:
    async def tapes() -> list[Tape]:
        models: list[Ready] = []
        there = subject("magentic_one")
        team = with_ready_models(there.cast(SIM), models)
        again = same_calls(await requests_of(team, there.task, models))
        return [(await one.arun(there.task, store=Store.memory())).tape for one in (team, again)]

    method, floor = asyncio.run(tapes())
    sent = [sorted((c.prompt, c.node, str(c.sampling)) for c in tape.calls) for tape in (method, floor)]
    assert len(sent[0]) > 3 and sent[0] == sent[1]
    assert set(floor.nodes) == set(method.nodes)


def test_a_ready_tool_is_used_for_real_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    class Box:
        async def run(self, code: str, **options: object) -> Outcome:
            ran.append(code)
            return Outcome(ok=True, exit_code=0, stdout=code, stderr="", reason="done", wall_s=1.0)

    monkeypatch.setitem(SANDBOXES, "monty", Box)
    with ready_tools():
        said = [asyncio.run(sandbox("monty").run(code)).stdout for code in ("1", "2", "1")]
    assert (said, ran) == (["1", "2", "1"], ["1", "2"])
    assert isinstance(sandbox("monty"), Box)
