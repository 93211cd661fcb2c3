"""The folder of a training run: one owner at a time, a curve that is appended to, checkpoints that are whole.

RUN/curve.jsonl             one line an iteration
RUN/checkpoints/000020/     a file for each policy, and `state.json`, written last
RUN/pool/                   policies kept as opponents
RUN/tapes.sqlite            every rollout
RUN/report.html             curves, samples, ledger; kept up to date while the run goes on
RUN/report.md
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec import Struct

from motet.errors import BadInput, MotetError
from motet.train.engine import Engine
from motet.train.plan import Stop
from motet.train.report import Dialogue
from motet.train.rows import Ledger

KEPT = 2
"""Checkpoints that are kept; older ones are removed."""

FREE = ("iterations", "at_once", "evaluate_every", "checkpoint_every", "keep_tapes", "stop")
"""What may be different when a run is resumed."""

Line = dict[str, float]


class State(Struct, kw_only=True):
    """All that is needed to go on, beside the files of the policies. No generator has a state here: every
    seed is derived from the run's seed and the iteration.

    Args:
        iteration: how many are done.
        plan: what was asked for.
        credit: running baselines.
        ratings: Elo of each member of the pool, and of `now`.
        pool: names of the members, oldest first.
        ledger: counts of the drift ledger, and of what was rejected.
        best: the best value of the watched metric, and for how many lines it has not been better.
        rival: the past self that was met last.
        samples: dialogues of the first rollouts, to look at beside the last.
    """

    plan: dict[str, Any]
    iteration: int = 0
    credit: dict[str, float] = {}
    ratings: dict[str, float] = {}
    pool: list[str] = []
    ledger: dict[str, dict[str, int]] = {}
    best: float | None = None
    waited: int = 0
    stopped: str = ""
    samples: list[Dialogue] = []
    rival: str = ""

    def note(self, ledger: Ledger, samples: list[Dialogue]) -> None:
        """Add what one iteration brought."""
        total = self.drift() + ledger
        self.ledger = {"counts": dict(total.counts), "rejected": dict(total.rejected)}
        self.samples = self.samples or samples

    def drift(self) -> Ledger:
        """The drift ledger of all iterations."""
        return Ledger(Counter(self.ledger.get("counts", {})), Counter(self.ledger.get("rejected", {})))

    def watch(self, stop: Stop | None, line: Mapping[str, float]) -> None:
        """Look whether it is time to stop."""
        if stop is None or (value := line.get(stop.metric)) is None:
            return
        self.waited += 1
        if self.best is None or stop.better(value, self.best):
            self.best, self.waited = value, 0
        if stop.reached(value):
            self.stopped = f"{stop.metric} is {value:.4g}, the target {stop.target:g}"
        elif self.waited >= stop.patience:
            self.stopped = f"{stop.metric} has not been better than {self.best:.4g} for {self.waited} lines"


class Folder:
    """A run's folder, held until it is closed.

    Raises:
        BadInput: another process holds it. MotetError: it cannot be written.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        try:
            (self.path / "pool").mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.path / "lock")
        except OSError as error:
            raise MotetError(f"cannot write the run folder {self.path}: {error}") from error
        self._curve: IO[str] | None = None

    def open(self, plan: dict[str, Any], engine: Engine, policies: Iterable[str], *, resume: bool) -> State:
        """Begin, or go on where the last checkpoint was, which holds a file for each of `policies`.

        Raises:
            BadInput: there is a run already and `resume` is off, or it is of another plan. MotetError: the
                last checkpoint is cut short, or lacks a file.
        """
        if found := self.checkpoints():
            if not resume:
                raise BadInput(
                    f"{self.path} holds a run with {int(found[-1].name)} iterations; resume it, or give "
                    f"another folder"
                )
            state = self._resume(found[-1], engine, policies, plan)
            state.stopped = "" if plan["stop"] != state.plan["stop"] else state.stopped
            state.plan = plan
            return state
        (self.path / "curve.jsonl").unlink(missing_ok=True)
        return State(plan=plan)

    def _resume(self, place: Path, engine: Engine, policies: Iterable[str], plan: Mapping[str, Any]) -> State:
        """Put the engine and the curve back to a checkpoint of this plan."""
        try:
            state = msgspec.json.decode((place / "state.json").read_bytes(), type=State)
            self._check(plan, state.plan)
            for policy in policies:
                if not (file := place / f"{policy}.safetensors").exists():
                    raise MotetError(f"{file.name} is missing")
                engine.load(policy, file)
        except BadInput:
            raise
        except (msgspec.DecodeError, MotetError) as error:
            raise MotetError(
                f"the checkpoint {place} is damaged ({error}); remove it to go on from the one before it"
            ) from error
        lines = [line for line in self.curve() if line["iteration"] <= state.iteration]
        _write(self.path / "curve.jsonl", b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
        return state

    def _check(self, plan: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        for name in plan:
            if name not in FREE and plan[name] != before.get(name):
                raise BadInput(
                    f"{self.path} holds another run: its {name} is {before.get(name)!r}, not "
                    f"{plan[name]!r}; give another folder"
                )

    def checkpoints(self) -> list[Path]:
        """The whole ones, oldest first."""
        return sorted(path.parent for path in (self.path / "checkpoints").glob("[0-9]*/state.json"))

    def checkpoint(self, engine: Engine, policies: Iterable[str], state: State) -> None:
        """Write all there is beside its place and move it there, so that it is whole or not there at all."""
        place = self.path / "checkpoints" / f"{state.iteration:06}"
        beside = place.with_name(f".{place.name}")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        for policy in policies:
            engine.save(policy, beside / f"{policy}.safetensors")
        _write(beside / "state.json", msgspec.json.encode(state))
        shutil.rmtree(place, ignore_errors=True)
        beside.rename(place)
        for old in self.checkpoints()[:-KEPT]:
            shutil.rmtree(old)

    def log(self, line: Line) -> None:
        """Add a line to the curve, at once."""
        if self._curve is None:
            self._curve = (self.path / "curve.jsonl").open("a")
        self._curve.write(msgspec.json.encode(line).decode() + "\n")
        self._curve.flush()

    def curve(self) -> list[Line]:
        """The curve so far. A last line that was cut short by a kill is left out."""
        file = self.path / "curve.jsonl"
        text = file.read_text() if file.exists() else ""
        whole = text[: text.rfind("\n") + 1]
        return [msgspec.json.decode(line, type=Line) for line in whole.splitlines()]

    def pool(self, name: str) -> Path:
        """Where a member of the pool lies."""
        return self.path / "pool" / f"{name}.safetensors"

    def close(self) -> None:
        """Let go of the folder."""
        if self._curve:
            self._curve.close()
        self._lock.close()


def _locked(path: Path) -> IO[str]:
    """Hold a file; the system lets go of it when the process ends, however that happens."""
    import fcntl

    file = path.open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        holder = file.read().strip() or "unknown"
        file.close()
        raise BadInput(
            f"the run folder {path.parent} is in use by process {holder}; wait for it, or give another folder"
        ) from None
    file.truncate(0)
    file.write(f"{os.getpid()}\n")
    file.flush()
    return file


def _write(path: Path, data: bytes) -> None:
    beside = path.with_name(f".{path.name}")
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
