"""CHASE-SQL on real databases: three ways to a query, repair by running, and the choice two by two."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st
from method_runs import edges, noise, play, play_all, said_to
from sql_items import items

from motet import Task
from motet.answers import canonical, extract, gold_reply
from motet.errors import BadInput
from motet.evals.scorers import scorer
from motet.evals.suite import load_suite
from motet.methods import chase_sql, direct
from motet.methods.code.sql_desk import desk
from motet.models.scripted import Line, Scripted
from motet.models.sim import wrong_answer
from motet.tools.database import database_of, same_rows
from motet.train.builders.sql_selection import sql_selection
from motet.types import Message, Reply, Sampling

SCRIPT = """CREATE TABLE pet (name TEXT, kind TEXT, age INTEGER);
INSERT INTO pet VALUES ('Rex', 'dog', 3), ('Tom', 'cat', 5), ('Kit', 'cat', 1);"""
CATS = Task(
    "How many pets are a cat?",
    target="SELECT COUNT(*) FROM pet WHERE kind = 'cat'",
    kind="sql",
    meta={"database": SCRIPT},
)
RIGHT = f"```sql\n{CATS.target}\n```"
WRONG = "```sql\nSELECT COUNT(*) FROM pet\n```"
TYPO = "```sql\nSELECT COUNT(*) FORM pet WHERE kind = 'cat'\n```"


def marks(task: Task, answer: str) -> float:
    return asyncio.run(scorer("by_kind")(task, answer)).value


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("So:\n```sql\nSELECT a  -- the first\nFROM t;\n```", "SELECT a FROM t"),
        ("```\nSELECT 1\n```\nbut better\n```sql\nSELECT 2\n```", "SELECT 2"),
        ("Answer: SELECT a FROM t WHERE b = 'x;  y';", "SELECT a FROM t WHERE b = 'x;  y'"),
        ("I think\nselect a\nfrom t;\nis right.", "select a from t"),
        ("WITH p AS (SELECT 1) SELECT * FROM p", "WITH p AS (SELECT 1) SELECT * FROM p"),
        ("With that in mind, we select nothing.", None),
        ("```python\nprint(1)\n```", None),
        ("", None),
    ],
)
def test_a_query_is_read_out_of_a_reply(text: str, query: str | None) -> None:
    assert extract(CATS, text) == query


@given(st.text("SELCT selct'\";-\n *(a)", max_size=40))
def test_reading_a_query_again_changes_nothing(text: str) -> None:
    query = extract(CATS, f"```sql\nSELECT {text}\n```")
    assert query is None or canonical(CATS, query) == query


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        (RIGHT, 1),
        ("SELECT COUNT(*) AS n FROM pet WHERE kind LIKE 'c%'", 1),
        (WRONG, 0),
        (TYPO, 0),
        ("DROP TABLE pet", 0),
        ("no query", 0),
    ],
)
def test_the_scorer_marks_by_execution(answer: str, value: float) -> None:
    assert marks(CATS, answer) == value


def test_order_counts_only_where_it_was_asked_for() -> None:
    read = database_of(CATS).query
    up, down = read("SELECT name FROM pet ORDER BY age"), read("SELECT name FROM pet ORDER BY age DESC")
    assert same_rows(up, down, "SELECT name FROM pet")
    assert not same_rows(up, down, "SELECT name FROM pet ORDER BY age")
    assert same_rows(up, down, "SELECT * FROM (SELECT name FROM pet ORDER BY age)")
    twice = read("SELECT kind FROM pet WHERE kind = 'cat'")
    assert not same_rows(twice, read("SELECT DISTINCT kind FROM pet WHERE kind = 'cat'"), "")


@pytest.mark.parametrize(
    "database", [None, "", 7, "nowhere.sqlite", "CREATE TABLE t (", "CREATE TABLE t (a); ATTACH 'x.db' AS x;"]
)
def test_an_item_without_a_usable_database_is_refused(database: object) -> None:
    with pytest.raises(BadInput):
        play(
            chase_sql.cast("sim:skill=1"),
            Task("?", target="SELECT 1", kind="sql", meta={"database": database}),
        )


def test_a_voice_is_shown_the_tables_and_the_values_of_the_question() -> None:
    shown = desk(CATS).question.text
    assert "CREATE TABLE pet" in shown and "pet.kind: 'cat'" in shown and "dog" not in shown
    quoted = Task(
        "Is O'Hara in?",
        kind="sql",
        meta={"database": "CREATE TABLE p (n TEXT); INSERT INTO p VALUES ('O''Hara');"},
    )
    assert "p.n: 'O''Hara'" in desk(quoted).question.text


def test_a_duckdb_file_will_do_as_well(tmp_path: Path) -> None:
    path = tmp_path / "pets.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(SCRIPT)
    task = Task(CATS.prompt, target=CATS.target, kind="sql", meta={"database": str(path)})
    assert "DuckDB" in desk(task).question.text and "pet.kind: 'cat'" in desk(task).question.text
    run = play(chase_sql.cast("sim:skill=0.5,judge=1"), task)
    assert marks(task, run.answer) == 1


def test_three_ways_lead_to_candidates_and_pairs_are_compared_in_both_orders() -> None:
    generator = Scripted(
        [
            Line(WRONG, match="Divide"),
            Line(RIGHT, match="Think like"),
            Line("Some examples.", match="Make up"),
            Line(WRONG, match="Examples:"),
        ]
    )
    selector = lambda said: '{"best": %d}' % (1 if said.index("= 'cat'") < said.index("Candidate 2") else 2)  # noqa: UP031, E731
    run = play(chase_sql.cast(generator=generator, fixer="sim:fail=1", selector=selector), CATS)
    spoke = Counter(voice for voice, _ in edges(run))
    assert spoke == {"generator": 5, "selector": 4}
    ids = [call.id for call in run.calls]
    parents = dict(zip(ids, (p for _, p in edges(run)), strict=True))
    by_examples = next(
        i for i in ids if len(parents[i]) == 2 and run.calls[ids.index(i)].voice == "generator"
    )
    compared = [parents[c.id] for c in run.calls if c.voice == "selector"]
    assert len(set(compared)) == 4 and all(pair[::-1] in compared for pair in compared)
    assert by_examples in {i for pair in compared for i in pair}
    assert run.answer == RIGHT


def test_two_votes_for_the_wrong_query_are_outvoted_by_comparisons_but_an_idle_selector_lets_them_win() -> (
    None
):
    generator = [Line(RIGHT, match="Divide"), Line(WRONG, match="Think like"), Line(WRONG)]
    generator += [Line(WRONG, match=".")]
    for selector, answer in [("sim:judge=1", RIGHT), ("sim:fail=1", WRONG)]:
        run = play(
            chase_sql.cast(generator=Scripted(generator), fixer="sim:skill=1", selector=selector), CATS
        )
        assert run.answer == answer


def test_the_fixer_is_told_the_error_and_recovers_from_it() -> None:
    fixer = Scripted([Line(RIGHT, match='near "pet": syntax error')])
    run = play(chase_sql.cast(generator=lambda _: TYPO, fixer=fixer, selector="sim:judge=1"), CATS)
    assert marks(CATS, run.answer) == 1
    assert [voice for voice, _ in edges(run)].count("fixer") == 3
    without = play(
        chase_sql(beta=0).cast(generator=lambda _: TYPO, fixer=fixer, selector="sim:judge=1"), CATS
    )
    assert marks(CATS, without.answer) == 0


def test_a_query_that_finds_nothing_is_sent_back_too() -> None:
    empty = "```sql\nSELECT name FROM pet WHERE kind = 'Cat'\n```"
    run = play(
        chase_sql(beta=1).cast(generator=lambda _: empty, fixer=lambda _: RIGHT, selector="sim:judge=1"), CATS
    )
    assert run.answer == RIGHT
    assert "[no rows]" in said_to(run, "fixer")[0]


def test_a_repair_that_does_not_run_does_not_replace_a_query_that_does() -> None:
    empty = "```sql\nSELECT name FROM pet WHERE kind = 'Cat'\n```"
    fixer = Scripted([Line(error="server", match="FORM pet"), Line(TYPO, match=".")])
    run = play(chase_sql.cast(generator=lambda _: empty, fixer=fixer, selector="sim:judge=1"), CATS)
    assert run.answer == empty
    assert "FORM pet" in said_to(run, "fixer")[-1], "a repair begins with what came of the last one"


def test_a_query_is_mended_while_others_are_still_written() -> None:
    mended = asyncio.Event()

    async def writes(said: str) -> str:
        if "Make up" in said:
            await asyncio.wait_for(mended.wait(), 1)
        return TYPO

    def fixes(_: str) -> str:
        mended.set()
        return RIGHT

    run = play(chase_sql.cast(generator=writes, fixer=fixes, selector="sim:judge=1"), CATS)
    assert run.answer == RIGHT and len(said_to(run, "fixer")) == 3


def test_results_in_another_order_are_not_equal_where_a_query_sorts() -> None:
    names, turned = "SELECT name FROM pet", "SELECT name FROM (SELECT * FROM pet ORDER BY age)"
    task = Task("Which pets are there, the young first?", kind="sql", meta={"database": SCRIPT})
    tried = [
        asyncio.run(desk(task).run(Reply(message=Message.say("assistant", query))))
        for query in (f"{names} ORDER BY age", f"{names} ORDER BY age DESC", names, turned)
    ]
    rows = [[name for (name,) in t.rows or ()] for t in tried]
    assert rows == [
        ["Kit", "Rex", "Tom"],
        ["Tom", "Rex", "Kit"],
        ["Rex", "Tom", "Kit"],
        ["Kit", "Rex", "Tom"],
    ]
    same = [[a.same(b) for a in tried] for b in tried]
    assert same == [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 1]]


def test_the_selector_is_asked_which_order_is_right() -> None:
    gold = "SELECT name FROM pet ORDER BY age"
    up, down = (f"```sql\n{gold}{way}\n```" for way in ("", " DESC"))
    task = Task("Which pets are there, the young first?", target=gold, kind="sql", meta={"database": SCRIPT})
    generator = Scripted([Line(down, match="Divide"), Line(up, match="Think like"), Line(down, match=".")])
    run = play(chase_sql.cast(generator=generator, fixer="sim:fail=1", selector="sim:judge=1"), task)
    assert run.answer == up and len(said_to(run, "selector")) == 4


def test_queries_are_drawn_at_the_temperature_that_is_set() -> None:
    class Heard(Scripted):
        async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
            if "Make up" not in messages[-1].text:
                heard.append((n, sampling.temperature))
            return await super().sample(messages, n, sampling)

    heard: list[tuple[int, float | None]] = []
    play(chase_sql(n=2, temperature=0.3).cast("sim:judge=1", generator=Heard([Line(RIGHT, match=".")])), CATS)
    assert heard == [(2, 0.3)] * 3


def test_choice_by_pairs_beats_the_vote_and_stays_below_the_oracle() -> None:
    tasks = items(50)
    team = chase_sql(n=2, beta=0).cast(
        generator="sim:skill=0.35,wrong=2", fixer="sim:skill=0", selector="sim:judge=0.3"
    )
    runs = play_all(team, tasks)
    chosen = voted = oracle = 0.0
    for task, run in zip(tasks, runs, strict=True):
        drafted = [c for c in run.calls if c.voice == "generator"]
        asked = {c.id: run.tape.path(c.prompt)[-1].text for c in drafted}
        texts = [run.tape.path(c.node)[-1].text for c in drafted if "Make up" not in asked[c.id]]
        mark = {text: marks(task, text) for text in {*texts, run.answer}}
        chosen += mark[run.answer]
        voted += mark[Counter(texts).most_common(1)[0][0]]
        oracle += max(mark[text] for text in texts)
    n = len(tasks)
    assert voted / n + noise(0.5, n) / 3 < chosen / n <= oracle / n < 1


@pytest.mark.parametrize("voice", ["generator", "fixer", "selector"])
def test_it_ends_in_order_when_one_voice_fails(voice: str) -> None:
    cast = {"generator": "sim:skill=0.5", "fixer": "sim:skill=0.5", "selector": "sim:judge=0.5"}
    run = play(chase_sql.cast(**(cast | {voice: "sim:fail=1"})), CATS)
    assert run.ok is (voice != "generator")
    assert gold_reply(CATS) == RIGHT


def test_a_team_of_teams_finds_the_database_of_the_run() -> None:
    inner = chase_sql.cast("sim:skill=1,judge=1")
    assert marks(CATS, play(direct.cast(inner), CATS).answer) == 1


def test_simulated_voices_give_wrong_queries_that_run() -> None:
    wrong = wrong_answer(CATS, 1)
    assert extract(CATS, wrong) == wrong and marks(CATS, wrong) == 0


def test_an_item_of_a_suite_file_names_its_database(tmp_path: Path) -> None:
    row = {"prompt": CATS.prompt, "target": CATS.target, "kind": "sql", "database": SCRIPT}
    (tmp_path / "pets.jsonl").write_text(json.dumps(row))
    suite = load_suite(str(tmp_path / "pets.jsonl"))
    assert asyncio.run(suite.scorer(suite.tasks[0], RIGHT)).value == 1


def test_comparisons_of_right_with_wrong_become_tuning_data() -> None:
    team = chase_sql(n=2, beta=0).cast(
        generator="sim:skill=0.5,wrong=2", fixer="sim:skill=0", selector="sim:judge=0"
    )
    runs = play_all(team, items(12))
    built = sql_selection([run.tape for run in runs])
    assert built.counts["comparisons"] == len(built.sft) > 20
    assert {r.reason for r in built.rejected} == {"neither is right"}
    labels = Counter()
    for example in built.sft:
        (run,) = (r for r in runs if r.id == example.runs[0])
        candidates = re.findall(r"Candidate \d:\n```sql\n(.*?)\n```", example.messages[0].text, re.DOTALL)
        best = json.loads(example.messages[1].text)["best"]
        assert marks(run.tape.started.task, candidates[best - 1]) == 1
        assert marks(run.tape.started.task, candidates[2 - best]) == 0
        labels[best] += 1
    assert labels[1] == labels[2], "each pair is shown in both orders"
    assert [r.reason for r in sql_selection([play(direct.cast("sim:skill=1")).tape]).rejected] == [
        "no SQL item with a target"
    ]
