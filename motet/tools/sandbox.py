"""Where code written by models runs. Never in our process.

| name | keeps out | needs |
|---|---|---|
| `bubblewrap` | network, host files, secrets, other processes | Linux with user namespaces |
| `monty` | the same, by a small Python of its own with few modules | the package pydantic-monty |
| `subprocess` | nothing but accidents: time, memory, output and leftovers are limited | any POSIX system |
"""

from collections.abc import Callable, Mapping
from math import ceil, inf
from pathlib import PurePosixPath
from typing import Literal, Protocol, runtime_checkable

from msgspec import Struct

from motet.errors import BadInput, SandboxUnavailable, UnknownName

Reason = Literal["done", "error", "timeout", "memory", "output"]
MAIN = "main.py"


class Limits(Struct, frozen=True, kw_only=True):
    """What a program may use up.

    Args:
        wall_s: seconds from start to end.
        cpu_s: seconds of processor time, whole ones.
        memory_mb: address space of each process, in MiB.
        processes: how many processes at once. With 1, the default, a program cannot start another (threads
            are allowed), so that `memory_mb` bounds the whole of it and a fork bomb cannot even begin.
        file_mb: size of the largest file it may write, in MiB.
        disk_mb: all files together, in MiB; they lie in memory.
        output_kb: stdout, and stderr as well, in KiB; a program that prints more is stopped.
    """

    wall_s: float = 10.0
    cpu_s: int = 10
    memory_mb: int = 512
    processes: int = 1
    file_mb: int = 16
    disk_mb: int = 64
    output_kb: int = 64

    @classmethod
    def of(cls, seconds: float) -> "Limits":
        """So many seconds, on the clock and of the processor.

        Raises:
            BadInput: that is no time at all, or endless.
        """
        if not 0 < seconds < inf:
            raise BadInput(f"seconds={seconds!r}: expected more than 0")
        return cls(wall_s=seconds, cpu_s=ceil(seconds))


class Outcome(Struct, frozen=True, kw_only=True):
    """How a program ended.

    Args:
        ok: it came to its end with exit code 0.
        exit_code: as a shell gives it, 128 + N after signal N.
        reason: `done`, `error` (its own failure), or the limit that stopped it.
        wall_s: seconds it took, its start included.
        truncated: it printed more than is kept here.
    """

    ok: bool
    exit_code: int
    stdout: str
    stderr: str
    reason: Reason
    wall_s: float
    truncated: bool = False


@runtime_checkable
class Sandbox(Protocol):
    """Runs one Python program at a time from a clean slate; nothing is kept between two calls."""

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, str | bytes] = {},
        stdin: str = "",
        limits: Limits = Limits(),
    ) -> Outcome:
        """Run `code` in a fresh folder that holds `files` (relative paths).

        A program that fails or is stopped is an `Outcome`, not an exception. Cancelling kills it.

        Raises:
            SandboxUnavailable: the sandbox cannot be set up, or cannot keep these limits.
            BadInput: files that the sandbox cannot place.
        """
        ...


def check_files(files: Mapping[str, str | bytes], limits: Limits) -> dict[str, bytes]:
    """The files as bytes.

    Raises:
        BadInput: a path leaves the folder or hides the program, or they are too large together.
    """
    contents = {name: to_bytes(data) for name, data in files.items()}
    for name in contents:
        path = PurePosixPath(name)
        if path.is_absolute() or ".." in path.parts or str(path) in (".", MAIN) or "\0" in name:
            raise BadInput(f"file {name!r}: expected a relative path inside the folder, other than {MAIN!r}")
    size = sum(map(len, contents.values()))
    if size > limits.disk_mb << 20:
        raise BadInput(f"{len(contents)} files of {size} bytes do not fit into disk_mb={limits.disk_mb}")
    return contents


def to_bytes(text: str | bytes) -> bytes:
    """Text as UTF-8. Half a character, which models do write, is left for the program to stumble over."""
    return text.encode(errors="surrogatepass") if isinstance(text, str) else text


def _bubblewrap() -> Sandbox:
    from motet.tools.bubblewrap import Bubblewrap

    return Bubblewrap()


def _subprocess() -> Sandbox:
    from motet.tools.process import Subprocess

    return Subprocess()


def _monty() -> Sandbox:
    from motet.tools.monty import Monty

    return Monty()


SANDBOXES: dict[str, Callable[[], Sandbox]] = {
    "bubblewrap": _bubblewrap,
    "monty": _monty,
    "subprocess": _subprocess,
}


def sandbox(name: str) -> Sandbox:
    """Get a sandbox by name: `bubblewrap`, `monty` or `subprocess`.

    Raises:
        UnknownName: there is none of this name.
        SandboxUnavailable: this machine cannot have it; the message says what to do.
    """
    if name not in SANDBOXES:
        raise UnknownName("sandbox", name, SANDBOXES)
    return SANDBOXES[name]()


def default_sandbox() -> Sandbox:
    """The sandbox that is safe for code nobody has read: `bubblewrap`, or none at all.

    Raises:
        SandboxUnavailable: there is no silent fallback to a weaker one; the message names the ways out.
    """
    try:
        return sandbox("bubblewrap")
    except SandboxUnavailable as error:
        raise SandboxUnavailable(
            f"{error}. Or choose another yourself: sandbox('monty') runs a small safe subset of Python, "
            "sandbox('subprocess') runs all of it with no isolation from your files and network"
        ) from error
