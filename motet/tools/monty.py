"""A sandbox without a system: Monty, a small Python interpreter written for code by models.

It knows a useful subset of the language and few modules, and starts in a few milliseconds. It has no
network and no stdin; the only files it sees are those given, as copies in memory.
"""

import contextlib
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from motet.errors import BadInput, MissingExtra, SandboxUnavailable
from motet.tools.process import blob, judge, kill_group, last_line, run_process, write_files
from motet.tools.sandbox import MAIN, Limits, Outcome, check_files, to_bytes

TIMING = re.compile(r"^[\d.]+[nμm]?s ❯ (?:error: )?", re.MULTILINE)


class Monty:
    """The program `monty` of the package pydantic-monty, one process for each run.

    Of the limits, `file_mb`, `disk_mb` (beyond the files given) and `processes` mean nothing here: a
    program cannot write to a disk or start another, and what it keeps counts as memory.

    Raises:
        MissingExtra: the package is not installed.
        SandboxUnavailable: the package came without its program.
    """

    def __init__(self) -> None:
        try:
            from pydantic_monty._binary import find_monty_binary
        except ImportError as error:
            raise MissingExtra("pydantic-monty", "sandbox") from error
        try:
            self._program = find_monty_binary()
        except FileNotFoundError as error:
            raise SandboxUnavailable(str(error)) from error

    async def run(
        self,
        code: str,
        *,
        files: Mapping[str, str | bytes] = {},
        stdin: str = "",
        limits: Limits = Limits(),
    ) -> Outcome:
        """See `Sandbox.run`; `stdin` must be empty."""
        if stdin:
            raise BadInput(f"monty has no stdin, got {stdin[:50]!r}; pass a file, or use another sandbox")
        contents = {MAIN: to_bytes(code), **check_files(files, limits)}
        with contextlib.ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="motet-"))
            write_files(Path(folder), contents)
            argv = [self._program, "--max-memory", f"{limits.memory_mb}MB"]
            argv += ["--max-feed-duration", str(limits.cpu_s), "--max-sleep", "inf"]
            argv += ["--mount", f"{folder}::/work::overlay", MAIN]
            ended = await run_process(
                argv, limits=limits, stdin=blob(b"", stack), kill=kill_group, env={}, cwd=folder
            )
        outcome = judge(ended, limits)
        # The program ends with a report of its own: how long it took, and a value or the error.
        said, *report = TIMING.split(outcome.stderr)
        stderr = said + "".join(report) * (not outcome.ok)
        late = outcome.reason == "error" and last_line(stderr).startswith("TimeoutError")
        return msgspec.structs.replace(outcome, stderr=stderr, reason="timeout" if late else outcome.reason)
