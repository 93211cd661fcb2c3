"""A helper process for marking that may hang, eat memory, or depend on the hash seed.

Symbolic mathematics can run for ever on a short formula and cannot be stopped in a thread; some generators
of reasoning-gym give other items under another hash seed. So both run in one child process, which is
started when first needed, keeps nothing of our environment (no keys), and is killed when it takes too long.
"""

import asyncio
import atexit
import os
import subprocess
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

JOBS = {
    "math.agree": "motet.evals.scorers.math",
    "reasoning_gym.families": "motet.evals.suites.reasoning_gym",
    "reasoning_gym.entries": "motet.evals.suites.reasoning_gym",
    "reasoning_gym.mark": "motet.evals.suites.reasoning_gym",
}
MEMORY_BYTES = 4 << 30


class JobFailed(Exception):
    """The job raised, ran out of time or of memory; the message says which."""


class Worker:
    """The child process, started again after each one that had to be killed. Safe to share by threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: subprocess.Popen[bytes] | None = None

    def do(self, job: str, *args: Any, timeout_s: float) -> Any:
        """Run one of `JOBS` in the child; arguments and result travel as JSON.

        Raises:
            JobFailed: it raised, or did not end within `timeout_s` seconds.
        """
        with self._lock:
            if self._child and self._child.poll() is not None:
                self._close()
            child = self._child = self._child or _start()
            assert child.stdin and child.stdout
            alarm = threading.Timer(timeout_s, child.kill)
            alarm.start()
            try:
                child.stdin.write(msgspec.json.encode([job, args]) + b"\n")
                child.stdin.flush()
                line = child.stdout.readline()
            except BrokenPipeError:
                line = b""
            finally:
                alarm.cancel()
            if not line.endswith(b"\n"):
                self._close()
                raise JobFailed(f"{job} was stopped: more than {timeout_s:g} s or too much memory")
        error, result = msgspec.json.decode(line)
        if error is not None:
            raise JobFailed(error)
        return result

    async def ado(self, job: str, *args: Any, timeout_s: float) -> Any:
        """Do the same without holding up the event loop."""
        return await asyncio.to_thread(self.do, job, *args, timeout_s=timeout_s)

    def close(self) -> None:
        """End the child; the next job starts another."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        child, self._child = self._child, None
        if child:
            child.kill()
            child.communicate()


def _start() -> subprocess.Popen[bytes]:
    env = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    env |= {"PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONHASHSEED": "0"}
    command = [sys.executable, "-P", "-m", "motet.evals.worker"]
    return subprocess.Popen(
        command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def _serve() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print must not mix with our answers
    for line in sys.stdin.buffer:
        job, args = msgspec.json.decode(line)
        try:
            reply = [None, getattr(import_module(JOBS[job]), job.partition(".")[2])(*args)]
        except Exception as error:  # the boundary of the child: whatever goes wrong is told, not died of
            reply = [f"{type(error).__name__}: {error}", None]
        out.write(msgspec.json.encode(reply) + b"\n")
        out.flush()


WORKER = Worker()
atexit.register(WORKER.close)

if __name__ == "__main__":
    _serve()
