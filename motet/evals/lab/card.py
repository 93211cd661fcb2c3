"""The card of a method: what it is, who speaks to whom, and when it helps. All of it is read off runs."""

import inspect
import re
import sys
from collections.abc import Callable
from typing import Any

from motet.evals.lab.prepared import LESSONS
from motet.evals.lab.subject import Subject, subject
from motet.evals.lab.sweep import Rivals, Sweep, marks, survey
from motet.evals.lab.words import LEGEND, heads, row
from motet.evals.lab.world import solver
from motet.methods import METHODS
from motet.methods.info import Method
from motet.models.sim import Sim
from motet.tape.keys import digest
from motet.viewer.diagram import diagram
from motet.viewer.lanes import lanes, mermaid

ITEMS = 200
MEASURED = "## When it helps\n"
ABOUT = ("Idea", "Deviates", "Failure", "Figures")
FOOT = """\
Voices: {base}; a row says what is different in it. `weak` seats have half the skill, `deceivers` lie; with \
`profile` 1 each seat is best in a topic of its own, and on the whole no better; questions say their topic. \
The gain is over self-consistency of the first seat with as many calls, on the same {items} items; where \
voices lie, as many of its samples are theirs as of the method's calls. Each row has items of its own, and \
the 95% of the intervals are for all rows together (Bonferroni; where few items differ, the exact test must \
agree): of twenty methods without effect, one has a sign. Tokens are those of a run, in brackets those of \
self-consistency. Simulated voices read no prompts: this is what the shape of a method gives, not its words.
"""


def card(
    name: str, *, on_progress: Callable[[int, int], None] | None = None, rivals: Rivals | None = None
) -> str:
    """The whole card, as Markdown; measures for some seconds.

    Args:
        on_progress: told how many worlds are done, and of how many.
        rivals: votes that other cards were held against.
    """
    there = subject(name)
    if not answers_when_able(there):
        words = "Its answer cannot be marked on simulated voices, so nothing is measured here.\n"
        return f"{head(name)}{MEASURED}\n{words}\n{stamp(there)}\n"
    found = survey(name, items=ITEMS, on_progress=on_progress, rivals=rivals)
    return f"{head(name)}{MEASURED}\n{measured(found, there)}\n{stamp(there)}\n"


def head(name: str) -> str:
    """What a card says before anything is measured; quick."""
    method, made = METHODS[name], diagram(subject(name).show().tape)
    summary = inspect.cleandoc(method.team.__doc__ or "").replace("\n\n", "\0").replace("\n", " ")
    parts = [
        f"# `{name}`",
        summary.replace("\0", "\n\n"),
        facts(method),
        *(f"**{word}:** {said}" for word in ABOUT if (said := section(method, word))),
        *([f"## Preparing it\n\n```py\n{lines}\n```"] if (lines := preparing(method)) else []),
        "## Who speaks to whom",
        f"Read off a run on simulated voices: calls {made.calls}, one after another {made.steps}.",
        f"```text\n{lanes(made).plain.rstrip()}\n```",
        f"```mermaid\n{mermaid(made)}```",
    ]
    return "\n\n".join(parts) + "\n\n"


def facts(method: Method) -> str:
    """What is known of a method, as a table."""
    voices = ", ".join(f"`{v}` (a group)" if group else f"`{v}`" for v, group in method.team.voices.items())
    knobs = ", ".join(f"`{k}={v!r}`" for k, v in method.team.knobs.items())
    rows = [
        ("family", method.family),
        ("paper", method.source),
        ("voices", voices),
        ("knobs", knobs or "none"),
        ("calls", f"`{method.calls}`"),
    ]
    return "| | |\n|---|---|\n" + "\n".join(f"| {name} | {words} |" for name, words in rows)


def section(method: Method, word: str) -> str:
    """What the docstring of a method's file says under a word, as `Deviates`: up to an indented block."""
    found = re.search(rf"^{word}: (.*?)(?=^[A-Z]\w+: |^ |\Z)", _about(method), re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()) if found else ""


def preparing(method: Method) -> str:
    """The lines of code at the end of that docstring, which make the method ready; often there are none."""
    found = re.search(r"\n\n((?: {4}.*\n|\n)+)\Z", _about(method))
    return inspect.cleandoc(found[1]) if found else ""


def _about(method: Method) -> str:
    return sys.modules[method.team.function.__module__].__doc__ or ""


def measured(found: Sweep, there: Subject) -> str:
    """The figures: the sentence, the signs, and the table."""
    base, titles = ", ".join(f"{k} {v:g}" for k, v in found.base.items()), heads(found)
    about = [FOOT.format(base=base, items=found.items)]
    if there.training:
        words = inspect.cleandoc(there.training.__doc__ or "").partition("\n")[0]
        about.append(
            f"It was made ready in each world on {LESSONS} other items: {words[0].lower()}{words[1:]} Since "
            "liars may be found out so, as many of self-consistency's samples are theirs as of the seats.\n"
        )
    table = [
        titles,
        ("---", "---", *["--:"] * (len(titles) - 2)),
        *(row(found, cell) for cell in found.cells),
    ]
    return "\n".join(
        [
            f"{found.verdict}\n",
            f"```text\n{found.heat()}\n\n{LEGEND}\n```\n",
            *(f"| {' | '.join(cells)} |" for cells in table),
            "",
            "\n".join(about),
        ]
    )


def answers_when_able(there: Subject) -> bool:
    """Whether voices that are always right make a team that mostly is: else marks would say nothing."""
    sure, _ = marks(there.cast("sim:skill=1,judge=1"), there.task, range(10))
    return sum(sure) > 5


def stamp(there: Subject) -> str:
    """What the figures hang on, as a comment: while it stays, they need not be measured again."""
    parts: list[Any] = [Sweep, Sim, solver, *there.acts.values(), *filter(None, [there.training])]
    laboratory = [inspect.getsource(sys.modules[part.__module__]) for part in parts]
    cast = there.cast("sim:skill=0.6").identity
    return f"<!-- measured {digest(cast, there.task, ITEMS, laboratory)[:16]} -->"
