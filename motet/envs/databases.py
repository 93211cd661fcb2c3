"""SQLite databases as values: bytes in, bytes out, so that a world's state stays immutable."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from typing import Any

Row = tuple[Any, ...]


def make_database(schema: str, rows: dict[str, list[Row]]) -> bytes:
    """A database with this schema, filled."""
    with closing(sqlite3.connect(":memory:")) as db:
        db.executescript(schema)
        for table, values in rows.items():
            if values:
                db.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(values[0]))})", values)
        db.commit()
        return db.serialize()


def query(database: bytes, sql: str, values: Iterable[Any] = ()) -> list[Row]:
    """Rows of a query of our own; what a model writes goes through `motet.tools.sql_tool`."""
    with closing(restore(database)) as db:
        return db.execute(sql, tuple(values)).fetchall()


def change(database: bytes, sql: str, values: Iterable[Any] = ()) -> bytes:
    """The database after a statement of our own."""
    with closing(restore(database)) as db:
        db.execute(sql, tuple(values))
        db.commit()
        return db.serialize()


def dump(database: bytes) -> tuple[str, ...]:
    """The content as SQL: equal for equal content, however it came about."""
    with closing(restore(database)) as db:
        return tuple(db.iterdump())


def restore(database: bytes) -> sqlite3.Connection:
    """An open copy."""
    db = sqlite3.connect(":memory:")
    db.deserialize(database)
    return db
