"""The database that an SQL item is about: its tables, its rows, and whether two queries give the same.

`task.meta["database"]` is a script of CREATE and INSERT statements, or the path of an SQLite or DuckDB file.
"""

import re
import time
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from motet.errors import BadInput, ToolError
from motet.tools.sql import Query, Rows, open_database, tables_of
from motet.types import Task

if TYPE_CHECKING:
    import sqlite3

MOST = 10_000  # rows of a result that are compared
SECONDS = 5.0
VALUES = 3  # shown of one column


@dataclass(frozen=True)
class Database:
    """A database that can only be read.

    Args:
        query: gives header and rows of one SELECT; raises ToolError.
        tables: the statements that made its tables.
        dialect: `SQLite` or `DuckDB`.
    """

    query: Query
    tables: str
    dialect: str

    def values_in(self, question: str) -> str:
        """The cells whose text occurs in a question, a column a line: `book.genre: 'crime', 'poetry'`.

        A column that cannot be searched in time is left out.
        """
        said = question.lower().replace("'", "''")
        lines = []
        for (name,) in self.query("SELECT name FROM sqlite_master WHERE type = 'table'")[1]:
            for column in self.query(f"SELECT * FROM {_quoted(name)} LIMIT 0")[0]:
                text = f"CAST({_quoted(column)} AS VARCHAR)"
                try:
                    _, found = self.query(
                        f"SELECT DISTINCT {text} FROM {_quoted(name)} "
                        f"WHERE length({text}) > 2 AND instr('{said}', lower({text})) > 0 "
                        f"ORDER BY 1 LIMIT {VALUES}"
                    )
                except ToolError:
                    continue
                if found:
                    cells = (cell.replace("'", "''") for (cell,) in found)
                    lines.append(f"{name}.{column}: " + ", ".join(f"'{cell}'" for cell in cells))
        return "\n".join(lines)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def database_of(task: Task) -> Database:
    """The database of an SQL item.

    Raises:
        BadInput: the item names none, or it cannot be opened.
    """
    source = task.meta.get("database")
    if not isinstance(source, str) or not source.strip():
        raise BadInput(
            f"meta['database'] of item {task.id!r} is {source!r}; expected a script of CREATE and INSERT "
            "statements, or the path of an SQLite or DuckDB file"
        )
    return _opened(source)


def same_rows(found: Rows, wanted: Rows, query: str) -> bool:
    """Whether two results hold the same rows, as often; in the same order too when `query` sorts.

    Names of columns are free.
    """
    if sorts(query):
        return found[1] == wanted[1]
    return Counter(map(repr, found[1])) == Counter(map(repr, wanted[1]))


def sorts(query: str) -> bool:
    """Whether a query asks for an order of its rows.

    >>> sorts("SELECT a FROM t ORDER BY lower(a)"), sorts("SELECT a FROM (SELECT a FROM t ORDER BY a)")
    (True, False)
    """
    return re.search(r"(?i)\border\s+by\b(?![^(]*\))", query) is not None


@lru_cache(maxsize=64)
def _opened(source: str) -> Database:
    if re.search(r"(?i)\bcreate\b", source):
        with closing(_built(source)) as connection:
            ask, dialect = open_database(connection, MOST, SECONDS)
    else:
        ask, dialect = open_database(source, MOST, SECONDS)
    return Database(ask, tables_of(ask, dialect), dialect)


def _built(script: str) -> "sqlite3.Connection":
    """An SQLite database in memory that a script made, without touching any file."""
    import sqlite3

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        outside = action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH) or second == "load_extension"
        return sqlite3.SQLITE_DENY if outside else sqlite3.SQLITE_OK

    connection = sqlite3.connect(":memory:")
    deadline = time.monotonic() + SECONDS
    connection.set_authorizer(authorize)
    connection.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
    try:
        connection.executescript(script)
    except sqlite3.Error as error:
        connection.close()
        raise BadInput(
            f"the script of the database does not run: {error}; it begins {script[:80]!r}"
        ) from error
    return connection
