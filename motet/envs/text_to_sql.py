"""Questions on a generated SQLite database, answered with SQL (catalogue 93).

One seat may look at the data with read-only queries and ends with `ANSWER: SELECT …`. Reward 1 when the
rows of its answer are those of the gold query (in any order, unless an order was asked for), else 0.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Any, ClassVar

from msgspec import Struct

from motet.envs.databases import make_database, restore
from motet.errors import BadInput, ToolError
from motet.tools.sql import sql_tool

SCHEMA = """
CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT, country TEXT);
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT, author_id INTEGER REFERENCES author(id),
                   year INTEGER, pages INTEGER, genre TEXT);
CREATE TABLE loan (id INTEGER PRIMARY KEY, book_id INTEGER REFERENCES book(id), member TEXT, month INTEGER);
"""
NAMES = ("Adler", "Banda", "Costa", "Dube", "Eriksen", "Fischer", "Garcia", "Haddad", "Ito", "Jensen")
COUNTRIES = ("Chile", "Ghana", "India", "Japan", "Norway", "Peru")
GENRES = ("crime", "fantasy", "history", "poetry", "science")
NOUNS = ("River", "Winter", "Garden", "Mirror", "Harbour", "Letter", "Orchard", "Signal")
MEMBERS = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn")
QUESTIONS: tuple[tuple[str, str], ...] = (
    ("How many books are in the genre {genre}?", "SELECT COUNT(*) FROM book WHERE genre = '{genre}'"),
    (
        "Which books have more than {pages} pages? Give the titles.",
        "SELECT title FROM book WHERE pages > {pages}",
    ),
    (
        "Give the titles of the books by authors from {country}.",
        "SELECT b.title FROM book b JOIN author a ON a.id = b.author_id WHERE a.country = '{country}'",
    ),
    (
        "How many loans did each member take? Give the member and the number.",
        "SELECT member, COUNT(*) FROM loan GROUP BY member",
    ),
    (
        "Which authors have written more than one book? Give the names.",
        "SELECT a.name FROM author a JOIN book b ON a.id = b.author_id GROUP BY a.id HAVING COUNT(*) > 1",
    ),
    (
        "Give the titles of books that were never lent.",
        "SELECT title FROM book WHERE id NOT IN (SELECT book_id FROM loan)",
    ),
    (
        "Give the titles of the three longest books, longest first.",
        "SELECT title FROM book ORDER BY pages DESC LIMIT 3",
    ),
    (
        "Which genres did {member} borrow? Give each once.",
        "SELECT DISTINCT b.genre FROM loan l JOIN book b ON b.id = l.book_id WHERE l.member = '{member}'",
    ),
)
ANSWER = re.compile(r"\bANSWER\s*:\s*(.+)", re.IGNORECASE | re.DOTALL)
FENCE = re.compile(r"```(?:sql)?\s*(.*?)```", re.IGNORECASE | re.DOTALL)
SELECT = re.compile(r"\b(?:SELECT|WITH)\b.*", re.IGNORECASE | re.DOTALL)
LONGEST, ROWS = 2000, 200
BRIEF = """You answer a question on an SQLite database with one SELECT. The tables:
{schema}
You may look first: write a SELECT and you are shown its rows ({looks} times at most). To finish, write
"ANSWER: SELECT ..."; its rows are compared with the right ones."""


class Desk(Struct, frozen=True):
    """The database, the question with its gold query, and what was run so far with what it gave."""

    database: bytes
    question: str
    gold: str
    past: tuple[tuple[str, str], ...] = ()
    over: bool = False


@dataclass(frozen=True)
class TextToSql:
    """Rules of the desk.

    Args:
        books: rows of the largest table.
        looks: queries that may be run before the answer.
    """

    books: int = 20
    looks: int = 4
    seats: ClassVar[tuple[str, ...]] = ("analyst",)
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not 4 <= self.books <= len(NOUNS) * (len(NOUNS) - 1):
            raise BadInput(f"books is {self.books!r}; expected 4 to {len(NOUNS) * (len(NOUNS) - 1)}")

    def start(self, rng: Random) -> Desk:
        rows = _rows(rng, self.books)
        pages = sorted(row[4] for row in rows["book"])[self.books // 2]
        words = {
            "genre": rng.choice(GENRES),
            "pages": pages,
            "country": rng.choice(rows["author"])[2],
            "member": rng.choice(MEMBERS),
        }
        question, gold = (part.format(**words) for part in rng.choice(QUESTIONS))
        return Desk(make_database(SCHEMA, rows), question, gold)

    def brief(self, seat: str) -> str:
        return BRIEF.format(schema=SCHEMA.strip(), looks=self.looks)

    def acting(self, state: Desk) -> tuple[str, ...]:
        return () if state.over else self.seats

    def legal(self, state: Desk, seat: str) -> None:
        return None

    def read(self, state: Desk, seat: str, text: str) -> str | None:
        """`ANSWER: SELECT …` or `SELECT …`, out of prose and code fences."""
        final = ANSWER.search(text)
        body = final[1] if final else text
        fenced = FENCE.search(body)
        found = SELECT.search(fenced[1] if fenced else body)
        if not found or len(found[0]) > LONGEST:
            return None
        sql = found[0].strip().strip("`").rstrip(";").strip()
        return f"ANSWER: {sql}" if final else sql

    def sample(self, state: Desk, seat: str, rng: Random) -> str:
        table = rng.choice(("author", "book", "loan"))
        return f"{rng.choice(('', 'ANSWER: '))}SELECT * FROM {table} LIMIT 3"

    def text(self, state: Desk, seat: str) -> str:
        past = "".join(f"\n\n{sql}\n{result}" for sql, result in state.past)
        return f"{state.question}\nLooks left: {self.looks - len(state.past)}.{past}"

    def step(self, state: Desk, actions: Mapping[str, str]) -> tuple[Desk, dict[str, float]]:
        said = self.read(state, "analyst", actions["analyst"]) or ""
        sql = said.removeprefix("ANSWER: ")
        final = sql != said or len(state.past) >= self.looks
        past = (*state.past, (said, run(state.database, sql)))
        after = Desk(state.database, state.question, state.gold, past, final)
        return after, {"analyst": float(same_rows(state.database, sql, state.gold))} if final else {}

    def perfect(self, state: Desk, seat: str, rng: Random) -> str:
        return f"ANSWER: {state.gold}"


def run(database: bytes, sql: str) -> str:
    """The rows of a model's query as text, or the error it made."""
    try:
        return _reader(database)(sql)
    except ToolError as error:
        return f"Error: {error}"


def same_rows(database: bytes, sql: str, gold: str) -> bool:
    """Whether two queries give the same rows; order counts when the gold query sorts."""
    found, wanted = run(database, sql), run(database, gold)
    if found.startswith("Error: "):
        return False
    # The first line names the columns, which are free.
    mine, right = found.splitlines()[1:], wanted.splitlines()[1:]
    return mine == right if "ORDER BY" in gold else sorted(mine) == sorted(right)


@lru_cache(maxsize=64)
def _reader(database: bytes) -> Callable[[str], str]:
    with closing(restore(database)) as db:
        read: Callable[[str], str] = sql_tool(db, rows=ROWS).function
    return read


def _rows(rng: Random, books: int) -> dict[str, list[tuple[Any, ...]]]:
    authors = [(i, name, rng.choice(COUNTRIES)) for i, name in enumerate(rng.sample(NAMES, 8), 1)]
    titles = [f"The {a} of the {b}" for a in NOUNS for b in NOUNS if a != b]
    # Lengths differ, so "the three longest" has one answer.
    lengths = rng.sample(range(80, 900), books)
    shelf = [
        (i, title, rng.choice(authors)[0], rng.randint(1950, 2020), length, rng.choice(GENRES))
        for i, (title, length) in enumerate(zip(rng.sample(titles, books), lengths, strict=True), 1)
    ]
    loans = [(i, rng.randint(1, books), rng.choice(MEMBERS), rng.randint(1, 12)) for i in range(1, books + 1)]
    return {"author": authors, "book": shelf, "loan": loans}
