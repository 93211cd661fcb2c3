"""The floor: one hand-written loop that keeps Motet's record and does nothing else."""

import asyncio
import itertools
import sqlite3
import time
from collections import Counter
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.overhead.contestant import TASK, Speaker

ON_DISK = """
    PRAGMA page_size = 1024;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA wal_autocheckpoint = 16000;
"""
TABLES = """
    CREATE TABLE events (run TEXT NOT NULL, seq INTEGER NOT NULL, key TEXT, body BLOB NOT NULL,
                         PRIMARY KEY (run, seq)) WITHOUT ROWID;
    CREATE INDEX events_by_key ON events (key) WHERE key IS NOT NULL;
    CREATE TABLE nodes (key TEXT PRIMARY KEY, parent TEXT NOT NULL, role TEXT NOT NULL, parts BLOB NOT NULL);
"""
encode = msgspec.json.encode


def key_of(*fields: Any) -> str:
    return blake2b(encode(fields), digest_size=16).hexdigest()


class Contestant:
    """The record as plain rows: a list in memory, and SQLite in one transaction a tick."""

    def __init__(self, speaker: Speaker, folder: Path | None) -> None:
        self.speaker = speaker
        self.db = sqlite3.connect(folder / "loop.db" if folder else ":memory:", isolation_level=None)
        self.db.executescript(ON_DISK + TABLES if folder else TABLES)
        self.runs = itertools.count()
        self.pending_events: list[tuple[str, int, str | None, bytes]] = []
        self.pending_nodes: list[tuple[str, str, str, bytes]] = []
        self.begin()

    def begin(self) -> None:
        self.run = str(next(self.runs))
        self.events: list[dict[str, Any]] = []
        self.nodes: dict[str, tuple[str, str, str]] = {}
        self.drawn: Counter[str] = Counter()
        self.calls = itertools.count(1)
        self.event(None, {"type": "started", "run": self.run, "task": TASK, "at": time.time()})

    def event(self, key: str | None, event: dict[str, Any]) -> None:
        self.pending_events.append((self.run, len(self.events), key, encode(event)))
        self.events.append(event)
        if len(self.pending_events) == 1:
            asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        if not self.pending_events:
            return
        self.db.execute("BEGIN IMMEDIATE")
        self.db.executemany("INSERT INTO events VALUES (?, ?, ?, ?)", self.pending_events)
        self.db.executemany("INSERT OR IGNORE INTO nodes VALUES (?, ?, ?, ?)", self.pending_nodes)
        self.db.execute("COMMIT")
        self.pending_events.clear()
        self.pending_nodes.clear()

    def node(self, parent: str, role: str, text: str) -> str:
        parts = [{"type": "text", "text": text}]
        key = key_of(parent, role, parts, ())
        if key not in self.nodes:
            self.nodes[key] = parent, role, text
            self.pending_nodes.append((key, parent, role, encode(parts)))
        return key

    async def model(self, history: list[tuple[str, str]]) -> str:
        return await self.speaker.say()

    async def call(self, voice: str, history: list[tuple[str, str]], prompt: str, parents: list[str]) -> Any:
        request = key_of("speaker", prompt, {}, 0)
        index = self.drawn[request]
        self.drawn[request] += 1
        number, at, begun = str(next(self.calls)), time.time(), time.perf_counter()
        text = await self.model(history)
        latency = time.perf_counter() - begun
        node, key = self.node(prompt, "assistant", text), f"{request}/{index}"
        usage = {"input_tokens": 8, "output_tokens": 8, "calls": 1}
        event = {"type": "call", "id": number, "key": key, "voice": voice, "model": "speaker", "at": at}
        event |= {"prompt": prompt, "node": node, "parents": parents, "answered_by": "speaker", "cost": 0.0}
        event |= {"usage": usage, "sampling": {}, "latency_s": latency}
        self.event(key, event)
        return number, node, text

    def end(self, answer: str) -> None:
        self.event(None, {"type": "ended", "at": time.time(), "answer": answer})
        self.flush()

    def agents(self, n: int) -> list[str]:
        return [f"voices_{i}" for i in range(1, n + 1)]

    async def ask(self, agents: Sequence[str]) -> None:
        self.begin()
        history = [("user", TASK)]
        prompt = self.node("", *history[0])
        calls = [asyncio.ensure_future(self.call(name, history, prompt, [])) for name in agents]
        self.end((await asyncio.gather(*calls))[-1][2])

    async def talk(self, turns: int) -> None:
        self.begin()
        said, parents = TASK, list[str]()
        histories: list[list[tuple[str, str]]] = [[], []]
        heads, last = ["", ""], [list[str](), list[str]()]
        for turn in range(turns):
            me = turn % 2
            histories[me].append(("user", said))
            prompt = self.node(heads[me], "user", said)
            number, heads[me], said = await self.call(
                ("first", "second")[me], histories[me], prompt, [*last[me], *parents]
            )
            histories[me].append(("assistant", said))
            parents = last[me] = [number]
        self.end(said)
