"""The store: all tapes of a project in one SQLite file.

Events are gathered for the rest of the running tick of the event loop and written in one
transaction (WAL), so a `kill -9` loses no more than what was in flight. A store that cannot be
written raises before the next call is paid for.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

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
from motet.tape.events import Called, Ended, Event, Node, NodeTokens, Started
from motet.tape.tape import Tape, long_knob
from motet.types import Media, Message, Part, Reply, Tokens

if TYPE_CHECKING:
    import sqlite3

MIGRATIONS = (
    """
    CREATE TABLE runs (id TEXT PRIMARY KEY, team TEXT NOT NULL, at REAL NOT NULL, item TEXT,
                       ended INTEGER NOT NULL);
    CREATE INDEX runs_by_item ON runs (item) WHERE item IS NOT NULL;
    CREATE TABLE events (run TEXT NOT NULL, seq INTEGER NOT NULL, key TEXT, body BLOB NOT NULL,
                         PRIMARY KEY (run, seq)) WITHOUT ROWID;
    CREATE INDEX events_by_key ON events (key) WHERE key IS NOT NULL;
    CREATE TABLE nodes (key TEXT PRIMARY KEY, parent TEXT NOT NULL, role TEXT NOT NULL, parts BLOB NOT NULL);
    CREATE TABLE tokens (node TEXT NOT NULL, tokenizer TEXT NOT NULL, body BLOB NOT NULL,
                         PRIMARY KEY (node, tokenizer));
    CREATE TABLE blobs (digest TEXT PRIMARY KEY, media_type TEXT NOT NULL, data BLOB NOT NULL);
    """,
)
"""One script a schema version, oldest first; a store is brought up to date when it is opened."""

SETTINGS = ("page_size = 1024", "journal_mode = WAL", "synchronous = NORMAL", "wal_autocheckpoint = 16000")
"""Small pages, because a transaction writes every page it touches; and a checkpoint, which waits for the
disk, only once in 16 MB. With SQLite's own settings a recorded turn takes twice as long to write."""

INSERTS = {
    "events": "INSERT INTO events VALUES (?, ?, ?, ?)",
    "nodes": "INSERT OR IGNORE INTO nodes VALUES (?, ?, ?, ?)",
    "tokens": "INSERT OR IGNORE INTO tokens VALUES (?, ?, ?)",
    "blobs": "INSERT OR IGNORE INTO blobs VALUES (?, ?, ?)",
    "runs": "INSERT INTO runs VALUES (?, ?, ?, ?, 0)",
    "ended": "UPDATE runs SET ended = 1 WHERE id = ?",
}

SEEN = 100_000
"""How many keys of messages are remembered, to spare the store what it has."""

SHOWN_AFTER_S = 0.05
"""A run that has begun, but has paid for nothing yet, is on the disk within this time."""

_encode = msgspec.json.Encoder().encode
_decode_event = msgspec.json.Decoder(Event).decode
_decode_parts = msgspec.json.Decoder(tuple[Part, ...]).decode
_decode_tokens = msgspec.json.Decoder(NodeTokens).decode


def home() -> Path:
    """Where a project keeps its runs: `MOTET_HOME`, or `.motet` in the working folder."""
    return Path(os.environ.get("MOTET_HOME") or ".motet")


def project_store() -> "Store":
    """The store of the project in the working folder; opened once a process."""
    return _open_once((home() / "tape.db").absolute())


@lru_cache(maxsize=8)
def _open_once(path: Path) -> "Store":
    return Store(path)


class Store:
    """Tapes in an SQLite file.

    Args:
        path: the file; made, with its folder, if it is missing. `:memory:` keeps it in memory.
        readonly: open an existing file without ever writing to it.
        busy_s: how long to wait for another process that is writing, in seconds.

    Raises:
        StoreCorrupt, StoreReadOnly, StoreBusy, StoreFull, StoreTooNew: at opening or at any use.
    """

    def __init__(self, path: str | Path, *, readonly: bool = False, busy_s: float = 10.0) -> None:
        self.path = Path(path)
        self._pending: dict[str, list[tuple[Any, ...]]] = {table: [] for table in INSERTS}
        self._seen: set[str] = set()
        self._soon = False
        self._broken: StoreError | None = None
        with self._guard():
            self._db = self._connect(readonly, busy_s)
            self._migrate(readonly)

    @classmethod
    def memory(cls) -> "Store":
        """A store that lives as long as this object."""
        return cls(":memory:")

    def _connect(self, readonly: bool, busy_s: float) -> "sqlite3.Connection":
        import sqlite3

        if str(self.path) == ":memory:":
            return sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        if readonly and not self.path.exists():
            raise StoreError(f"there is no store at {self.path}; `motet run` makes one")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreReadOnly(f"cannot make the folder {self.path.parent}: {error.strerror}") from error
        mode = "ro" if readonly else "rwc"
        db = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}", uri=True, timeout=busy_s, isolation_level=None,
            check_same_thread=False,
        )  # fmt: skip
        if not readonly:
            for setting in SETTINGS:
                db.execute(f"PRAGMA {setting}")
        return db

    def _migrate(self, readonly: bool) -> None:
        version = self._db.execute("PRAGMA user_version").fetchone()[0]
        if version > len(MIGRATIONS):
            raise StoreTooNew(
                f"{self.path} has schema {version}, this Motet reads up to {len(MIGRATIONS)}: upgrade Motet"
            )
        if version == len(MIGRATIONS) or readonly:
            return
        if version == 0 and self._db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise StoreCorrupt(
                f"{self.path} is an SQLite file, but not a store of Motet's; it was left as it is"
            )
        for number, script in enumerate(MIGRATIONS[version:], version + 1):
            with suppress(_AlreadyDone):
                self._apply(number, script)

    def _apply(self, number: int, script: str) -> None:
        """Bring the schema to `number` in one transaction, unless another process just did."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            if self._db.execute("PRAGMA user_version").fetchone()[0] >= number:
                raise _AlreadyDone
            for statement in script.split(";"):
                self._db.execute(statement)
            self._db.execute(f"PRAGMA user_version = {number}")
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # Writing: the recorder's side.

    def put_event(self, run: str, seq: int, event: Event) -> None:
        """Append an event to a run, to be written at the end of this tick; a beginning may wait a little."""
        key = None
        if isinstance(event, Called):
            key = event.key if event.failure is None and not event.cached else None
        elif isinstance(event, Started):
            self._put("runs", (run, event.team, event.at, event.item or None))
            with suppress(RuntimeError):  # no loop: whoever puts flushes
                asyncio.get_running_loop().call_later(SHOWN_AFTER_S, self._flush_in_loop)
        elif isinstance(event, Ended):
            self._put("ended", (run,))
        self._put("events", (run, seq, key, _encode(event)))
        if not isinstance(event, Started):
            self._flush_soon()

    def put_node(self, node: Node) -> None:
        """Keep a message, once; it is written with the next event."""
        if node.key not in self._seen:
            if len(self._seen) > SEEN:
                self._seen.clear()
            self._seen.add(node.key)
            self._put("nodes", (node.key, node.parent, node.role, _encode(node.parts)))

    def put_tokens(self, tokens: NodeTokens) -> None:
        """Keep the ids of a node; they are written with the next event."""
        self._put("tokens", (tokens.node, tokens.tokenizer, _encode(tokens)))

    def put_blob(self, media: Media) -> None:
        """Keep the bytes of a media part, once; they are written with the next event."""
        self._put("blobs", (media.digest, media.media_type, media.data))

    def _put(self, table: str, row: tuple[Any, ...]) -> None:
        self.check()
        self._pending[table].append(row)

    def _flush_soon(self) -> None:
        """Write at the end of this tick: something was paid for."""
        if self._soon:
            return
        try:
            asyncio.get_running_loop().call_soon(self._flush_in_loop)
            self._soon = True
        except RuntimeError:
            self.flush()

    def _flush_in_loop(self) -> None:
        # The failure is raised by the next call's check(), where somebody can act on it.
        with suppress(StoreError):
            self.flush()

    def flush(self) -> None:
        """Write what is pending, in one transaction."""
        self._soon = False
        self.check()
        if not any(self._pending.values()):
            return
        try:
            self._db.execute("BEGIN IMMEDIATE")
            for table, rows in self._pending.items():
                if rows:
                    self._db.executemany(INSERTS[table], rows)
                    rows.clear()
            self._db.execute("COMMIT")
        except self._db.Error as error:
            self._broken = _store_error(error, self.path)
            with suppress(self._db.Error):
                self._db.execute("ROLLBACK")
            raise self._broken from error

    def check(self) -> None:
        """Raise if the store can no longer keep what happens."""
        if self._broken:
            raise self._broken

    def close(self) -> None:
        """Write what is pending and let go of the file."""
        if not self._broken and any(self._pending.values()):
            self.flush()
        self._db.close()

    # Reading.

    def recall(self, key: str) -> Reply | None:
        """The reply recorded under a call's key, or None."""
        rows = self._read("SELECT run, body FROM events WHERE key = ? LIMIT 1", key)
        if not rows:
            return None
        run, called = rows[0][0], _decode_event(rows[0][1])
        assert isinstance(called, Called)
        node, of, blob = self._node(called.node), Media.of, self.blob
        parts = (of(blob(p.digest), p.media_type, p.name) if isinstance(p, Media) else p for p in node.parts)
        return Reply(
            message=Message(node.role, tuple(parts)),
            stop=called.stop,
            usage=called.usage,
            model=called.answered_by,
            version=called.version,
            tokens=self._tokens(called),
            cost=called.cost,
            run=run,
            call=called.id,
            latency_s=called.latency_s,
            cached=True,
        )

    def _node(self, key: str) -> Node:
        rows = self._read("SELECT parent, role, parts FROM nodes WHERE key = ?", key)
        if not rows:
            raise StoreCorrupt(f"{self.path}: message {key} is missing")
        parent, role, parts = rows[0]
        return Node(key, parent, role, _decode_parts(parts))

    def _tokens(self, called: Called) -> Tokens | None:
        rows = self._read("SELECT body FROM tokens WHERE node = ? LIMIT 1", called.node)
        if not rows:
            return None
        own = _decode_tokens(rows[0][0])
        prompt = self._path_ids(own.base, own.tokenizer)
        sampled = len(own.logprobs) if not own.base and own.logprobs else len(own.ids)
        cut = len(own.ids) - sampled
        return Tokens(own.tokenizer, prompt + own.ids[:cut], own.ids[cut:], own.logprobs)

    def _path_ids(self, node: str, tokenizer: str) -> tuple[int, ...]:
        pieces: list[tuple[int, ...]] = []
        while node:
            rows = self._read("SELECT body FROM tokens WHERE node = ? AND tokenizer = ?", node, tokenizer)
            piece = _decode_tokens(rows[0][0])
            pieces.append(piece.ids)
            node = piece.base
        return tuple(i for piece in reversed(pieces) for i in piece)

    def load(self, run: str) -> Tape:
        """Read one run back. A unique beginning of its id is enough; `last` is the newest run.

        Raises:
            UnknownName: there is no such run, or the beginning fits several.
        """
        run = self._full_id(run)
        events = [
            _decode_event(body)
            for (body,) in self._read("SELECT body FROM events WHERE run = ? ORDER BY seq", run)
        ]
        tape = Tape(run, events)
        named = [key for called in tape.calls for key in (called.prompt, called.node)]
        for key in (*map(long_knob, tape.started.knobs.values()), *named):
            self._load_path(tape, key)
        return tape

    def _full_id(self, run: str) -> str:
        if run == "last":
            rows = self._read("SELECT id FROM runs ORDER BY at DESC, id DESC LIMIT 1")
        else:
            rows = self._read("SELECT id FROM runs WHERE substr(id, 1, ?) = ? LIMIT 20", len(run), run)
        found = [r[0] for r in rows]
        if len(found) == 1 or run in found:
            return run if run in found else found[0]
        if found:
            raise BadInput(f"{run!r} begins the names of several runs: {', '.join(found)}; write more of it")
        newest = self._read("SELECT id FROM runs ORDER BY at DESC LIMIT 200")
        raise UnknownName("run", run, [r[0] for r in newest])

    def _load_path(self, tape: Tape, key: str) -> None:
        while key and key not in tape.nodes:
            tape.nodes[key] = self._node(key)
            for (body,) in self._read("SELECT body FROM tokens WHERE node = ?", key):
                tokens = _decode_tokens(body)
                tape.tokens[key, tokens.tokenizer] = tokens
            key = tape.nodes[key].parent

    def blob(self, digest: str) -> bytes:
        """The bytes of a media part."""
        rows = self._read("SELECT data FROM blobs WHERE digest = ?", digest)
        if not rows:
            raise UnknownName("blob", digest, [])
        return bytes(rows[0][0])

    def runs(self, limit: int = 50) -> list[Tape]:
        """The newest runs, newest first, with what began and ended them and their marks only."""
        rows = self._read("SELECT id FROM runs ORDER BY at DESC, id DESC LIMIT ?", limit)
        query = """SELECT body FROM events WHERE run = ? AND (seq = 0 OR CAST(substr(body, 1, 15) AS TEXT)
                   IN ('{"type":"ended"', '{"type":"score"')) ORDER BY seq"""
        return [Tape(run, [_decode_event(body) for (body,) in self._read(query, run)]) for (run,) in rows]

    def finished(self, item: str) -> str | None:
        """Id of the newest run that ended for this item key, or None."""
        rows = self._read("SELECT id FROM runs WHERE item = ? AND ended ORDER BY at DESC LIMIT 1", item)
        return rows[0][0] if rows else None

    def _read(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        if any(self._pending.values()):
            self.flush()
        with self._guard():
            return self._db.execute(query, values).fetchall()

    @contextmanager
    def _guard(self) -> Iterator[None]:
        """The boundary at which SQLite's errors become ours."""
        import sqlite3

        try:
            yield
        except sqlite3.Error as error:
            raise _store_error(error, self.path) from error


class _AlreadyDone(Exception):
    """Another process migrated the store first."""


_KINDS: tuple[tuple[str, type[StoreError], str], ...] = (
    ("full", StoreFull, "no room is left on the disk; free some and run again, what was kept is safe"),
    ("disk i/o", StoreFull, "the disk cannot be written; what was kept is safe"),
    ("readonly", StoreReadOnly, "the store or its folder cannot be written; set MOTET_HOME to one that can"),
    (
        "unable to open",
        StoreReadOnly,
        "the store cannot be opened; set MOTET_HOME to a folder that can be written",
    ),
    ("locked", StoreBusy, "another process is holding the store; wait for it, or set another MOTET_HOME"),
    ("malformed", StoreCorrupt, "the store is damaged and was left as it is; move it away or restore a copy"),
    ("not a database", StoreCorrupt, "this is not a store of Motet's and was left as it is; move it away"),
)


def _store_error(error: "sqlite3.Error", path: Path) -> StoreError:
    words = str(error)
    for sign, kind, advice in _KINDS:
        if sign in words.lower():
            return kind(f"{path}: {words}: {advice}")
    return StoreError(f"{path}: {words}")
