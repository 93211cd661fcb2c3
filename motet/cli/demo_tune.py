"""The end of `motet demo`: its team is tuned on its own verified runs, and measured before and after."""

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from motet.agent import Agent
from motet.answers import canonical, extract
from motet.cli.output import make_table, note
from motet.errors import MissingExtra
from motet.evals.stats import Interval, mean_ci, paired_bootstrap
from motet.evals.suite import load_suite
from motet.evals.tables import difference, percent
from motet.teams import Team
from motet.types import Sampling, Task

if TYPE_CHECKING:
    from rich.table import Table

    from motet.run import Run
    from motet.tape import Tape
    from motet.train.builders.data import Example
    from motet.train.engine import Engine

POLICY = "team"
DRAWN = 1500
"""Items that are made to find all different ones; the demo's suite has about two hundred."""


class Size(Struct, frozen=True):
    """How much is done.

    Args:
        train, held: items; `draws` runs are made of each training item.
        rows: the most replies that are learned from, each `epochs` times, at the rate `lr`.
        tokens: the most of a reply.
    """

    train: int = 40
    held: int = 60
    draws: int = 4
    rows: int = 96
    epochs: int = 2
    tokens: int = 24
    lr: float = 2e-3


class Part(Struct, frozen=True):
    """What the team, or its first draft alone, is worth before and after, and the difference by item."""

    before: Interval
    after: Interval
    gain: Interval


class Tuned(Struct, frozen=True):
    """What came of it.

    Args:
        runs, verified: runs of the team on training items, and those of them whose answer was right.
        rows, steps: replies learned from, and optimiser steps.
        adapter: the name by which the tuned model runs again.
        parts: `team`, and `draft`: the writer's first reply.
    """

    runs: int
    verified: int
    rows: int
    steps: int
    held: int
    seconds: float
    adapter: str
    parts: dict[str, Part]

    def table(self) -> "Table":
        """Before, after and the gain, with 95 % intervals."""
        titles = {"team": "the team of three calls", "draft": "its first draft alone"}
        rows = [
            (titles[name], percent(part.before), percent(part.after), difference(part.gain))
            for name, part in self.parts.items()
        ]
        return make_table(
            (f"right of {self.held} held-out items", "before", "after", "gain"), rows, right=(1, 2, 3)
        )


def trainable(model: str) -> str | None:
    """The weights behind a model's name that torch can tune; None when there are none on this machine."""
    family, _, rest = model.partition(":")
    if family == "torch":
        return rest
    return (rest or "smollm2-135m") if family == "local" and rest in ("", "smollm2-135m") else None


def tune_team(
    team: Team[Any], base: str, suite: str, adapter: Path, *, seed: int = 0, size: Size = Size()
) -> Tuned:
    """Rejection sampling: keep the runs whose answer is right, imitate every reply in them that is not wrong.

    One LoRA adapter is tuned for all voices (the idea is STaR's, Zelikman et al. 2022, arXiv:2203.14465).

    Args:
        base: what follows `torch:` in a model's name.
        adapter: where the tuned policy is kept.

    Raises:
        MissingExtra: torch is not installed.
    """
    try:
        from motet.train import torch_engine
    except ModuleNotFoundError as error:
        raise MissingExtra(error.name or "torch", "train") from None
    from motet.models.trainable.weights import load_base
    from motet.train import REFERENCE
    from motet.train.play import play

    begun = time.perf_counter()
    weights = load_base(base)
    engine = torch_engine(weights, (POLICY,))
    train, held = split(load_suite(suite, DRAWN, seed).tasks, size, seed)
    work = [(task, seed) for task in held]

    def cast(policy: str) -> Team[Any]:
        knobs = Sampling(temperature=0.7, max_tokens=size.tokens)
        return team.cast(**dict.fromkeys(team.voices, Agent(engine.model(policy), sampling=knobs)))

    before = play(cast(REFERENCE), work, "held-out items, before")
    note(f"   {time.perf_counter() - begun:4.0f} s  measured before tuning")
    draws = [(task, seed + i) for task in train for i in range(size.draws)]
    tapes = [run.tape for run in play(cast(REFERENCE), draws, "runs to learn from")]
    verified, examples = lessons(tapes, seed)
    note(f"   {time.perf_counter() - begun:4.0f} s  {verified} of {len(tapes)} runs are right")
    rows, steps = learn(engine, weights.vocabulary, examples[: size.rows], size, seed)
    note(f"   {time.perf_counter() - begun:4.0f} s  {rows} replies learned in {steps} steps")
    after = play(cast(POLICY), work, "held-out items, after")
    engine.save(POLICY, adapter)
    parts = {"team": _part(before, after, _answer), "draft": _part(before, after, _draft)}
    seconds = time.perf_counter() - begun
    return Tuned(len(tapes), verified, rows, steps, len(held), seconds, f"torch:{adapter}", parts)


def lessons(tapes: "Sequence[Tape]", seed: int) -> "tuple[int, list[Example]]":
    """How many runs are right, and what there is to imitate in them, in a drawn order.

    A reply that is empty, or in which a wrong answer can be read, is left out: the run came right in spite
    of it.
    """
    from motet.train.builders.agent_tuning import agent_tuning

    tasks = {tape.run: tape.started.task for tape in tapes}
    built = agent_tuning(tapes, eta=1.0, seed=seed).sft

    def good(example: "Example") -> bool:
        task, said = tasks[example.runs[0]], example.messages[-1].text
        return bool(said.strip()) and extract(task, said) in (None, canonical(task, task.target or ""))

    return len({x.runs for x in built}), [x for x in built if good(x)]


def split(tasks: Sequence[Task], size: Size, seed: int) -> tuple[list[Task], list[Task]]:
    """Training and held-out tasks; no question is in both."""
    every = list({task.prompt: task for task in tasks}.values())
    random.Random(seed).shuffle(every)
    return every[: size.train], every[size.train : size.train + size.held]


def learn(
    engine: "Engine", vocabulary: Any, examples: "Sequence[Example]", size: Size, seed: int
) -> tuple[int, int]:
    """Imitate; how many replies there were, and how many steps it took."""
    from motet.train import Adam
    from motet.train.builders.data import Built
    from motet.train.progress import shown
    from motet.train.taught import taught
    from motet.train.tune import Lesson, steps, tune

    rows = taught(Built(sft=tuple(examples)), vocabulary, {"*": POLICY})
    if not rows:
        return 0, 0
    lesson = Lesson(epochs=size.epochs, batch=4, adam=Adam(lr=size.lr), seed=seed)
    with shown(steps(rows, lesson), "tuning") as show:
        losses = tune(engine, rows, lesson, lambda _, done, facts: show(done, facts))
    return len(rows), len(losses[POLICY])


def _part(before: "Sequence[Run]", after: "Sequence[Run]", mark: Any) -> Part:
    old, new = [mark(run) for run in before], [mark(run) for run in after]
    return Part(mean_ci(old), mean_ci(new), paired_bootstrap(new, old))


def _answer(run: "Run") -> float:
    from motet.train.builders.reading import mark_of

    return mark_of(run.tape) or 0.0


def _draft(run: "Run") -> float:
    from motet.train.builders.reading import outcome

    return outcome(run.tape, run.calls[0]) or 0.0 if run.calls else 0.0
