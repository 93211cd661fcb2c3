"""What voices of the same weights save by sharing keys and values: `python -m benchmarks.latent [--n 40]`.

First, teams of four answer sums: they hand over words or thoughts (LatentMAS). Then reports of one form are
put behind four beginnings (KVCOMM), and what is expected next is compared with that after the whole prompt
computed: for keys and values that are only turned to their place, and for those with the offset of anchors.
At last five voices, each of which reads what all said, work on such reports. On the embedded model, in 32
bits; half an hour of one core. Seconds are the processor's.
"""

import argparse

from rich.console import Console
from rich.table import Table

from benchmarks.latent import handover, reuse
from motet.models.trainable.weights import Policy, load_base

MODEL = "smollm2-135m"


def main() -> None:
    """Measure and print three tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.latent")
    parser.add_argument("--n", type=int, default=40, help="sums for each team (40)")
    options = parser.parse_args()
    base = load_base(MODEL)
    policy = Policy(base, base.module)
    reuse.expected(policy, base.vocabulary.encode("Hello."), None, ())
    console = Console(width=110)
    for title, columns, rows in (
        (
            f"{options.n} sums, {handover.WORDS} tokens a reply",
            handover.COLUMNS,
            handover.teams(policy, options.n),
        ),
        (reuse.TITLE, reuse.COLUMNS, reuse.prompts(policy)),
        (reuse.TEAM_TITLE, reuse.TEAM_COLUMNS, reuse.team(policy)),
    ):
        table = Table(*columns, title=title)
        for row in rows:
            table.add_row(*row)
        console.print(table)
    found = handover.lossless(policy)
    console.print(f"prompts handed over against one long prompt: no logit differs by more than {found:.1e}")


if __name__ == "__main__":
    main()
