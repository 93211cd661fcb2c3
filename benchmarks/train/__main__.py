"""Runs all contestants, a round after another, and prints two tables: `python -m benchmarks.train`."""

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.train.contestants import CONTESTANTS, NEW, PROMPTS, SAMPLES, converted_weights

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "train.json"
PAIRS = (
    ("motet", "trl"),
    ("motet", "trl-recompute"),
    ("motet-two", "trl-two"),
    ("motet-two", "motet"),
)
MEASURES = {"rollout": "rollout, tok/s", "update": "update, tok/s", "mib": "peak memory, MiB"}
Numbers = dict[str, float]


def main() -> None:
    """Measure round by round; Ctrl-C ends it with the rounds that are complete."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each is measured (default 5)")
    parser.add_argument("--cpu", action="store_true", help="processor seconds: for a machine others use too")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of {', '.join(CONTESTANTS)}; all by default"
    )
    options = parser.parse_args()
    if unknown := set(options.names) - set(CONTESTANTS):
        parser.error(f"unknown contestant {', '.join(sorted(unknown))}; expected {', '.join(CONTESTANTS)}")
    names = [n for n in CONTESTANTS if n in options.names or not options.names]
    rounds = _measured(names, options.rounds, ["--cpu"] if options.cpu else [])
    if not rounds:
        sys.exit("ended before the first round was complete")
    packages = ("torch", "transformers", "peft", "trl")
    used = [f"{n} {importlib.metadata.version(n)}" for n in packages if importlib.util.find_spec(n)]
    about = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores; {', '.join(used)}"
    print(f"{about}; {len(rounds)} rounds of {PROMPTS} prompts × {SAMPLES} replies × {NEW} tokens")
    print("seconds are the processor's, of all threads\n" if options.cpu else "seconds are the clock's\n")
    print_tables({name: [row[name] for row in rounds] for name in rounds[0]})
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps({"machine": about, "rounds": rounds}, indent=1))


def _measured(names: list[str], count: int, flags: list[str]) -> list[dict[str, Numbers]]:
    if importlib.util.find_spec("trl") is None:
        print("TRL is not installed, so Motet runs alone; to compare: pip install trl")
        names = [name for name in names if "trl" not in name]
    found: list[dict[str, Numbers]] = []
    converted_weights()  # once, before anybody's memory is weighed
    with contextlib.ExitStack() as stack:
        children = {name: stack.enter_context(_child(name, flags)) for name in names}
        stack.enter_context(contextlib.suppress(KeyboardInterrupt))
        for number in range(count + 1):
            row = {}
            for name, child in children.items():
                row[name] = _step(name, child)
                print(f"round {number or 'of warm-up'}: {name}", file=sys.stderr, flush=True)
            if number:
                found.append(row)
    return found


@contextlib.contextmanager
def _child(name: str, flags: list[str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "benchmarks.train.contestants", name, *flags]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def _step(name: str, child: subprocess.Popen[str]) -> Numbers:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write("\n")
    child.stdin.flush()
    if not (line := child.stdout.readline()):
        raise SystemExit(f"{name} ended early; see why: echo | python -m benchmarks.train.contestants {name}")
    numbers: Numbers = json.loads(line)
    return numbers


def print_tables(rounds: dict[str, list[Numbers]]) -> None:
    """Speeds and memory, then the ratios of those that are to be compared."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=110)
    speeds = Table("contestant", *MEASURES.values(), title="median (lowest to highest)")
    for name, rows in rounds.items():
        speeds.add_row(name, *(_span([row[key] for row in rows], "{:,.0f}") for key in MEASURES))
    console.print(speeds)
    ratios = Table("ratio, round by round", *MEASURES.values())
    for one, other in PAIRS:
        if one in rounds and other in rounds:
            both = list(zip(rounds[one], rounds[other], strict=True))
            cells = [_span([a[key] / b[key] for a, b in both], "{:.2f}") for key in MEASURES]
            ratios.add_row(f"{one} / {other}", *cells)
    console.print(ratios)


def _span(values: list[float], form: str) -> str:
    middle, low, high = (form.format(x) for x in (median(values), min(values), max(values)))
    return f"{middle} ({low} to {high})"


if __name__ == "__main__":
    main()
