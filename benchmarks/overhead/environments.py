"""A virtual environment for every framework, so that their requirements never meet."""

import subprocess
import sys
import venv
from pathlib import Path

from benchmarks.overhead.contestant import Entry

ROOT = Path(__file__).parents[2]
VENVS = ROOT / "benchmarks" / ".venv"


class NotInstallable(Exception):
    """A framework that pip could not install here; the message is pip's last line."""


def python_of(entry: Entry) -> Path:
    """The interpreter of a contestant's environment; see `python_in`."""
    return python_in(entry.module, entry.requirements)


def python_in(name: str, requirements: Path, *options: str) -> Path:
    """The interpreter of an environment, which is made when it is missing or out of date.

    Args:
        options: of `pip install`.

    Raises:
        NotInstallable: pip failed.
    """
    home = VENVS / name
    python = home / "bin" / "python"
    done, wanted = home / "installed.txt", requirements.read_text(encoding="utf-8")
    if done.exists() and done.read_text(encoding="utf-8") == wanted:
        return python
    print(f"installing {name} …", file=sys.stderr, flush=True)
    venv.create(home, with_pip=True, clear=True)
    command = [str(python), "-m", "pip", "install", "--quiet", *options, "--requirement", str(requirements)]
    pip = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if pip.returncode:
        raise NotInstallable(pip.stderr.strip().rpartition("\n")[2] or f"pip ended with {pip.returncode}")
    done.write_text(wanted, encoding="utf-8")
    return python


VERSIONS = "import importlib.metadata as m, sys\nfor n in sys.argv[1:]: print(n, m.version(n))"


def versions(entry: Entry) -> list[str]:
    """What is installed of the packages that the requirements name, as `NAME VERSION`."""
    names = [line for line in entry.requirements.read_text(encoding="utf-8").split() if line[0] not in "-."]
    command = [str(python_of(entry)), "-c", VERSIONS, *names]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
