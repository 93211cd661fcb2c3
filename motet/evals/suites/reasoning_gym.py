"""Suites by reasoning-gym (arXiv:2505.24760): about a hundred families of generated puzzles, offline.

Items are made and marked in the worker: some families depend on the hash seed or on `random`'s state, and
some marks pass the answer to `eval` or to sympy. Those see only answers that hold nothing but literals, or
nothing but a formula.
"""

import ast
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from motet.answers import canonical, extract, final
from motet.errors import BadInput, MissingExtra, UnknownName
from motet.evals.scorers.protocol import NO_ANSWER, Score
from motet.evals.worker import WORKER, JobFailed
from motet.types import Task

SIZE = 100
EVALUATED = {
    "binary_matrix": "literal",
    "n_queens": "literal",
    "spiral_matrix": "literal",
    "string_insertion": "literal",
    "countdown": "formula",
    "intermediate_integration": "formula",
    "polynomial_multiplication": "formula",
    "puzzle24": "formula",
    "simple_integration": "formula",
}
_WORDS = "sin|cos|tan|sec|csc|cot|asin|acos|atan|sinh|cosh|tanh|exp|log|ln|sqrt|pi|Abs"
_FORMULA = re.compile(rf"(?:\s|[\d+\-*/^()=.,]|\b(?:[A-Za-z]|{_WORDS})(?![A-Za-z_]))+")


@dataclass(frozen=True)
class GymScorer:
    """Marks by the family's own `score_answer`, which may give a part of a point."""

    timeout_s: float = 20.0
    name: str = "reasoning-gym"

    async def __call__(self, task: Task, answer: str) -> Score:
        found, wanted = extract(task, answer), canonical(task, task.target or "")
        if found is None:
            return NO_ANSWER
        if found == wanted:
            return Score(1.0, "as expected", found)
        meta, whole = task.meta, final(answer) or answer.strip()
        said = [found] if task.kind == "number" else list({whole: 0, whole.partition("\n")[0]: 0, found: 0})
        try:
            args = (meta["family"], meta["config"], meta["index"], said)
            value = await WORKER.ado("reasoning_gym.mark", *args, timeout_s=self.timeout_s)
        except JobFailed as error:
            return Score(0.0, str(error), found)
        return Score(value, f"{found!r}, expected {wanted!r}", found)


def read_gym(family: str, options: Mapping[str, str], n: int | None, seed: int) -> tuple[Task, ...]:
    """Generate a suite.

    Args:
        family: its name in reasoning-gym, e.g. `chain_sum`.
        options: its settings, e.g. `max_terms=2`; `size` is 100 unless told.
        n: how many items, instead of `size`.

    Raises:
        MissingExtra: reasoning-gym is not installed.
        UnknownName, BadInput: no such family, or a setting that it refuses.
    """
    if find_spec("reasoning_gym") is None:
        raise MissingExtra("reasoning-gym", "suites")
    config = {"seed": seed, "size": SIZE} | {key: _value(text) for key, text in options.items()}
    config["size"] = config["size"] if n is None else n
    known = WORKER.do("reasoning_gym.families", timeout_s=60)
    if family not in known:
        raise UnknownName("reasoning-gym family", family, known)
    if not set(config) <= set(known[family]):
        raise BadInput(
            f"rg:{family} has no setting {sorted(set(config) - set(known[family]))}; known: {known[family]}"
        )
    try:
        made = WORKER.do("reasoning_gym.entries", family, config, timeout_s=600)
    except JobFailed as error:
        raise BadInput(f"rg:{family} cannot be made with {config}: {error}") from error
    number = Task("", kind="number")
    numbers = all(x["answer"] and extract(number, x["answer"]) == x["answer"] for x in made)
    return tuple(
        Task(
            entry["question"],
            target=entry["answer"],
            id=f"{family}-{seed}-{i}",
            kind="number" if numbers else "text",
            meta={"family": family, "config": config, "index": i, "entry": entry["metadata"]},
        )
        for i, entry in enumerate(made)
    )


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def families() -> dict[str, list[str]]:
    """The families and their settings. Runs in the worker, like all that follows."""
    from reasoning_gym.factory import DATASETS  # type: ignore[import-untyped]

    return {
        name: [field.name for field in fields(config)]
        for name, (_, config) in DATASETS.items()
        if name != "composite"  # a mixture of others, whose settings are no plain values
    }


def entries(family: str, config: dict[str, Any]) -> list[dict[str, Any]]:
    """All items of a suite, as plain data."""
    made = [_entry(family, json.dumps(config), i) for i in range(config["size"])]
    plain: list[dict[str, Any]] = json.loads(json.dumps(made, default=str, skipkeys=True))
    return plain


def mark(family: str, config: dict[str, Any], index: int, said: list[str]) -> float:
    """The best mark among readings of one reply, from 0 to 1."""
    settings = json.dumps(config)
    entry = _entry(family, settings, index)
    marks = [
        float(_dataset(family, settings).score_answer(text, entry)) for text in said if _inert(family, text)
    ]
    return min(1.0, max(0.0, *marks, 0.0))


@lru_cache(maxsize=8)
def _dataset(family: str, settings: str) -> Any:
    from reasoning_gym import create_dataset  # type: ignore[import-untyped]

    return create_dataset(family, **json.loads(settings))


@lru_cache(maxsize=4096)
def _entry(family: str, settings: str, index: int) -> dict[str, Any]:
    random.seed(f"{settings}{index}")  # a few families forget their own generator
    entry: dict[str, Any] = _dataset(family, settings)[index]
    return entry


def _inert(family: str, text: str) -> bool:
    """Whether the family's mark may see `text`: what it would evaluate must be data."""
    match EVALUATED.get(family):
        case "formula":
            return bool(_FORMULA.fullmatch(text))
        case "literal":
            try:
                ast.parse(text.strip(), mode="eval")
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                return True  # no expression: nothing to evaluate
            try:
                ast.literal_eval(text.strip())
            except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
                return False
    return True
