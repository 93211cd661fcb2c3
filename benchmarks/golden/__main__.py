"""Prints how far Motet's formulas are from TRL's and verl's; fails if that is too far."""

import argparse
import json
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

from benchmarks.golden.ours import OURS, Numbers
from benchmarks.overhead.environments import ROOT, python_in

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
KEPT = ROOT / "tests" / "golden.json"
TOLERANCE = 1e-6


def main() -> int:
    """Compare, and keep their numbers if asked to."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.golden", description=__doc__)
    parser.add_argument(
        "--write", action="store_true", help=f"keep their numbers in {KEPT.relative_to(ROOT)}"
    )
    options = parser.parse_args()
    theirs = _theirs(python_in("golden", REQUIREMENTS, "--no-deps"))
    worst = {name: distance(OURS[name](), numbers) for name, numbers in theirs.items()}
    print("| formula | numbers | largest difference |\n|---|---|---|")
    for name, far in worst.items():
        print(f"| {name} | {len(theirs[name])} | {far:.1e}{'' if far <= TOLERANCE else ' TOO FAR'} |")
    if options.write:
        pinned = [line for line in REQUIREMENTS.read_text().splitlines() if "==" in line]
        about = {"made by": "python -m benchmarks.golden --write", "with": ", ".join(pinned)}
        rounded = {name: [float(f"{x:.10g}") for x in row] for name, row in theirs.items()}
        lines = [f" {json.dumps(name)}: {json.dumps(row)}" for name, row in (about | rounded).items()]
        KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
    return int(max(worst.values()) > TOLERANCE)


def distance(ours: Numbers, theirs: Numbers) -> float:
    """The largest difference between two rows of numbers."""
    return max(abs(a - b) for a, b in zip(ours, theirs, strict=True))


def _theirs(python: Path) -> dict[str, Numbers]:
    # Packages of this environment come after those of its own.
    paths = {"PYTHONPATH": "", "GOLDEN": sysconfig.get_paths()["purelib"]}
    start = "import os, site, runpy; site.addsitedir(os.environ['GOLDEN']); "
    start += "runpy.run_module('benchmarks.golden.theirs', run_name='__main__')"
    done = subprocess.run(
        [str(python), "-c", start],
        cwd=ROOT,
        env=os.environ | paths,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"TRL or verl failed:\n{done.stderr[-3000:]}")
    found: dict[str, Numbers] = json.loads(done.stdout)
    return found


if __name__ == "__main__":
    sys.exit(main())
