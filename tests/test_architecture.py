"""The rules of the house: arrows between rooms point one way, files and functions stay small."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent / "motet"
FILES = sorted(ROOT.rglob("*.py"))

# A room may import itself, the rooms in its list, and what those may import.
MAY_IMPORT: dict[str, set[str]] = {
    "types": set(),
    "errors": {"types"},
    "concurrency": set(),
    "answers": {"types", "errors"},
    "structured": {"types", "errors"},
    "tape": {"types", "errors"},
    "tools": {"types", "errors"},
    "models": {"tape", "answers", "structured", "budget"},
    "budget": {"types", "errors"},
    "memory": {"types"},
    "call": {"models", "tape"},
    "agent": {"call", "concurrency", "memory", "models", "structured", "tape", "tools"},
    "run": {"tape", "viewer"},
    "knobs": set(),
    "teams": {"agent", "budget", "knobs", "run", "identity", "performance"},
    "identity": {"agent", "teams"},
    "performance": {"agent", "teams", "identity", "budget", "call", "concurrency", "run", "structured"},
    "combine": {"agent", "answers", "concurrency", "structured"},
    "methods": {"agent", "teams", "combine", "answers", "tools"},
    "evals": {"teams", "performance", "combine", "answers", "tools", "methods", "models", "run", "budget"},
    "viewer": {"tape"},
    "credit": {"tape"},
    "envs": {"types", "errors", "agent", "teams", "tools"},
    "losses": set(),
    "remote": {"methods", "models", "teams"},
    "train": {"credit", "losses", "envs", "teams", "models"},
}
DOORS = {"cli", "__init__"}
ONE_BROAD_EXCEPT_PER_LINES = 800


def room(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("motet."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "motet":
            yield from (a.name for a in node.names if a.name != "__version__")
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("motet."))


def allowed(name: str) -> set[str]:
    found, new = {name}, MAY_IMPORT[name]
    while new - found:
        found |= new
        new = set().union(*(MAY_IMPORT[n] for n in found))
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_follow_the_arrows(path: Path) -> None:
    if room(path) not in DOORS:
        assert set(imports(path)) <= allowed(room(path))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_and_functions_fit_their_budgets(path: Path) -> None:
    text = path.read_text()
    budget = 150 if room(path) == "methods" else 400
    assert text.count("\n") <= budget
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < 60, f"{node.name} does not fit a screen"


def test_model_text_is_never_executed_in_process() -> None:
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                assert node.func.id not in ("eval", "exec"), f"{path}:{node.lineno}"


def test_broad_excepts_are_rare() -> None:
    lines = sum(p.read_text().count("\n") for p in FILES)
    broad = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    ]
    assert len(broad) <= lines / ONE_BROAD_EXCEPT_PER_LINES + 1, broad


def test_import_is_light() -> None:
    heavy = [
        "torch",
        "openai",
        "numpy",
        "pydantic",
        "rich",
        "click",
        "jinja2",
        "xllamacpp",
        "httpx",
        "sqlite3",
    ]
    code = f"import sys, motet; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
