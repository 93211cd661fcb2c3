"""Write the generated pages: the table of `docs/methods.md`, and a card for each method in `docs/methods/`.

    python scripts/docs.py [--all] [--jobs N] [NAME …]

A card's figures are measured again when the method, its example or the worlds have changed (`--all`: always);
what a card says besides is always written anew.
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from motet.evals.lab.card import MEASURED, card, head, section, stamp
from motet.evals.lab.subject import subject
from motet.evals.lab.sweep import Rivals
from motet.methods import METHODS
from motet.methods.info import Method

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
CARDS = PAGE.parent / "methods"
RIVALS = Rivals()  # of one process: many methods are held against the same votes
HEAD = "| method | family | paper | system | calls | deviates from the paper |\n|---|---|---|---|---|---|\n"


def row(method: Method) -> str:
    cells = (
        f"[`{method.name}`](methods/{method.name}.md)",
        method.family,
        method.paper,
        str(method.system or "–"),
        f"`{method.calls}`",
        section(method, "Deviates") or "–",
    )
    return f"| {' | '.join(cells)} |\n"


def write_card(name: str, anew: bool) -> str:
    """Write one card; says what was done."""
    path = CARDS / f"{name}.md"
    before = path.read_text() if path.exists() else ""
    if not anew and stamp(subject(name)) in before:
        path.write_text(head(name) + before[before.index(MEASURED) :])
        return f"{path.name}: figures kept"
    path.write_text(card(name, rivals=RIVALS))
    return f"{path.name}: measured"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="of methods; all by default")
    parser.add_argument("--all", action="store_true", help="measure also what has not changed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    options = parser.parse_args()
    before, _, rest = PAGE.read_text().partition("| method |")
    after = rest[rest.index("\n\n") :]
    PAGE.write_text(before + HEAD + "".join(map(row, METHODS.values())).rstrip() + after)
    CARDS.mkdir(exist_ok=True)
    for gone in {path.stem for path in CARDS.glob("*.md")} - {*METHODS}:
        (CARDS / f"{gone}.md").unlink()
    names = options.names or list(METHODS)
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in pool.map(write_card, names, [options.all] * len(names)):
            print(done, flush=True)
    print(f"{PAGE.name}: {len(METHODS)} methods")


if __name__ == "__main__":
    main()
