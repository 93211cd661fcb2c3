"""A small repository in memory: immutable, so that each state of a search holds its own at no cost.

Nothing is ever written to the folder it was read from; its tests run on a copy in a sandbox.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from motet.errors import BadInput, ToolError
from motet.methods.common import KEPT
from motet.tools.sandbox import Limits, Sandbox

LARGEST = 200_000  # bytes of a file that is read in
LONGEST = 200  # characters of a path that is made
TEST_FILE = re.compile(r"(^|/)(test_[^/]*|[^/]*_test)\.py$")
RUNNER = """\
import os, runpy, sys, traceback
os.chdir("repository")
sys.path[0] = os.getcwd()
failed = total = 0
for path in {paths!r}:
    try:
        names = runpy.run_path(path)
        tests = [(name, test) for name, test in names.items() if name.startswith("test") and callable(test)]
    except BaseException:
        tests = [("import", lambda: runpy.run_path(path))]
    for name, test in tests:
        total += 1
        try:
            test()
        except BaseException:
            failed += 1
            print(path, name, "FAILED\\n" + traceback.format_exc(limit=-2))
print(total - failed, "of", total, "tests pass")
sys.exit(bool(failed))
"""


class Checked(Struct, frozen=True):
    """What the tests said."""

    ok: bool
    report: str


class Workspace(Struct, frozen=True):
    """The text files of a repository, by relative path."""

    files: dict[str, str]

    @classmethod
    def of(cls, given: Any) -> "Workspace":
        """Take a mapping of path to text, or read a folder (hidden, large and binary files are left out).

        Raises:
            BadInput: it is neither, or the folder does not exist.
        """
        if isinstance(given, Mapping):
            for path, text in given.items():
                if not (isinstance(path, str) and isinstance(text, str)):
                    raise BadInput(f"repository[{path!r}]={text!r}: expected the text of a file, by its path")
            return cls(dict(given))
        if not isinstance(given, str | Path) or not Path(given).is_dir():
            raise BadInput(f"repository {given!r}: expected a folder, or a mapping of path to text")
        files = {}
        for path in sorted(Path(given).rglob("*")):
            inside = path.relative_to(given)
            hidden = any(part.startswith((".", "__pycache__")) for part in inside.parts)
            if path.is_file() and not path.is_symlink() and not hidden and path.stat().st_size <= LARGEST:
                with suppress(UnicodeDecodeError):
                    files[inside.as_posix()] = path.read_text(encoding="utf-8")
        return cls(files)

    def view(self, path: str) -> str:
        """A file.

        Raises:
            ToolError: there is none of this path.
        """
        if path not in self.files:
            raise ToolError(f"there is no file {path!r}; there are: {', '.join(self.files)}")
        return self.files[path]

    def search(self, words: str) -> str:
        """Where some words stand, line by line; capitals do not matter."""
        found = [
            f"{path}:{number}: {line}"
            for path, text in self.files.items()
            for number, line in enumerate(text.splitlines(), 1)
            if words.casefold() in line.casefold()
        ]
        return "\n".join(found) or f"nowhere: {words!r}"

    def edited(self, path: str, old: str, new: str) -> "Workspace":
        """A copy in which the one place that reads `old` reads `new`; with an empty `old`, a file more.

        Raises:
            ToolError: `old` is not there, or more than once, or is in a test; or a new file exists.
        """
        if not old:
            if not self._is_free(path):
                raise ToolError(f"{path!r} cannot be made: give a relative path that is not there yet")
            return Workspace({**self.files, path: new + "\n"})
        text = self.view(path)
        if TEST_FILE.search(path):
            raise ToolError(f"{path!r} is a test: mend what it tests, or make a test file of your own")
        if (times := text.count(old)) != 1:
            raise ToolError(f"the text to replace stands {times} times in {path!r}; it must stand there once")
        return Workspace({**self.files, path: text.replace(old, new)})

    def _is_free(self, path: str) -> bool:
        """Whether a file may be made there: within the folder, not in the place or below of another."""
        plain = PurePosixPath(path)
        inside = str(plain) == path and not plain.is_absolute() and ".." not in plain.parts
        taken = {str(p) for name in self.files for p in (PurePosixPath(name), *PurePosixPath(name).parents)}
        below = any(str(parent) in self.files for parent in plain.parents)
        return inside and path.isprintable() and len(path) <= LONGEST and path not in taken and not below

    def patch(self, before: "Workspace") -> str:
        """The difference to an earlier state as a unified diff; empty when there is none."""
        lines: list[str] = []
        for path in sorted({*before.files, *self.files}):
            old, new = before.files.get(path), self.files.get(path)
            source = "/dev/null" if old is None else f"a/{path}"
            for line in unified_diff(_lines(old), _lines(new), source, f"b/{path}"):
                lines += [line] if line.endswith("\n") else [line + "\n", "\\ No newline at end of file\n"]
        return "".join(lines)

    async def test(self, box: Sandbox, limits: Limits) -> Checked:
        """Run all functions `test*` of its files `test_*.py` and `*_test.py` on a copy in a sandbox.

        Raises:
            SandboxUnavailable: the sandbox cannot run them.
        """
        paths = [path for path in self.files if TEST_FILE.search(path)]
        files = {f"repository/{path}": text for path, text in self.files.items()}
        outcome = await box.run(RUNNER.format(paths=paths), files=files, limits=limits)
        ended = outcome.stdout.rstrip().endswith("tests pass")
        why = "" if ended else f"The tests did not come to their end ({outcome.reason}).\n"
        return Checked(ended and outcome.ok, why + f"{outcome.stdout}\n{outcome.stderr}".strip()[-KEPT:])


def _lines(text: str | None) -> list[str]:
    return (text or "").splitlines(keepends=True)
