"""The benchmark of overhead: Motet and its floor run, keep the same record, and come out as a table."""

import asyncio
import json
import sqlite3

import msgspec
import pytest

from benchmarks.overhead.contestant import CONTESTANTS, Speaker
from benchmarks.overhead.contestants import loop as floor
from benchmarks.overhead.contestants import motet as ours
from benchmarks.overhead.measure import Sizes, measure
from benchmarks.overhead.report import COLUMNS, markdown, summary
from motet import Store

TINY = Sizes(calls=2, talks=1, short=2, long=20, crowd=5, idle=10)


@pytest.mark.parametrize("name", ["motet", "motet-memory", "loop", "loop-memory"])
def test_a_contestant_gives_every_number(name):
    numbers = json.loads(json.dumps(measure(name, TINY)))
    assert set(numbers) == set(COLUMNS)
    assert all(value > 0 for value in numbers.values())


def test_the_floor_keeps_what_motet_keeps(tmp_path):
    async def play():
        for contestant in (ours.Contestant(Speaker(), tmp_path), floor.Contestant(Speaker(), tmp_path)):
            await contestant.talk(5)
            await contestant.ask(contestant.agents(3))

    asyncio.run(play())
    with sqlite3.connect(tmp_path / "loop.db") as db:
        rows = [json.loads(body) for (body,) in db.execute("SELECT body FROM events")]
        texts = {json.loads(parts)[0]["text"] for (parts,) in db.execute("SELECT parts FROM nodes")}
    theirs = [row for row in rows if row["type"] == "call"]
    store = Store(tmp_path / "tape.db", readonly=True)
    tapes = [store.load(tape.run) for tape in store.runs()]
    calls = [call for tape in tapes for call in tape.calls]
    assert sorted((c.key, c.prompt, c.node, c.parents) for c in calls) == sorted(
        (c["key"], c["prompt"], c["node"], tuple(c["parents"])) for c in theirs
    )
    assert max(msgspec.to_builtins(calls), key=len).keys() == theirs[0].keys()
    assert {m.parts[0].text for tape in tapes for m in tape.nodes.values()} == texts


def test_every_contestant_says_what_it_needs():
    for entry in CONTESTANTS.values():
        assert entry.requirements.read_text().split()


def test_the_table_sets_medians_beside_motet():
    numbers = dict.fromkeys(COLUMNS, 1.0)
    rounds = {
        "motet": [numbers, numbers],
        "other": [dict.fromkeys(COLUMNS, v) for v in (2.0, 6.0, 4.0)],
        "gone": [],
    }
    assert summary(rounds)["other"]["call_us"] == {"median": 4.0, "min": 2.0, "max": 6.0, "ratio": 4.0}
    table = markdown(rounds, **TINY._asdict())
    assert "| other | 4 (2–6) ×4 |" in table
    assert "gone" not in table
