"""Runs all contestants and prints one table: `python -m benchmarks.overhead [--quick] [NAME …]`."""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.overhead.contestant import CONTESTANTS
from benchmarks.overhead.environments import ROOT, NotInstallable, python_of, versions
from benchmarks.overhead.measure import FULL, QUICK
from benchmarks.overhead.report import REFERENCE, Rounds, markdown, summary

RESULTS = ROOT / "benchmarks" / "results" / "overhead.json"


def main() -> None:
    """Measure round by round, so that a busy minute of the machine hits every contestant."""
    options = _options()
    pythons = _environments(options.names)
    rounds: Rounds = {name: [] for name in pythons}
    for number in range(1 if options.quick else options.rounds):
        for name, python in pythons.items():
            begun = time.perf_counter()
            if numbers := _measured(name, python, options.quick):
                rounds[name].append(numbers)
            print(f"round {number + 1}: {name} {time.perf_counter() - begun:.1f} s", file=sys.stderr)
    sizes = QUICK if options.quick else FULL
    used = [v for name in pythons for v in versions(CONTESTANTS[name])]
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    about = f"{machine}, Python {platform.python_version()}"
    print(f"{about}; {', '.join(dict.fromkeys(used))}\n\n{markdown(rounds, **sizes._asdict())}\n")
    print(f"median (smallest–largest of {len(rounds[REFERENCE])} rounds), ×ratio to {REFERENCE}")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": about, "versions": used, "results": summary(rounds)}, indent=1))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overhead", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(CONTESTANTS)}; all by default"
    )
    parser.add_argument("--quick", action="store_true", help="one round with small sizes")
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (default 5)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(CONTESTANTS):
        parser.error(f"unknown contestant {', '.join(sorted(unknown))}; expected {', '.join(CONTESTANTS)}")
    options.names = [n for n in CONTESTANTS if n in {REFERENCE, *options.names} or not options.names]
    return options


def _environments(names: list[str]) -> dict[str, Path]:
    pythons: dict[str, Path] = {}
    for name in names:
        try:
            pythons[name] = python_of(CONTESTANTS[name])
        except NotInstallable as error:
            print(f"{name} is left out, it cannot be installed here: {error}")
    return pythons


def _measured(name: str, python: Path, quick: bool) -> dict[str, float]:
    """The numbers of one contestant, from a process of its own; none, and the reason printed, if it fails."""
    command = [str(python), "-m", "benchmarks.overhead.measure", name, *(["--quick"] if quick else [])]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{name} failed:\n{done.stderr[-2000:]}")
        return {}
    numbers: dict[str, float] = json.loads(done.stdout)
    return numbers


if __name__ == "__main__":
    main()
