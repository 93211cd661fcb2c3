import asyncio
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from motet.answers import extract, gold_reply
from motet.errors import BadInput, MissingExtra, UnknownName
from motet.evals.scorers import ByKind
from motet.evals.suite import BUILTIN, Suite, list_suites, load_suite, shuffle_choices
from motet.types import Task

SUM = "rg:chain_sum?min_terms=2&max_terms=2&min_digits=1&max_digits=1&size=4"


def write(tmp_path, text, name="items.jsonl"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows) + "\n"


@pytest.mark.parametrize("name", [*BUILTIN, SUM, "rg:caesar_cipher?size=3", "rg:mini_sudoku?size=2"])
def test_gold_answers_score_one(name):
    suite = load_suite(name)
    asyncio.run(suite.validate())
    assert len({task.id for task in suite}) == len(suite)
    assert len({task.prompt for task in suite}) == len(suite)


@pytest.mark.parametrize("name", [*BUILTIN, SUM])
def test_a_seed_decides_everything(name):
    assert load_suite(name, n=4, seed=3) == load_suite(name, n=4, seed=3)
    assert load_suite(name, n=4, seed=3).tasks != load_suite(name, n=4, seed=4).tasks
    assert len(load_suite(name, n=4)) == 4


def test_the_list_is_what_can_be_loaded():
    shown = {info.name: info for info in list_suites()}
    for name in BUILTIN:
        suite = load_suite(name)
        assert (shown[name].size, shown[name].kind) == (len(suite), suite.kind)


def test_arithmetic_grows_with_its_difficulty():
    sizes = []
    for level in "1234":
        suite = load_suite(f"arithmetic?difficulty={level}", n=60)
        assert len(set(suite.tasks[0].prompt.split("+"))) == (3 if level == "4" else 2)
        sizes.append(sum(int(task.target) for task in suite))
    assert sizes == sorted(sizes)
    with pytest.raises(BadInput, match="81 different sums"):
        load_suite("arithmetic?difficulty=1", n=82)


def test_options_are_shuffled_and_the_right_one_is_followed():
    plain = Task("Pick.", target="C", id="x", kind="choice", choices=("a1", "b2", "c3", "d4"))
    places = Counter()
    for seed in range(200):
        task = shuffle_choices(plain, seed)
        assert task.choices[task.meta["position"]] == "c3" == task.choices[ord(task.target) - 65]
        places[task.meta["position"]] += 1
    assert min(places.values()) > 30 and len(places) == 4
    shown = Task("Pick.\nA) a1\nB) b2", target="a1", kind="choice", choices=("a1", "b2"))
    assert all(shuffle_choices(shown, seed).target == "A" for seed in range(20))


def test_a_sample_keeps_order_and_refuses_what_is_not_there():
    suite = load_suite("facts")
    few = suite.sample(10, seed=1)
    places = [suite.tasks.index(task) for task in few]
    assert places == sorted(places) and len(set(places)) == 10
    for n in (0, 41):
        with pytest.raises(BadInput, match="40 items"):
            suite.sample(n)


def test_validate_names_the_item_whose_gold_is_wrong():
    wrong = Task("?", kind="code", id="bad", tests="assert f() == 2", target="def f(): return 1")
    for task in (wrong, Task("?", id="bad")):
        with pytest.raises(BadInput, match="item 'bad'"):
            asyncio.run(Suite("s", (task,), ByKind()).validate())


def test_a_file_of_each_kind(tmp_path):
    rows = lines(
        {"prompt": "2+2?", "target": 4, "kind": "number", "id": "sum", "level": 1, "meta": {"by": "me"}},
        {"prompt": "Pick", "target": "blue", "choices": ["red", "blue"]},
        {"prompt": "Pick", "target": 0, "choices": ["red", "blue"], "id": 7},
        {"prompt": "Write f", "tests": "assert f() == 1", "target": "def f(): return 1"},
        {"prompt": "Solve", "target": "x^2", "kind": "math"},
        {"prompt": "Who?", "target": "Ann"},
    )
    suite = load_suite(write(tmp_path, b"\xef\xbb\xbf" + rows.encode()))
    asyncio.run(suite.validate())
    assert [task.kind for task in suite] == ["number", "choice", "choice", "code", "math", "text"]
    assert [task.id for task in suite] == ["sum", "2", "7", "4", "5", "6"]
    assert suite.tasks[0].meta == {"level": 1, "by": "me"}
    assert suite.tasks[1].choices[suite.tasks[1].meta["position"]] == "blue"
    assert suite.tasks[2].choices[suite.tasks[2].meta["position"]] == "red"


def test_a_csv_file(tmp_path):
    text = (
        'prompt,target,choices,meta\r\n"Two, or\nthree?",B,two|three,"{""a"": 1}"\r\n'
        'Pick,x y,"[""x y"", ""z""]",\r\n'
    )
    suite = load_suite(write(tmp_path, text, "items.csv"))
    assert suite.tasks[0].prompt == "Two, or\nthree?" and suite.tasks[0].meta["a"] == 1
    assert [extract(task, gold_reply(task)) for task in suite] == [task.target for task in suite]
    assert {len(task.choices) for task in suite} == {2} and suite.scorer.name == "choice"


def test_targets_that_are_all_numbers_make_numbers(tmp_path):
    path = write(tmp_path, 'prompt,target\na,1\nb,"2,000"\n', "n.csv")
    assert [(task.kind, task.target) for task in load_suite(path)] == [("number", "1"), ("number", "2,000")]
    path = write(tmp_path, "prompt,target\na,1\nb,two\n", "n.csv")
    assert load_suite(path).kind == "text"


GOOD = {"prompt": "p", "target": "t"}


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"target": "t"}, "'prompt': missing.*'target'"),
        ({"prompt": 3, "target": "t"}, "'prompt': got 3"),
        ({"prompt": " ", "target": "t"}, "'prompt': got ' '"),
        ({"prompt": "p"}, "'target': missing"),
        ({"prompt": "p", "target": [1]}, r"'target': got \[1\]"),
        ({"prompt": "p", "target": True}, "'target': got True"),
        (GOOD | {"kind": "essay"}, "'kind': got 'essay'.*number"),
        (GOOD | {"kind": "number"}, "'target': got 't', expected a number"),
        (GOOD | {"kind": "choice"}, "'choices': missing"),
        (GOOD | {"choices": ["a"]}, r"'choices': got \['a'\]"),
        (GOOD | {"choices": ["a", "a"]}, "different options"),
        (GOOD | {"choices": ["u", "v"]}, "'target': got 't', expected a letter"),
        (GOOD | {"meta": "m"}, "'meta': got 'm'"),
        (GOOD | {"tests": 1}, "'tests': got 1"),
        (GOOD | {"id": {}}, "'id': got {}"),
        (GOOD | {"id": "1"}, "'id': '1' stands on line 1"),
        ([1], "expected a JSON object"),
    ],
)
def test_a_malformed_row_names_line_and_field(tmp_path, row, says):
    with pytest.raises(BadInput, match=f"(?s)line 3, .*{says}"):
        load_suite(write(tmp_path, lines(GOOD) + "\n" + lines(row)))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", '{"prompt": "p"', "line 1, .*not JSON"),
        ("a.jsonl", "[" * 100_000, "line 1, .*not JSON"),
        ("a.jsonl", "\n\n", "holds no items"),
        ("a.jsonl", b"\xff\xfe\x00", "UTF-8"),
        ("a.csv", "prompt,target\np,t,u\n", "line 2, .*1 cells too many"),
        ("a.csv", "question,answer\np,t\n", "line 2, .*'prompt': missing.*'question'"),
        ("a.csv", 'prompt,target\n"p,t\n', "not CSV"),
        ("a.txt", "x", "ends in .jsonl or .csv"),
    ],
)
def test_a_malformed_file_is_refused(tmp_path, name, text, says):
    with pytest.raises(BadInput, match=f"(?s){says}"):
        load_suite(write(tmp_path, text, name))


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("arithmatic", "did you mean arithmetic"),
        ("missing.jsonl", "cannot be read"),
        ("arithmetic?difficulty=9", "1, 2, 3 or 4"),
        ("facts?level=2", "no options"),
        ("rg:chain_sums", "did you mean .*chain_sum"),
        ("rg:chain_sum?terms=2", "no setting .*min_terms"),
        ("rg:chain_sum?min_terms=9&max_terms=2", "cannot be made"),
    ],
)
def test_words_that_mean_nothing_are_refused(name, says):
    with pytest.raises(BadInput, match=says):
        load_suite(name)


def test_an_unknown_name_is_of_its_own_class():
    with pytest.raises(UnknownName):
        load_suite("sentimental")


@pytest.mark.slow
def test_gym_items_do_not_depend_on_this_process():
    code = (
        "from motet.evals.suite import load_suite; print([t.prompt for t in load_suite('rg:word_ladder', 2)])"
    )
    root = Path(__file__).parents[1]
    seen = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONPATH": str(root), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(seen) == 1


def test_a_hub_dataset_through_a_stand_in_for_the_hub(monkeypatch):
    asked = []

    def load_dataset(name, config, split):
        asked.append((name, config, split))
        return [{"question": "6*7?", "answer": "It is <<6*7=42>>42.\n#### 42"}]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load_dataset))
    name = "hf:openai/gsm8k:train?prompt=question&target=answer&config=main&kind=number"
    suite = load_suite(name)
    assert asked == [("openai/gsm8k", "main", "train")]
    assert (suite.tasks[0].target, suite.tasks[0].kind, suite.name) == ("42", "number", name)
    for wrong, says in (("prompt=nothing", "no column"), ("promt=question", "unknown option")):
        with pytest.raises(BadInput, match=says):
            load_suite(f"hf:x?{wrong}")


@pytest.mark.parametrize(("name", "package"), [("hf:x", "datasets"), (SUM, "reasoning_gym")])
def test_a_missing_package_names_its_extra(monkeypatch, name, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtra, match=r"pip install 'motet\["):
        load_suite(name)
