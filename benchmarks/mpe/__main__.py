"""Trains both on every seed and prints the table."""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.mpe import __doc__ as about
from benchmarks.mpe.jobs import ALGORITHMS, CONTESTANTS, Job, jobs, name_of
from benchmarks.overhead.environments import ROOT, python_in
from motet.envs.players import PLAYERS
from motet.evals.stats import mean_ci
from recipes.mpe_mappo import GROUPS, returns, shown

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
RESULTS = ROOT / "benchmarks" / "results" / "mpe"
NAMES = {
    "motet": "Motet",
    "benchmarl": "BenchMARL",
    "benchmarl-ends": "BenchMARL, an end that is one",
}
Found = dict[str, Any]


def main() -> None:
    """Run what has not been run, and tell what all came to."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.mpe", description=(about or "").split("\n\n")[0]
    )
    parser.add_argument("--contestants", nargs="+", choices=CONTESTANTS, default=CONTESTANTS)
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--frames", type=int, default=40_000)
    parser.add_argument("--groups", type=int, default=GROUPS, help="episodes of an iteration")
    parser.add_argument("--episodes", type=int, default=200, help="held-out episodes")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    theirs = python_in("mpe", REQUIREMENTS, "--no-deps")
    RESULTS.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(given.processes) as pool:
        every = jobs(given.seeds, given.frames, given.groups, given.episodes)
        wanted = [j for j in every if j["who"] in given.contestants and j["algorithm"] in given.algorithms]
        runs = list(pool.map(lambda job: (job, _found(job, theirs)), wanted))
    print("| player | return of an agent | shared return | frames a second of one core |")
    print("|---|--:|--:|--:|")
    print(f"| random | {shown(returns(PLAYERS['random'], given.episodes))} | |")
    for algorithm in given.algorithms:
        _print_rows(algorithm, given.contestants, runs)


def _print_rows(algorithm: str, contestants: Sequence[str], runs: Sequence[tuple[Job, Found]]) -> None:
    """What all made of one algorithm, and by how much Motet is better."""
    marks = {who: _marks(runs, who, algorithm) for who in contestants}
    for who in contestants:
        mine = [found for job, found in runs if _is(job, who, algorithm)]
        speed = sum(found["frames"] for found in mine) / sum(found["cpu"] for found in mine)
        print(f"| {NAMES[who]}, {algorithm.upper()} | {shown(marks[who])} | {speed:.0f} |")
    for who in contestants:
        if who != "motet" and "motet" in contestants:
            better = [a - b for a, b in zip(marks["motet"], marks[who], strict=True)]
            print(f"| Motet − {NAMES[who]}, {algorithm.upper()} | {_difference(better)} | | |")
        print(f"{NAMES[who]} by seed: {', '.join(f'{x:.2f}' for x in marks[who])}", file=sys.stderr)


def _is(job: Job, who: str, algorithm: str) -> bool:
    return (job["who"], job["algorithm"]) == (who, algorithm)


def _marks(runs: Sequence[tuple[Job, Found]], who: str, algorithm: str) -> list[float]:
    """The mean return of an agent on the held-out episodes, seed by seed."""
    mine = [found["returns"] for job, found in runs if _is(job, who, algorithm)]
    return [sum(marks) / len(marks) for marks in mine]


def _difference(better: Sequence[float]) -> str:
    mean = sum(better) / len(better)
    if len(better) < 2:
        return f"{mean:+.2f}"
    interval = mean_ci(better)
    return f"{mean:+.2f} [{interval.low:+.2f}, {interval.high:+.2f}]"


def _found(job: Job, theirs: Path) -> Found:
    """What came of a run: kept from an earlier call, or run in a process of its own."""
    kept = RESULTS / f"{name_of(job)}.json"
    if kept.exists() and (old := json.loads(kept.read_text(encoding="utf-8")))["job"] == job:
        return dict(old["found"])
    print(f"running {name_of(job)} …", file=sys.stderr, flush=True)
    command, more = _command(job, theirs)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"} | more,
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{name_of(job)} failed:\n{done.stderr[-3000:]}")
    found: Found = json.loads(done.stdout.splitlines()[-1])  # a logger of torchrl's writes lines before
    kept.write_text(json.dumps({"job": job, "found": found}), encoding="utf-8")
    return found


def _command(job: Job, theirs: Path) -> tuple[list[str], dict[str, str]]:
    if job["who"] == "motet":
        return [sys.executable, "-m", "benchmarks.mpe.ours"], {}
    # Packages of this environment come after those of its own.
    start = "import os, site; site.addsitedir(os.environ['BESIDE']); "
    start += "from benchmarks.mpe.theirs import main; main()"
    return [str(theirs), "-c", start], {"PYTHONPATH": "", "BESIDE": sysconfig.get_paths()["purelib"]}


if __name__ == "__main__":
    main()
