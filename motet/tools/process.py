"""Running a program under limits: bounded output, bounded time, nothing left behind.

Shared by the sandboxes that start processes, and by itself the weakest of them, `Subprocess`.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
import time
from asyncio import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import cast

from msgspec import Struct

from motet.tools.sandbox import MAIN, Limits, Outcome, Reason, check_files, to_bytes

DRAIN_S = 1.0  # how long a stray process may hold the pipes once the program has ended
CPU_CODES = (128 + signal.SIGXCPU, 128 + signal.SIGKILL)  # the kernel's warning, and what follows it

# Runs inside, before the program: limits set here bind it and whatever it starts. The alarm is for the
# case that nobody is left to stop it, because Motet was killed.
LAUNCH = """
import os, resource, signal, sys
signal.alarm(int(sys.argv.pop(1)))
for name, value in zip(sys.argv[1:-1:2], sys.argv[2:-1:2]):
    limit = getattr(resource, name, None)
    if limit is not None:
        resource.setrlimit(limit, (int(value), int(value) + (name == "RLIMIT_CPU")))
os.execv(sys.executable, [sys.executable, "-E", "-s", "-B", "-u", "-X", "utf8", sys.argv[-1]])
"""


def python_arguments(limits: Limits, *, count_processes: bool) -> list[str]:
    """The words after `python` that set the resource limits and then run the program in this folder."""
    words: dict[str, int] = {
        "RLIMIT_AS": limits.memory_mb << 20,
        "RLIMIT_CPU": limits.cpu_s,
        "RLIMIT_FSIZE": limits.file_mb << 20,
        "RLIMIT_NOFILE": 64,
        "RLIMIT_CORE": 0,
    }
    if count_processes:
        words["RLIMIT_NPROC"] = limits.processes + 1  # and the first process of the namespace
    flat = [str(word) for pair in words.items() for word in pair]
    return ["-E", "-s", "-S", "-B", "-c", LAUNCH, str(int(limits.wall_s) + 5), *flat, MAIN]


class Ended(Struct, frozen=True, kw_only=True):
    """How a process ended, before anybody has judged why."""

    exit_code: int
    stdout: bytes
    stderr: bytes
    stopped: Reason | None
    wall_s: float


class _Output(asyncio.SubprocessProtocol):
    """Keeps at most `most` bytes of each stream and tells `over` when there is more."""

    def __init__(self, most: int) -> None:
        loop = asyncio.get_running_loop()
        self.most = most
        self.kept = {1: bytearray(), 2: bytearray()}
        self.over = asyncio.Event()
        self.exited = asyncio.Event()
        self.closed: asyncio.Future[None] = loop.create_future()

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        room = self.most - len(self.kept[fd])
        self.kept[fd] += data[:room]
        if len(data) > room:
            self.over.set()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: BaseException | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)


async def run_process(
    argv: Sequence[str],
    *,
    limits: Limits,
    stdin: int,
    kill: Callable[[int], None],
    pass_fds: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
    cwd: str | None = None,
) -> Ended:
    """Run a program in a session of its own, until it ends, prints too much or takes too long.

    Args:
        argv: the program and its words.
        limits: of these, `wall_s` and `output_kb` are watched here.
        stdin: a file descriptor to read from.
        kill: called with the process id to end the program and all that it started.
        pass_fds: file descriptors it inherits.
        env: its whole environment; ours when None.
        cwd: its folder.
    """
    started = time.monotonic()
    output = _Output(limits.output_kb << 10)
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: output,
        *argv,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=pass_fds,
        env=env,
        cwd=cwd,
        start_new_session=True,
    )
    stopped: Reason | None = None
    over = asyncio.ensure_future(output.over.wait())
    exited = asyncio.ensure_future(output.exited.wait())
    try:
        left = limits.wall_s - (time.monotonic() - started)
        await asyncio.wait([over, exited], timeout=max(left, 0), return_when=asyncio.FIRST_COMPLETED)
        if not output.exited.is_set():
            stopped = "output" if output.over.is_set() else "timeout"
    finally:
        over.cancel()
        exited.cancel()
        kill(transport.get_pid())
        # Shielded, so that a cancelled run still leaves no process and no pipe behind.
        await asyncio.shield(_close(transport, output))
    if output.over.is_set():
        stopped = "output"
    code = cast(int, transport.get_returncode())
    return Ended(
        exit_code=code if code >= 0 else 128 - code,
        stdout=bytes(output.kept[1]),
        stderr=bytes(output.kept[2]),
        stopped=stopped,
        wall_s=time.monotonic() - started,
    )


async def _close(transport: asyncio.SubprocessTransport, output: _Output) -> None:
    await output.exited.wait()
    await asyncio.wait([output.closed], timeout=DRAIN_S)
    transport.close()
    await output.closed


def judge(ended: Ended, limits: Limits) -> Outcome:
    """Say which limit, if any, ended a program."""
    stderr = ended.stderr.decode(errors="replace")
    reason: Reason
    if ended.stopped is not None:
        reason = ended.stopped
    elif ended.exit_code == 0:
        reason = "done"
    elif ended.exit_code in CPU_CODES and ended.wall_s >= limits.cpu_s:
        reason = "timeout"
    elif last_line(stderr).startswith("MemoryError"):
        reason = "memory"
    else:
        reason = "error"
    return Outcome(
        ok=reason == "done",
        exit_code=ended.exit_code,
        stdout=ended.stdout.decode(errors="replace"),
        stderr=stderr,
        reason=reason,
        wall_s=ended.wall_s,
        truncated=reason == "output",
    )


def last_line(text: str) -> str:
    """Where Python names the exception that ended a program."""
    return text.rstrip().rpartition("\n")[2]


def blob(data: bytes, stack: contextlib.ExitStack) -> int:
    """A file descriptor from which `data` can be read, without a name on any disk."""
    file = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 (the stack closes it)
    file.write(data)
    file.seek(0)
    return file.fileno()


def kill_group(pid: int) -> None:
    """Kill a process group, if any of it is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


class Subprocess:
    """Limits without walls: **no isolation from the host's files or network**.

    The program runs in a folder of its own with a clean environment; time, memory, file size and output
    are limited, and its process group is killed at the end. It can read and send whatever you can, and a
    child that starts a session of its own outlives it. `processes` and `disk_mb` are not watched.
    """

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, str | bytes] = {},
        stdin: str = "",
        limits: Limits = Limits(),
    ) -> Outcome:
        """See `Sandbox.run`."""
        contents = {MAIN: to_bytes(code), **check_files(files, limits)}
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="motet-"))
            write_files(Path(folder), contents)
            ended = await run_process(
                [interpreter(), *python_arguments(limits, count_processes=False)],
                limits=limits,
                stdin=blob(to_bytes(stdin), stack),
                kill=kill_group,
                env={"HOME": folder, "TMPDIR": folder, "LANG": "C.UTF-8", "PATH": os.defpath},
                cwd=folder,
            )
        return judge(ended, limits)


def write_files(folder: Path, contents: Mapping[str, bytes]) -> None:
    for name, data in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def interpreter() -> str:
    """The Python behind a virtual environment, not the environment's own."""
    return os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable)
