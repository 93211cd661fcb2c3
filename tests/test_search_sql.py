"""Search and SQL: what is found, and what cannot be done."""

import asyncio
import sqlite3
import time

import duckdb
import pytest

from motet.errors import BadInput, ToolError
from motet.tools import check_tool, search_tool, sql_tool
from motet.tools.search import excerpt

NOTES = {
    "cats.md": "The cat is a small carnivorous mammal. " * 5,
    "deep/bees.txt": "Filler words here. " * 60 + "Bees make honey in a hive. " + "More filler. " * 60,
    "deep/empty.txt": "",
    "photo.png": "honey honey honey",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in NOTES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return tmp_path


def ask(tool, query):
    return asyncio.run(tool({"query": query}))


def test_search_finds_the_document_and_shows_the_place(folder, capfd):
    search = search_tool(folder, k=2, characters=120)
    answer = ask(search, "honey bees")
    assert answer.startswith("[1] deep/bees.txt (score ")
    assert "Bees make honey" in answer
    assert "photo.png" not in answer and "[2]" not in answer
    assert capfd.readouterr() == ("", "")
    asyncio.run(check_tool(search, {"query": "cat"}))


@pytest.mark.parametrize("query", ["zebra", "", "the", "???"])
def test_search_without_a_match_says_so(folder, query):
    assert "no documents match" in ask(search_tool(folder), query)


def test_search_over_texts_and_titles():
    assert ask(search_tool(["red apple", "green pear"]), "pear").startswith("[1] document 2")
    assert ask(search_tool([("Fruit", "red apple"), ("Sky", "blue")], k=9), "apple").startswith("[1] Fruit")


def test_search_ranks_by_relevance():
    answer = ask(search_tool(["gold", "gold silver", "gold silver silver", "tin"], k=2), "silver")
    assert [line[:14] for line in answer.splitlines() if line.startswith("[")] == [
        "[1] document 3",
        "[2] document 2",
    ]


@pytest.mark.parametrize("documents", [[], [""], "/no/such/folder"])
def test_search_needs_documents(documents):
    with pytest.raises(BadInput):
        search_tool(documents)


def test_excerpts_are_bounded():
    assert len(excerpt("word " * 1000, "word", 100)) <= 104
    assert excerpt("short", "x", 100) == "short"


ROWS = [(i, f"name{i}" if i else None) for i in range(5)]


@pytest.fixture(params=["sqlite", "connection", "duckdb"])
def database(request, tmp_path):
    path = tmp_path / "data base.db"
    connection = duckdb.connect(path) if request.param == "duckdb" else sqlite3.connect(path)
    connection.execute("CREATE TABLE people (id INTEGER, name TEXT)")
    connection.executemany("INSERT INTO people VALUES (?, ?)", ROWS)
    connection.commit()
    if request.param == "connection":
        yield connection
        connection.close()
    else:
        connection.close()
        yield path


def test_sql_reads(database):
    sql = sql_tool(database, rows=3)
    assert (
        ask(sql, "SELECT id, name FROM people WHERE id < 2 ORDER BY id") == "id | name\n0 | NULL\n1 | name1"
    )
    assert ask(sql, "SELECT * FROM people").endswith("\n[only the first 3 rows are shown]")
    assert ask(sql, "SELECT id FROM people WHERE id > 99") == "id\n[no rows]"
    assert ask(sql, "WITH p AS (SELECT count(*) AS n FROM people) SELECT n FROM p") == "n\n5"
    assert "people" in sql.spec.description and "name" in sql.spec.description
    asyncio.run(check_tool(sql, {"query": "SELECT 1"}))


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO people VALUES (9, 'x')",
        "DELETE FROM people",
        "DROP TABLE people",
        "CREATE TABLE t (x INTEGER)",
        "CREATE TEMP TABLE t (x INTEGER)",
        "SELECT 1; DROP TABLE people",
        "ATTACH '{other}' AS other",
        "PRAGMA query_only = off",
        "VACUUM",
        "SELECT load_extension('x')",
        "COPY people TO '{other}'",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "EXPLAIN ANALYZE DELETE FROM people",
        "SELEKT",
        "",
    ],
)
def test_sql_does_nothing_but_read(database, tmp_path, query):
    other = tmp_path / "other.db"
    sql = sql_tool(database)
    with pytest.raises(ToolError):
        ask(sql, query.format(other=other))
    assert not other.exists()
    assert ask(sql, "SELECT count(*) AS n FROM people") == "n\n5"


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c"


def test_sql_stops_a_long_query(database):
    started = time.monotonic()
    with pytest.raises(ToolError, match=r"more than 0\.1 s"):
        ask(sql_tool(database, timeout_s=0.1), ENDLESS)
    assert time.monotonic() - started < 2


def test_sql_works_from_any_thread_at_once(database):
    sql = sql_tool(database)

    async def many():
        return await asyncio.gather(*(sql({"query": f"SELECT {i} AS i"}) for i in range(8)))

    assert asyncio.run(many()) == [f"i\n{i}" for i in range(8)]


def test_long_values_are_cut(database):
    answer = ask(sql_tool(database), "SELECT replace(printf('%1000d', 1), ' ', 'x') AS s")
    assert len(answer) < 300


@pytest.mark.parametrize("content", [b"", b"hello, this is not a database", None])
def test_sql_says_what_it_needs(tmp_path, content):
    path = tmp_path / "x.db"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadInput, match=r"x\.db"):
        sql_tool(path)
