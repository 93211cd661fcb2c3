"""A tool that reads a database, and can do nothing but read it.

SQLite is opened read-only under an authorizer that allows nothing but reading; DuckDB read-only, with
access to files and network switched off and its settings locked. Both stop after a time and a number of
rows.
"""

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from motet.errors import BadInput, MissingExtra, ToolError
from motet.tools.tool import FunctionTool, tool

if TYPE_CHECKING:
    import sqlite3

Rows = tuple[list[str], list[tuple[Any, ...]]]
Query = Callable[[str], Rows]  # gives one row more than wanted when there are more
STEPS = 1_000  # SQLite looks at the clock once in so many of its own instructions
CELL = 200  # characters shown of one value


def sql_tool(
    database: "str | Path | sqlite3.Connection", *, rows: int = 50, timeout_s: float = 5.0
) -> FunctionTool:
    """Make a tool named `sql` that answers queries over an SQLite or DuckDB database.

    Args:
        database: a file of either kind (told apart by its content), or an open SQLite connection, of which
            a copy is taken now.
        rows: how many rows the model is shown at most.
        timeout_s: seconds a query may take.

    Raises:
        BadInput: the file is neither, or is not there.
        MissingExtra: it is a DuckDB file and duckdb is not installed.
    """
    ask, dialect = open_database(database, rows + 1, timeout_s)
    tables = tables_of(ask, dialect)

    def sql(query: str) -> str:
        header, found = ask(query)
        more = f"\n[only the first {rows} rows are shown]" if len(found) > rows else ""
        return table(header, found[:rows]) + more

    description = f"Run one read-only SQL query ({dialect}) and read its rows. Tables:\n{tables}"
    return tool(name="sql", description=description)(sql)


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Rows as compact text: a header, then one row a line, cells divided by ` | `."""
    lines = [header, *([_cell(value) for value in row] for row in rows)]
    return "\n".join(" | ".join(line) for line in lines) + ("" if rows else "\n[no rows]")


def _cell(value: Any) -> str:
    text = "NULL" if value is None else str(value).replace("\n", "\\n")
    return text if len(text) <= CELL else text[:CELL] + "…"


def open_database(
    database: "str | Path | sqlite3.Connection", most: int, timeout_s: float
) -> tuple[Query, str]:
    """A function that answers queries with `most` rows at most, and the dialect it wants them in.

    Raises:
        BadInput: it is no database, or is not there. MissingExtra: duckdb is wanted and not installed.
    """
    if not isinstance(database, (str, Path)):
        content = database.serialize()
        return _sqlite(lambda: _restore(content), most, timeout_s), "SQLite"
    path = Path(database).resolve()
    try:
        with path.open("rb") as file:
            head = file.read(16)
    except OSError as error:
        raise BadInput(
            f"{str(database)!r} cannot be read: {error.strerror}; expected a database file"
        ) from error
    if head == b"SQLite format 3\0":
        return _sqlite(lambda: _connect(path), most, timeout_s), "SQLite"
    if head[8:12] == b"DUCK":
        return _duckdb(path, most, timeout_s), "DuckDB"
    raise BadInput(f"{str(database)!r} begins with {head!r}; expected an SQLite or DuckDB file")


def _connect(path: Path) -> "sqlite3.Connection":
    import sqlite3

    return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)


def _restore(content: bytes) -> "sqlite3.Connection":
    import sqlite3

    connection = sqlite3.connect(":memory:")
    connection.deserialize(content)
    return connection


def _sqlite(connect: Callable[[], "sqlite3.Connection"], most: int, timeout_s: float) -> Query:
    import sqlite3

    allowed = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}

    def authorize(action: int, first: str | None, second: str | None, *_: str | None) -> int:
        harmless = action in allowed and second != "load_extension"
        return sqlite3.SQLITE_OK if harmless else sqlite3.SQLITE_DENY

    def ask(query: str) -> Rows:
        with closing(connect()) as connection:
            deadline = time.monotonic() + timeout_s
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 10_000_000)
            connection.set_authorizer(authorize)
            connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
            try:
                cursor = connection.execute(query)
                found = cursor.fetchmany(most)
            except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
                if time.monotonic() > deadline:
                    raise ToolError(f"the query took more than {timeout_s:g} s; ask for less") from error
                raise ToolError(f"{error} (only SELECT is allowed): {query!r}") from error
            if cursor.description is None:
                raise ToolError(f"expected one SELECT, got {query!r}")
            return [column[0] for column in cursor.description], found

    return ask


def _duckdb(path: Path, most: int, timeout_s: float) -> Query:
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtra("duckdb", "tools") from error
    config: dict[str, Any] = {"enable_external_access": False, "lock_configuration": True}

    def ask(query: str) -> Rows:
        try:
            with closing(duckdb.connect(path, read_only=True, config=config)) as connection:
                kinds = [statement.type for statement in connection.extract_statements(query)]
                if kinds != [duckdb.StatementType.SELECT]:
                    raise ToolError(f"expected one SELECT, got {[kind.name for kind in kinds]}: {query!r}")
                # The timer stands until the rows are fetched, since DuckDB works while they are.
                timer = threading.Timer(timeout_s, connection.interrupt)
                timer.start()
                try:
                    found = connection.execute(query).fetchmany(most)
                    return [column[0] for column in connection.description or ()], found
                finally:
                    timer.cancel()
                    timer.join()
        except duckdb.InterruptException as error:
            raise ToolError(f"the query took more than {timeout_s:g} s; ask for less") from error
        except duckdb.Error as error:
            raise ToolError(f"{error}: {query!r}") from error

    return ask


def tables_of(ask: Query, dialect: str) -> str:
    """The tables of a database as the statements that made them, one a line."""
    if dialect == "SQLite":
        _, found = ask("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND type IN ('table', 'view')")
        return "\n".join(" ".join(row[0].split()) for row in found)
    _, found = ask(
        "SELECT table_name || '(' || string_agg(column_name || ' ' || data_type, ', ' "
        "ORDER BY ordinal_position) || ')' "
        "FROM information_schema.columns GROUP BY table_schema, table_name ORDER BY 1"
    )
    return "\n".join(row[0] for row in found)
