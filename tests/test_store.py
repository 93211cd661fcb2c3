"""The store under what can happen to it: two writers, a full disk, a damaged file, a kill."""

import asyncio
import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from voices import Echo, review

from motet import Store, Task
from motet.errors import (
    BadInput,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    UnknownName,
)
from motet.tape import Recorder, Tape
from motet.tape.store import MIGRATIONS
from motet.types import Message, Tokens


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "tape.db"


def one_run(store: Store, task: str = "Q") -> str:
    return review.cast(Echo()).run(task, store=store).id


def test_runs_are_found_by_the_beginning_of_their_name(path: Path) -> None:
    store = Store(path)
    first, second = one_run(store, "1"), one_run(store, "2")
    assert store.load(first).started.task.prompt == "1"
    assert store.load("last").run == second
    assert store.load(second[:-1]).run == second
    with pytest.raises(UnknownName, match="no run is called"):
        store.load("nope")
    with pytest.raises(BadInput, match="several runs"):
        store.load(first[:4])
    assert [t.run for t in store.runs()] == [second, first]
    assert store.runs()[0].ended is not None


def test_a_shared_history_is_stored_once(path: Path) -> None:
    store = Store(path)
    one_run(store)
    before = sqlite3.connect(path).execute("SELECT count(*) FROM nodes").fetchone()
    one_run(store)
    assert sqlite3.connect(path).execute("SELECT count(*) FROM nodes").fetchone() == before


ids = st.lists(st.integers(0, 9), min_size=1, max_size=4).map(tuple)


@settings(max_examples=50)
@given(st.lists(st.tuples(ids, ids, st.booleans()), min_size=1, max_size=5))
def test_token_ids_survive_as_deltas(turns: list[tuple[tuple[int, ...], tuple[int, ...], bool]]) -> None:
    """Whatever the backend's template does to the history, the ids of each sampled path come back exactly."""
    store, head, path_ids = Store.memory(), "", ()
    recorder = Recorder(Tape("r"), Task(""), sink=store)
    for turn, (added, sampled, rewrites) in enumerate(turns):
        prompt = recorder.add(head, Message.say("user", str(turn)))
        prompt_ids = added if rewrites else path_ids + added
        node = recorder.add(prompt, Message.say("assistant", str(sampled)), sampled)
        recorder.add_tokens(prompt, node, Tokens("t", prompt_ids, sampled, (-1.0,) * len(sampled)))
        assert recorder.tape.ids(prompt, "t") == prompt_ids
        assert recorder.tape.ids(node, "t") == prompt_ids + sampled
        path_ids, head = prompt_ids + sampled, node


def test_recalled_replies_keep_their_tokens(path: Path) -> None:
    import motet
    from motet.models.scripted import Line, Scripted

    @motet.team
    async def solo(task, voice):
        return await voice.ask(task)

    store, team = Store(path), solo.cast(Scripted([Line("hi", ids=(5, 6), logprobs=(-0.5, -0.25))]))
    team.run("Q", store=store)
    again = team.run("Q", store=store, reuse=True)
    tokens = again.tape.tokens[again.calls[0].node, "scripted"]
    assert (tokens.ids, tokens.logprobs) == ((5, 6), (-0.5, -0.25))


@pytest.mark.parametrize(
    "content", [b"this is no database at all" * 100, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_a_damaged_file_is_refused_and_left_alone(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="was left as it"):
        Store(path)
    assert path.read_bytes() == content


def test_damage_inside_is_noticed(path: Path) -> None:
    store = Store(path)
    run = one_run(store)
    store.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
    with pytest.raises(StoreCorrupt):
        Store(path).load(run)


def test_a_database_of_something_else_is_refused(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    other.close()
    with pytest.raises(StoreCorrupt, match="not a store of Motet"):
        Store(path)


def test_an_older_store_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = one_run(Store(path))
    newer = (*MIGRATIONS, "ALTER TABLE runs ADD COLUMN note TEXT; CREATE INDEX notes ON runs (note)")
    monkeypatch.setattr("motet.tape.store.MIGRATIONS", newer)
    store = Store(path)
    assert store.load(run).run == run
    assert sqlite3.connect(path).execute("PRAGMA user_version").fetchone() == (len(newer),)
    broken = (*newer, "CREATE TABLE more (x); CREATE TABLE runs (y)")
    monkeypatch.setattr("motet.tape.store.MIGRATIONS", broken)
    with pytest.raises(StoreError):
        Store(path)
    tables = sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall()
    assert ("more",) not in tables


def test_a_newer_store_is_refused(path: Path) -> None:
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreTooNew, match="upgrade"):
        Store(path)


def test_a_full_disk_stops_the_run_before_more_is_spent(path: Path) -> None:
    store, echo = Store(path), Echo()
    one_run(store)
    pages = store._db.execute("PRAGMA page_count").fetchone()[0]
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFull, match="no room"):
        review(rounds=500).cast(echo).run("x" * 5000, store=store)
    assert len(echo.asked) < 20
    assert Store(path, readonly=True).runs()


def test_a_file_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    with pytest.raises(StoreReadOnly, match="folder"):
        Store(blocker / "tape.db")
    store = Store(tmp_path / "tape.db")
    store._db.execute("PRAGMA query_only = 1")
    with pytest.raises(StoreReadOnly, match="MOTET_HOME"):
        one_run(store)


def test_a_readonly_store_reads_and_never_writes(path: Path) -> None:
    run = one_run(Store(path))
    reader = Store(path, readonly=True)
    assert reader.load(run).run == run
    with pytest.raises(StoreReadOnly):
        one_run(reader)
    with pytest.raises(StoreError, match="there is no store"):
        Store(path.with_name("other.db"), readonly=True)


def test_a_store_that_is_held_by_another_says_so(path: Path) -> None:
    store = Store(path, busy_s=0.01)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreBusy, match="another process"):
        one_run(store)
    other.close()


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from voices import Echo, review
from motet import Store
store = Store(sys.argv[1])
for i in range(20):
    review(rounds=5).cast(Echo()).run(f"{sys.argv[3]} {i}", store=store)
"""


def writer(path: Path, name: str) -> subprocess.Popen[str]:
    here = str(Path(__file__).parent)
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), here, name], stderr=subprocess.PIPE, text=True
    )


def test_two_processes_share_a_store(path: Path) -> None:
    both = [writer(path, "a"), writer(path, "b")]
    for process in both:
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
    tapes = Store(path).runs(100)
    assert len(tapes) == 40
    assert all(t.ended and t.ended.answer for t in tapes)


def test_a_kill_loses_no_more_than_what_was_in_flight(path: Path) -> None:
    process = writer(path, "a")
    wal = path.with_name("tape.db-wal")
    while not wal.exists() or wal.stat().st_size < 200_000:
        time.sleep(0.001)
        assert process.poll() is None
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    store = Store(path)
    assert store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    tapes = [store.load(t.run) for t in store.runs(100)]
    assert tapes
    for tape in tapes:
        assert [int(c.id) for c in tape.calls] == list(range(1, len(tape.calls) + 1))
        assert all(tape.path(c.node) for c in tape.calls)
    assert sum(t.ended is None for t in tapes) <= 1


def test_events_of_one_tick_are_one_transaction(path: Path) -> None:
    store = Store(path)
    statements: list[str] = []
    store._db.set_trace_callback(lambda s: statements.append(s) if s.startswith("BEGIN") else None)

    async def main() -> None:
        await asyncio.gather(*(review(rounds=0).cast(Echo()).arun(str(i), store=store) for i in range(50)))

    asyncio.run(main())
    assert len(statements) < 60
    assert len(store.runs(100)) == 50
