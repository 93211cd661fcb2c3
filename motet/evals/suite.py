"""A suite: tasks and the scorer that marks them. `load_suite` finds one by name or file."""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import parse_qsl

import msgspec
from msgspec import Struct

from motet.answers import canonical, gold_reply
from motet.errors import BadInput, UnknownName
from motet.evals.scorers import BY_KIND, ByKind, Scorer
from motet.evals.suites import BUILTIN, Fixed
from motet.types import Task

VALIDATED = 100


@dataclass(frozen=True)
class Suite:
    """Tasks, and how their answers are marked.

    Args:
        name: what it was loaded by.
        tasks: in a fixed order.
        scorer: marks a reply to any of them.
        description: one line for people.
    """

    name: str
    tasks: tuple[Task, ...]
    scorer: Scorer
    description: str = ""

    def __len__(self) -> int:
        return len(self.tasks)

    def __iter__(self) -> Iterator[Task]:
        return iter(self.tasks)

    @property
    def kind(self) -> str:
        """The kind of its tasks, or `mixed`."""
        kinds = {task.kind for task in self.tasks}
        return kinds.pop() if len(kinds) == 1 else "mixed"

    def sample(self, n: int, seed: int = 0) -> "Suite":
        """Draw `n` different tasks, in the suite's order; the same ones for the same seed.

        Raises:
            BadInput: there are fewer than `n`.
        """
        if not 0 < n <= len(self):
            raise BadInput(f"n={n!r}: suite {self.name!r} has {len(self)} items; ask for 1 to {len(self)}")
        picks = sorted(random.Random(seed).sample(range(len(self)), n))
        return replace(self, tasks=tuple(self.tasks[i] for i in picks))

    async def validate(self, limit: int = VALIDATED) -> None:
        """Prove that the gold answer of each item scores 1 (of `limit` drawn items, if there are more).

        Raises:
            BadInput: names the first item whose gold answer is missing or does not score 1.
        """
        for task in self.sample(min(limit, len(self))):
            reply = gold_reply(task)
            if reply is None:
                raise BadInput(f"suite {self.name!r}, item {task.id!r}: it has no gold answer to check by")
            score = await self.scorer(task, reply)
            if score.value != 1:
                raise BadInput(
                    f"suite {self.name!r}, item {task.id!r}: its gold answer {task.target!r} scores "
                    f"{score.value:g}, not 1 ({score.detail}); mend the item or choose another scorer"
                )


class SuiteInfo(Struct, frozen=True):
    """A line of `motet suites`. `size` is None where it depends on what is asked for."""

    name: str
    size: int | None
    kind: str
    description: str


def list_suites() -> list[SuiteInfo]:
    """All names that `load_suite` takes, built-in ones first, then the forms of the others."""
    return [
        *(SuiteInfo(name, it.size, it.kind, it.description) for name, it in BUILTIN.items()),
        SuiteInfo(
            "rg:FAMILY?size=N&KEY=VALUE", None, "any", "generated puzzles by reasoning-gym, ~100 families"
        ),
        SuiteInfo("hf:DATASET:SPLIT?prompt=COL&target=COL", None, "any", "a dataset of the Hugging Face hub"),
        SuiteInfo("FILE.jsonl or FILE.csv", None, "any", "a file with prompt, target, …"),
    ]


def load_suite(name_or_path: str | Path, n: int | None = None, seed: int = 0) -> Suite:
    """Load a suite.

    Args:
        name_or_path: a built-in name (`list_suites`), `rg:FAMILY?…`, `hf:DATASET[:SPLIT]?…`, or a .jsonl or
            .csv file with `prompt`, `target` and optional `id`, `choices`, `tests`, `meta`, `kind`.
        n: how many items: drawn from a fixed suite, made by a generated one. All, if None.
        seed: decides which items, and the order of options.

    Raises:
        UnknownName: no suite is called so. BadInput: a file, an option or `n` is wrong. MissingExtra.
    """
    name = str(name_or_path)
    place, _, query = name.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    scheme, _, rest = place.partition(":")
    if n is not None and n < 1:
        raise BadInput(f"n={n!r}: expected at least 1")
    if scheme == "rg":
        from motet.evals.suites.reasoning_gym import GymScorer, read_gym

        return Suite(name, read_gym(rest, options, n, seed), GymScorer(), f"reasoning-gym: {rest}")
    if scheme == "hf":
        from motet.evals.suites.huggingface import read_hub

        return _drawn(name, read_hub(rest, options), f"Hugging Face: {rest}", n, seed)
    if place in BUILTIN:
        source = BUILTIN[place]
        if not isinstance(source, Fixed):
            return Suite(name, source.make(options, n, seed), BY_KIND["number"], source.description)
        if options:
            raise BadInput(f"suite {name!r}: {place} has no options, got {sorted(options)}")
        return _drawn(name, source.make(), source.description, n, seed)
    path = Path(name)
    if path.suffix.lower() in (".jsonl", ".csv") or path.exists():
        from motet.evals.suites.files import read_file

        return _drawn(name, read_file(path), f"items of {path.name}", n, seed)
    raise UnknownName("suite", name, [*BUILTIN, "rg:FAMILY", "hf:DATASET", "FILE.jsonl", "FILE.csv"])


def _drawn(name: str, tasks: tuple[Task, ...], description: str, n: int | None, seed: int) -> Suite:
    shuffled = tuple(shuffle_choices(task, seed) for task in tasks)
    kinds = {task.kind for task in tasks}
    scorer = BY_KIND[kinds.pop()] if len(kinds) == 1 else ByKind()
    suite = Suite(name, shuffled, scorer, description)
    return suite if n is None else suite.sample(n, seed)


def shuffle_choices(task: Task, seed: int) -> Task:
    """Shuffle the options of a multiple-choice task; other tasks come back as they are.

    The target becomes the letter of the right option, and `meta["position"]` its place from 0. A prompt that
    shows the options with their letters itself keeps their order.
    """
    if task.kind != "choice" or task.target is None:
        return task
    right = ord(canonical(task, task.target)) - 65
    order = list(range(len(task.choices)))
    if not re.search(rf"(?m)\bA[).:]\s*{re.escape(task.choices[0])}", task.prompt):
        random.Random(f"{seed}:{task.id}").shuffle(order)
    position = order.index(right)
    return msgspec.structs.replace(
        task,
        choices=tuple(task.choices[i] for i in order),
        target=chr(65 + position),
        meta={**task.meta, "position": position},
    )
