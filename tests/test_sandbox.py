"""Sandboxes: what hostile or broken programs can do in them, tried for real."""

import asyncio
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import motet.tools.bubblewrap as bubblewrap
from motet.errors import BadInput, SandboxUnavailable, UnknownName
from motet.tools import Limits, Sandbox, check_tool, default_sandbox, python_tool, sandbox

BUBBLE = sandbox("bubblewrap")
PLAIN = sandbox("subprocess")
MONTY = sandbox("monty")
QUICK = Limits(wall_s=5, cpu_s=5, memory_mb=256, file_mb=1, disk_mb=4, output_kb=16)
PROJECT = Path(bubblewrap.__file__).parents[2]

processes = pytest.mark.parametrize("place", [BUBBLE, PLAIN], ids=["bubblewrap", "subprocess"])
everywhere = pytest.mark.parametrize(
    "place", [BUBBLE, PLAIN, MONTY], ids=["bubblewrap", "subprocess", "monty"]
)


def run(place: Sandbox, code: str, limits: Limits = QUICK, **given):
    return asyncio.run(place.run(code, limits=limits, **given))


def inside(code: str, limits: Limits = QUICK, **given) -> str:
    """What a program prints in bubblewrap; it must come to its end."""
    outcome = run(BUBBLE, code, limits, **given)
    assert outcome.ok, outcome
    return outcome.stdout.strip()


@everywhere
def test_a_program_runs(place):
    outcome = run(place, "print(6 * 7)")
    assert (outcome.ok, outcome.exit_code, outcome.stdout, outcome.reason) == (True, 0, "42\n", "done")
    assert 0 < outcome.wall_s < 5 and not outcome.truncated


@everywhere
def test_a_failure_is_an_outcome(place):
    outcome = run(place, "print('before')\n1 / 0")
    assert (outcome.ok, outcome.reason, outcome.stdout) == (False, "error", "before\n")
    assert "ZeroDivisionError" in outcome.stderr and "1 / 0" in outcome.stderr
    assert run(place, "def (").reason == "error"
    assert run(place, "x = '\ud800'").reason == "error"


@everywhere
def test_endless_loop(place):
    outcome = run(place, "print('go')\nwhile True: pass", Limits(wall_s=0.3))
    assert (outcome.ok, outcome.reason) == (False, "timeout")
    assert outcome.stdout == "go\n" and outcome.wall_s < 2


@everywhere
def test_printing_without_end(place):
    outcome = run(place, "while True: print('x' * 1000)")
    assert (outcome.reason, outcome.truncated) == ("output", True)
    assert 1000 <= len(outcome.stdout) <= QUICK.output_kb << 10
    assert outcome.wall_s < 4


@everywhere
def test_memory_hog(place):
    outcome = run(place, "x = 'x'\nwhile True: x = x + x")
    assert (outcome.ok, outcome.reason) == (False, "memory")


@processes
@pytest.mark.slow
def test_cpu_limit(place):
    code = "import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass"
    assert run(place, code, Limits(wall_s=8, cpu_s=1)).reason == "timeout"


@processes
def test_files_stdin_arguments_and_exit_code(place):
    code = "import helper, sys\nprint(helper.x, open('d/a.bin', 'rb').read(), input())\nsys.exit(3)"
    outcome = run(place, code, files={"helper.py": "x = 'é'", "d/a.bin": b"\xff"}, stdin="hello\n")
    assert (outcome.stdout, outcome.exit_code, outcome.reason) == ("é b'\\xff' hello\n", 3, "error")


@processes
def test_signals_and_bytes_that_are_no_text(place):
    assert run(place, "import os; os.kill(os.getpid(), 11)").exit_code == 128 + 11
    assert run(place, "import sys; sys.stdout.buffer.write(b'\\xff')").stdout == "\ufffd"


@processes
def test_secrets_of_the_environment_stay_outside(place, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert "sk-secret" not in run(place, "import os; print(dict(os.environ))").stdout


@processes
@pytest.mark.parametrize("name", ["/etc/x", "../x", "a/../../x", "main.py", ".", "x\0"])
def test_files_stay_in_the_folder(place, name):
    with pytest.raises(BadInput):
        run(place, "", files={name: ""})
    with pytest.raises(BadInput):
        run(place, "", files={"big": b"x" * (5 << 20)})


@processes
def test_one_file_may_not_be_large(place):
    outcome = run(place, "open('big', 'wb').write(b'x' * (2 << 20))")
    assert "File too large" in outcome.stderr


def test_monty_sees_copies_of_its_files_and_nothing_else():
    code = "open('/work/a', 'w').write('changed')\nprint(open('a').read())\n'value'"
    outcome = run(MONTY, code, files={"a": "b"})
    assert (outcome.stdout, outcome.stderr) == ("changed\n", "")
    with pytest.raises(BadInput):
        run(MONTY, "1", stdin="x")
    assert "ModuleNotFoundError" in run(MONTY, "import socket").stderr
    assert "PermissionError" in run(MONTY, "open('/etc/passwd')").stderr


HOST_PATHS = ["/etc", "/root", "/home", "/var", "/sys", "/bin", "/usr/bin", str(Path.home()), str(PROJECT)]


def test_no_host_file_can_be_seen():
    seen = inside(f"import os; print([p for p in {HOST_PATHS!r} + ['/etc/passwd'] if os.path.exists(p)])")
    assert seen == "[]"
    assert inside("import os; print(sorted(os.listdir('/tmp')), os.listdir('.'))") == "['work'] ['main.py']"
    code = "import glob; print(*glob.glob('/python/**/*-packages/*', recursive=True))"
    assert inside(code) == ""


def test_a_secret_file_of_the_host_is_not_reachable(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("treasure")
    code = f"""
import os
for root in ("", "/proc/1/root", "/proc/self/root", "/oldroot", "/proc/1/cwd", "/.."):
    try:
        print(open(root + {str(secret)!r}).read())
    except OSError as error:
        print(type(error).__name__)
"""
    assert "treasure" not in inside(code)


def test_nothing_can_be_written_outside_the_folder():
    code = """
import os
for folder, inner, files in os.walk("/"):
    inner[:] = [name for name in inner if folder + name not in ("/tmp", "/dev") and name != "fd"]
    for name in ["x", *(files if folder.startswith("/proc") else [])]:
        try:
            os.close(os.open(f"{folder}/{name}", os.O_WRONLY | (os.O_CREAT if name == "x" else 0)))
            print(folder, name)
        except OSError:
            pass
for name in ("/dev/x", "/dev/shm/x"):
    try:
        open(name, "w")
        print(name)
    except OSError:
        pass
"""
    assert inside(code) == ""


def test_the_disk_is_small():
    code = "for i in range(20):\n open(str(i), 'wb').write(b'x' * (1 << 20))"
    outcome = run(BUBBLE, code)
    assert "No space left" in outcome.stderr


def test_there_is_no_network():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import socket
for host in ("127.0.0.1", "10.0.0.1", "8.8.8.8"):
    try:
        socket.create_connection((host, {port}), timeout=1)
        print("connected")
    except OSError as error:
        print("refused")
print([name for _, name in socket.if_nameindex()])
"""
        assert inside(code) == "refused\nrefused\nrefused\n['lo']"


def test_no_processes_but_its_own_and_no_rights():
    code = """
import os
print(sorted(int(p) for p in os.listdir("/proc") if p.isdigit()))
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(*(int(status[name], 16) for name in ("CapEff", "CapBnd", "NoNewPrivs", "Seccomp")))
print(os.getuid(), os.uname().nodename)
"""
    assert inside(code) == "[1, 2]\n0 0 1 2\n1000 sandbox"


BOMB = """
import os, time
while True:
    try:
        os.fork()
    except OSError:
        print("no", flush=True)
        break
"""


def test_a_fork_bomb_cannot_begin():
    assert inside(BOMB) == "no"
    assert "PermissionError" in run(BUBBLE, "import subprocess, sys; subprocess.run([sys.executable])").stderr


@pytest.mark.parametrize(
    "call", ["os.memfd_create('x')", "libc.unshare(0x10000000)", "libc.shmget(0, 4096, 0o1600)"]
)
def test_doors_into_the_kernel_are_shut(call):
    code = f"import ctypes, os\nlibc = ctypes.CDLL(None, use_errno=True)\nprint({call}, ctypes.get_errno())"
    outcome = run(BUBBLE, code)
    assert "PermissionError" in outcome.stderr or outcome.stdout == "-1 1\n"


def test_threads_are_allowed():
    code = "from concurrent.futures import ThreadPoolExecutor as T\nprint(*T(4).map(abs, [-1, -2]))"
    assert inside(code) == "1 2"


def test_several_processes_are_counted_or_refused():
    several = Limits(wall_s=5, processes=4)
    if os.getuid() == 0:
        with pytest.raises(SandboxUnavailable, match="root"):
            run(BUBBLE, "1", several)
    else:
        code = "import os\nfor i in range(9):\n if os.fork() == 0: os.pause()\n print(i, flush=True)"
        assert "BlockingIOError" in run(BUBBLE, code, several).stderr


def belongings() -> tuple[int, set[str], set[Path]]:
    """Open files, child processes (zombies too) and files left in the folder for such."""
    threads = Path("/proc/self/task").iterdir()
    children = {child for thread in threads for child in (thread / "children").read_text().split()}
    return len([*Path("/proc/self/fd").iterdir()]), children, {*Path(tempfile.gettempdir()).iterdir()}


@everywhere
def test_nothing_is_left_behind(place, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    async def all_endings():
        await place.run("print(1)", limits=QUICK)
        await place.run("import time; time.sleep(60)", limits=Limits(wall_s=0.1))
        await place.run("while True: print('x' * 9999)", limits=QUICK)
        sleeper = asyncio.create_task(place.run("import time; time.sleep(60)"))
        await asyncio.sleep(0.1)
        sleeper.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sleeper

    asyncio.run(all_endings())
    before = belongings()
    asyncio.run(all_endings())
    assert belongings() == before


def running(marker: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and marker in (folder / "cmdline").read_text():
                found.append(folder.name)
        except OSError:
            continue
    return found


def eventually(condition, seconds: float = 5.0) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return bool(condition())


def test_it_dies_when_motet_is_killed():
    # Only the program itself, once it runs, has the marker in one piece among its words.
    program = f"""
import os, sys
os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(60)", "mark" "{os.getpid()}"])
"""
    code = f"""
import asyncio
from motet.tools import Limits, sandbox
asyncio.run(sandbox("bubblewrap").run({program!r}, limits=Limits(wall_s=60)))
"""
    marker = f"mark{os.getpid()}"
    host = subprocess.Popen([sys.executable, "-c", code], cwd=PROJECT)
    try:
        assert eventually(lambda: running(marker))
    finally:
        host.kill()
        host.wait()
    assert eventually(lambda: not running(marker))


def test_subprocess_kills_the_whole_group():
    code = (
        "import subprocess, sys\nsubprocess.Popen([sys.executable, '-c', 'import time; time.sleep(61.25)'])"
    )
    assert run(PLAIN, code).ok
    assert eventually(lambda: not running("sleep(61.25)"))


def test_many_at_once():
    async def many():
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(BUBBLE.run(f"print({i})", limits=QUICK)) for i in range(8)]
        return [int(task.result().stdout) for task in tasks]

    assert asyncio.run(many()) == list(range(8))


def test_names_and_no_silent_fallback(monkeypatch):
    assert isinstance(default_sandbox(), bubblewrap.Bubblewrap)
    with pytest.raises(UnknownName, match="bubblewrap"):
        sandbox("bubblewarp")
    monkeypatch.setattr(bubblewrap, "find_bwrap", lambda: "/bin/false")
    with pytest.raises(SandboxUnavailable, match=r"monty.*no isolation"):
        default_sandbox()


def test_a_bwrap_that_stops_working_is_no_outcome(monkeypatch):
    broken = sandbox("bubblewrap")
    monkeypatch.setattr(broken, "_walls", [*broken._walls, "--ro-bind", "/no/such", "/x"])
    with pytest.raises(SandboxUnavailable, match="no/such"):
        run(broken, "print(1)")


def test_the_python_tool_tells_what_happened():
    python = python_tool(limits=Limits(wall_s=0.5), characters=100)

    def told(code: str) -> str:
        return asyncio.run(python({"code": code}))

    asyncio.run(check_tool(python, {"code": "print(1)"}))
    assert told("print(6 * 7)") == "42"
    assert told("x = 1") == "[it printed nothing; use print()]"
    assert told("print('a' * 300)").count("a") < 120 and "200 characters left out" in told("print('a' * 300)")
    assert told("import sys; print('out'); sys.exit('err')") == "out\nerr\n[exit code 1]"
    assert told("while True: pass").startswith("[stopped: it took more than")
