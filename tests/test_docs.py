"""What the documents show runs: docstring examples, and every Python block of the README and the guides."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MODULES = [
    ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for p in sorted((ROOT / "motet").rglob("*.py"))
    if ">>> " in p.read_text()
]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WITH_CODE = [p for p in PAGES if BLOCK.search(p.read_text())]


@pytest.mark.parametrize("name", MODULES)
def test_docstring_examples(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda p: p.name)
def test_page_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The blocks of a page run one after another in one namespace, as a reader would type them."""
    monkeypatch.setenv("MOTET_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.findall(page.read_text()):
        path = tmp_path / "block.py"
        path.write_text(block)
        exec(compile(block, str(path), "exec"), names)
