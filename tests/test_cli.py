"""The command line's contract: one JSON document, exit codes, teaching errors, lazy imports."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from motet.cli import SECTIONS, main
from motet.cli.words import configure, read_budget
from motet.errors import BadInput, UnknownName
from motet.teams import team

TEAM = '''
import motet

@motet.team
async def review(task, writer, critics: motet.Voices, *, rounds: int = 1):
    """Write and rewrite."""
    draft = await writer.ask(task)
    for _ in range(rounds):
        notes = await motet.ask_all(critics, "What is wrong?", task, draft)
        draft = await writer.ask("Rewrite.", task, draft, *notes)
    return draft

@motet.team
async def broken(task, writer):
    return {}["no such key"]
'''
SIM = ("--model", "sim:skill=1", "--target", "4", "--kind", "number")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project that holds a team of the user's own and two scripts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MOTET_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / "mine.py").write_text(TEAM)
    (tmp_path / "fails.jsonl").write_text('{"match": ".", "error": "timeout"}\n')
    (tmp_path / "slow.jsonl").write_text('{"reply": "one"}\n{"agent": "critics_1", "latency_s": 30}\n')
    return tmp_path


def motet(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, list(words), input=stdin)


def document(*words: str, code: int = 0, stdin: str | None = None):
    """The one JSON document on stdout; json.loads refuses anything beside it."""
    result = motet(*words, "--json", stdin=stdin)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_a_run_prints_its_answer_and_nothing_else_on_stdout():
    result = motet("run", "direct", "2+2?", *SIM)
    assert (result.exit_code, result.stdout) == (0, "I have thought about it.\nAnswer: 4\n")
    assert "solver" in result.stderr and "score 1" in result.stderr


def test_the_run_record_is_the_same_from_run_and_show():
    record = document("run", "direct", "2+2?", *SIM, "--seed", "3", "--budget", "tokens=900,calls=3")
    wanted = {"run", "method", "answer", "score", "calls", "usage", "cost", "budget", "wall_s", "seed"}
    assert wanted <= set(record)
    called = {
        "id",
        "agent",
        "model",
        "parents",
        "messages",
        "reply",
        "usage",
        "cost",
        "latency_s",
        "stop",
        "cached",
    }
    assert called <= set(record["calls"][0])
    assert (record["seed"], record["score"], record["budget"]) == (3, 1, {"calls": 3, "tokens": 900})
    assert document("show", "last") == document("show", record["run"][:-2]) == record


def test_a_failed_run_prints_its_record_and_exits_with_1():
    record = document("run", "direct", "2+2?", "--model", "scripted:fails.jsonl", "--target", "4", code=1)
    assert record["answer"] is None and record["error"]["kind"] == "timeout" and record["score"] == 0
    result = motet("run", "direct", "2+2?", "--model", "scripted:fails.jsonl")
    assert (result.exit_code, result.stdout) == (1, "") and "timeout" in result.stderr


def test_a_spent_budget_is_a_failure_of_the_run():
    record = document("run", "self_consistency", "2+2?", *SIM, "--set", "n=5", "--budget", "calls=2", code=1)
    assert record["error"]["kind"] == "budget"


def test_a_team_of_ones_own_with_a_group_and_stdin():
    words = ("run", "mine.py:review", "-", "--voice", "critics=sim:skill=1", "--voice", "critics=sim:skill=0")
    record = document(*words, *SIM, "--set", "rounds=2", stdin="2+2?")
    assert record["task"]["prompt"] == "2+2?"
    assert [call["agent"] for call in record["calls"]] == [
        "writer",
        *["critics_1", "critics_2", "writer"] * 2,
    ]
    assert record["calls"][3]["parents"] == ["1", "2", "3"]


def test_instructions_reach_the_voices():
    record = document("run", "direct", "2+2?", *SIM, "--system", "Be brief.")
    assert record["calls"][0]["messages"][0] == {"role": "system", "content": "Be brief."}


def test_reuse_replays_a_run_without_asking(home: Path):
    (home / "once.jsonl").write_text('"first"\n"second"\n"third"\n')
    words = ("run", "mine.py:review", "hm?", "--model", "scripted:once.jsonl")
    first, again = document(*words), document(*words, "--reuse")
    assert again["answer"] == first["answer"] == "third"
    assert all(call["cached"] for call in again["calls"]) and again["run"] != first["run"]


WRONG = {
    "no such command": ("frobnicate", "--json"),
    "no such method": ("run", "self_consistncy", "hi", "--json"),
    "no such option": ("run", "direct", "hi", "--json", "--modle", "x"),
    "no prompt": ("run", "direct", "--json"),
    "empty prompt": ("run", "direct", " ", "--json", *SIM),
    "no such knob": ("run", "self_consistency", "hi", "--set", "m=3", "--json"),
    "no such voice": ("run", "direct", "hi", "--voice", "x=local", "--json"),
    "a pair miswritten": ("run", "direct", "hi", "--voice", "solver", "--json"),
    "no such model": ("run", "direct", "hi", "--model", "gpt", "--json"),
    "no such limit": ("run", "direct", "hi", "--budget", "token=1", "--json"),
    "a limit below 0": ("run", "direct", "hi", "--budget", "tokens=-1", "--json"),
    "no such file": ("run", "other.py:review", "hi", "--json"),
    "no such team": ("run", "mine.py:revue", "hi", "--json"),
    "which team": ("run", "mine.py", "hi", "--json"),
    "no such kind": ("run", "direct", "hi", "--kind", "poem", "--json"),
    "no options": ("run", "direct", "hi", "--kind", "choice", "--choice", "a", "--json"),
    "no tests": ("run", "direct", "hi", "--kind", "code", "--target", "1", "--json"),
    "tests of no program": ("run", "direct", "hi", "--tests", "assert True", "--json"),
    "nothing to read": ("run", "direct", "hi", "--meta", "documents=@nowhere", "--json"),
    "no such field": ("run", "swe_search", "hi", "--set", 'tree={"ww": 2}', "--json"),
    "no such knob in a name": ("run", "debate:rounds=3", "hi", "--json"),
    "twice the same": ("compare", "debate", "debate", "--suite", "arithmetic", "--json"),
    "no such suite": ("compare", "direct", "--suite", "arithmatic", "--json"),
    "of which method": ("compare", "direct", "--suite", "arithmetic", "--set", "n=1", "--json"),
    "method not here": ("compare", "direct", "--suite", "arithmetic", "--set", "debate.n=1", "--json"),
    "voice not here": ("compare", "direct", "--suite", "arithmetic", "--voice", "x=local", "--json"),
    "two budgets": ("compare", "direct", "--suite", "arithmetic", "--equal", "calls", "--budget", "calls=1",
                    "--json"),
    "no such weights": ("models", "pull", "local:smollm", "--json"),
    "no method to tell of": ("methods", "dirct", "--json"),
}  # fmt: skip


@pytest.mark.parametrize("words", WRONG.values(), ids=WRONG.keys())
def test_wrong_words_exit_with_2_and_one_document(words: tuple[str, ...]):
    result = motet(*words)
    assert result.exit_code == 2, result.output
    error = json.loads(result.stdout)["error"]
    assert error["kind"] in ("usage", "bad_input", "unknown_name") and error["message"]


def test_errors_for_people_name_what_is_close():
    result = motet("run", "self_consistncy", "hi")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("motet: ") and "self_consistency" in result.stderr
    assert "--model" in motet("run", "direct", "hi", "--modle", "x").stderr


def test_the_work_failing_exits_with_1():
    assert document("show", "last", code=1)["error"]["kind"] == "store"
    document("run", "direct", "hi", *SIM)
    assert document("show", "nope", code=2)["error"]["kind"] == "unknown_name"


def test_a_broken_store_is_reported_and_left_alone(home: Path):
    garbage = b"no database at all, but long enough to be taken for one" * 30
    (home / "home").mkdir()
    (home / "home" / "tape.db").write_bytes(garbage)
    assert document("runs", code=1)["error"]["kind"] == "store"
    (store,) = (check for check in document("doctor", code=1)["checks"] if check["name"] == "store")
    assert store["state"] == "fail" and store["fix"]
    assert (home / "home" / "tape.db").read_bytes() == garbage


def test_a_bug_in_a_team_crashes_yet_keeps_the_promise_of_one_document():
    assert document("run", "mine.py:broken", "hi", *SIM, code=1)["error"]["kind"] == "bug"
    assert isinstance(motet("run", "mine.py:broken", "hi", *SIM).exception, KeyError)


def test_a_file_that_cannot_be_read_as_python_is_wrong_input(home: Path):
    (home / "odd.py").write_text("def (:\n")
    assert "SyntaxError" in document("run", "odd.py:x", "hi", code=2)["error"]["message"]


LISTS = (("methods",), ("suites",), ("models",), ("models", "list"), ("runs",), ("doctor",))


@pytest.mark.parametrize("words", LISTS, ids=" ".join)
def test_every_list_is_one_document_and_also_readable(words: tuple[str, ...]):
    assert document(*words) is not None
    assert motet(*words).exit_code == 0


def test_methods_tell_what_they_promise():
    listed = document("methods")
    wanted = {"name", "family", "paper", "system", "voices", "knobs", "calls"}
    assert all(wanted <= set(method) for method in listed)
    told = document("methods", "self_consistency")
    assert {key: told[key] for key in listed[0]} in listed
    assert "arXiv:2203.11171" in motet("methods", "self_consistency").stdout
    assert "arXiv:2504.12330 (catalogue 3)" in motet("methods", "hm_rag").stdout


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_of_methods_has_everything_and_fits_the_terminal(width: int, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    shown = motet("methods").stdout
    assert all(len(line) <= width for line in shown.splitlines())
    words = " ".join(shown.split())
    for method in document("methods"):
        assert f" {method['name']} {method['summary']} voices {method['voices'][0]}" in words
        assert f"calls {method['calls']} {method['paper']}" in words
        assert f"(catalogue {method['system']})" in words or not method["system"]
        assert all(f"{knob}=" in words for knob in method["knobs"])


def test_a_method_tells_its_idea_its_deviations_and_what_it_does_in_failure():
    told, page = document("methods", "ragenta"), motet("methods", "ragenta").stdout
    for word in ("idea", "deviates", "failure"):
        assert told[word] and word.capitalize() in page
    assert "--meta documents=@PATH" in " ".join(page.split())
    assert "in a run of 1 call and 1 step" in motet("methods", "direct").stdout


def test_runs_are_newest_first_with_their_end_also_when_marked():
    document("run", "direct", "first", *SIM)
    document("run", "direct", "second", "--model", "scripted:fails.jsonl", code=1)
    newest, oldest = document("runs")
    assert (newest["prompt"], newest["error"]["kind"], newest["ended"]) == ("second", "timeout", True)
    assert oldest["answer"].endswith("4") and oldest["ended"]
    assert len(document("runs", "--limit", "1")) == 1
    assert "✗ timeout" in motet("runs").stdout


def test_a_project_without_runs_says_how_to_begin():
    assert document("runs") == []
    assert "motet run" in motet("runs").stderr and not Path("home").exists()


def test_a_run_is_shown_and_played_again():
    motet("run", "mine.py:review", "2+2?", *SIM)
    assert "critics_1" in motet("show", "last").stdout
    played = motet("show", "last", "--replay", "--speed", "1000").stdout
    assert played.index("writer") < played.index("critics_1")
    assert motet("show", "last", "--replay", "--json").exit_code == 2


def test_export_to_stdout_to_a_file_and_as_a_document():
    run = document("run", "direct", "2+2?", *SIM)["run"]
    assert '"started"' in motet("export", "last", "--to", "jsonl").stdout
    assert run in document("export", run, "--to", "adp")["content"]
    made = document("export", run, run, "--to", "adp", "--out", "deep/er/x.jsonl")
    assert made == {"to": "adp", "runs": [run, run], "out": "deep/er/x.jsonl"}
    assert len(Path("deep/er/x.jsonl").read_text().splitlines()) == 2
    assert document("export", run, "--to", "otle", code=2)["error"]["kind"] == "unknown_name"
    assert document("export", run, "--to", "adp", "--out", "mine.py/x", code=1)["error"]


def test_compare_sets_knobs_by_method_and_prints_the_comparison():
    words = (
        "compare",
        "direct",
        "self_consistency",
        "--suite",
        "arithmetic",
        "--n",
        "4",
        "--model",
        "sim:skill=0.7",
    )
    made = document(*words, "--set", "self_consistency.n=3", "--equal", "calls")
    assert made["n"] == 4 and made["currency"] == "calls"
    assert "self_consistency(n=3)" in [row["method"] for row in made["rows"]]
    assert "self_consistency" in motet(*words).stdout


def test_one_method_is_compared_with_itself_under_other_knobs():
    made = document("compare", "debate:n=2:r=1", "debate:r=2", "--suite", "arithmetic", "--n", "2", *SIM[:2])
    names = [row["method"] for row in made["rows"] if row["role"] == "method"]
    assert names == ["debate(n=2, r=1)", "debate(n=3)"]


def test_what_comes_with_a_prompt_is_read_from_the_command_line(home: Path):
    (home / "notes").mkdir()
    (home / "notes" / "a.md").write_text("Ann has 4 keys.")
    (home / "pets.sql").write_text("CREATE TABLE pet (name TEXT); INSERT INTO pet VALUES ('Bo');")
    (home / "tests.py").write_text("assert double(2) == 4\n")
    record = document("run", "main_rag", "How many?", "--meta", "documents=@notes", *SIM)
    assert "Ann has 4 keys." in str(record["calls"][0]["messages"])
    query = ("Who?", "--kind", "sql", "--target", "SELECT name FROM pet")
    assert document("run", "chase_sql", *query, "--meta", "database=@pets.sql", *SIM[:2])["score"] == 1
    program = home / "program.jsonl"
    program.write_text(json.dumps({"reply": "```python\ndef double(n):\n    return 2 * n\n```"}) + "\n")
    words = ("run", "direct", "Write double.", "--kind", "code", "--model", f"scripted:{program}")
    assert document(*words, "--tests", "@tests.py")["score"] == 1
    assert document(*words, "--tests", "assert double(2) == 5")["score"] == 0


def test_doctor_checks_and_never_prints_a_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    report = document("doctor")
    assert report["ok"] and {"sandbox", "store", "keys"} <= {check["name"] for check in report["checks"]}
    shown = motet("doctor").output + json.dumps(report)
    assert "sk-very-secret" not in shown and "OPENAI_API_KEY" in shown


def test_a_comparison_in_which_every_run_failed_exits_with_1():
    words = ("compare", "direct", "--suite", "arithmetic", "--n", "2", "--model", "sim:fail=1,failure=auth")
    made = document(*words, code=1)
    assert made["rows"][0]["failures"] == {"auth": 2}
    assert "auth" in motet(*words).stderr


def test_no_color_is_honoured(monkeypatch: pytest.MonkeyPatch):
    motet("run", "direct", "2+2?", *SIM)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert re.search(r"\x1b\[[\d;]*3\dm", motet("show", "last").stdout)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search(r"\x1b\[[\d;]*3\dm", motet("show", "last").stdout)


@pytest.mark.parametrize("command", [name for names in SECTIONS.values() for name in names])
def test_every_command_has_help_with_an_example(command: str):
    text = motet(command, "--help").stdout
    assert "Example" in text and f"motet {command}" in text and "--json" in text


def test_help_begins_with_something_to_type_and_groups_the_commands():
    shown = motet().stdout
    assert "motet run" in shown and all(section in shown for section in SECTIONS)
    assert motet("run").exit_code == 2 and "Usage:" in motet("run").stderr


@team
async def knobs(
    task, *, n: int = 1, share: float = 0.5, loud: bool = False, who: str = "x", cap: int | None = None,
    names: tuple[str, ...] = (), bare=3,
):  # fmt: skip
    return "done"


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("n=3", 3), ("share=1", 1.0), ("loud=true", True), ("loud=0", False), ("who=a=b", "a=b"),
        ("who=7", "7"),
        ("cap=9", 9), ("cap=null", None), ('names=["a","b"]', ("a", "b")), ("bare=4", 4),
    ],
)  # fmt: skip
def test_a_knob_is_read_by_its_type(given: str, value: object):
    name = given.partition("=")[0]
    found = configure(knobs, [given]).knobs[name]
    assert found == value and type(found) is type(value)


@pytest.mark.parametrize("given", ["n=1.5", "n=many", "loud=maybe", "cap=x", "names=3", "bare=x"])
def test_a_knob_of_the_wrong_type_is_refused_with_its_default(given: str):
    with pytest.raises(BadInput, match="its default is"):
        configure(knobs, [given])


def test_a_budget_is_read():
    assert read_budget("tokens=20_000,money=0.5").limits() == {"tokens": 20000, "money": 0.5}
    with pytest.raises(UnknownName, match="tokens"):
        read_budget("tokns=1")


def shell(*words: str, **extra: str) -> "subprocess.Popen[str]":
    code = "from motet.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *words], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, **extra},
    )  # fmt: skip


def test_ctrl_c_says_what_was_kept_and_exits_with_130(home: Path):
    with shell("run", "mine.py:review", "hi", "--model", "scripted:slow.jsonl") as process:
        assert process.stderr is not None
        assert "writer" in process.stderr.readline()
        time.sleep(0.1)  # until the second call is under way
        process.send_signal(signal.SIGINT)
        said = process.communicate()[1]
    assert process.returncode == 130
    (kept,) = document("runs")
    assert kept["run"] in said and "--reuse" in said and "Traceback" not in said
    assert [call["reply"] is None for call in document("show", "last")["calls"]] == [False, True]


def test_a_reader_that_leaves_early_is_no_error():
    with shell("methods", "--json") as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait() == 1


def test_help_loads_nothing_heavy():
    code = (
        "import sys\nfrom motet.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
        "print(sorted({'openai', 'rich', 'numpy', 'sqlite3', 'httpx'} & set(sys.modules)))"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines()[-1] in ("[]", "['sqlite3']")


def test_the_entry_point_is_a_click_command():
    assert isinstance(main, click.Group)


def test_a_suite_can_be_looked_into_and_proves_its_gold(tmp_path: Path):
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.csv"
    good.write_text('{"prompt": "1+1?", "target": "2"}\n')
    bad.write_text("prompt,target,kind\n1+1?,two,number\n")
    found = document("suites", str(good))
    assert found["valid"] and found["items"][0]["target"] == "2"
    assert "expected a number" in document("suites", str(bad), code=2)["error"]["message"]
