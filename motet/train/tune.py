"""Supervised tuning: rows of imitation or preference, dealt out into steps, one policy after another."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random

from msgspec import Struct
from msgspec.structs import replace

from motet.errors import BadInput
from motet.models.trainable.words import Vocabulary
from motet.train.builders.data import Built
from motet.train.engine import Adam, Engine
from motet.train.objective import Loss
from motet.train.rows import Ledger, Row
from motet.train.taught import taught

OnStep = Callable[[str, int, Mapping[str, float]], None]
"""Called after each step with the policy, how many steps of all are done, and the step's numbers."""


PREFERENCES = 0.1
"""Of the learning rate: contrast moves a model further than imitation does."""


class Lesson(Struct, frozen=True):
    """How rows are learned.

    Args:
        loss: `sft`, `dpo`, `kto`, or any other whose fields the rows have.
        batch: rows, or pairs, of a step.
        adam: of the first step; its rate falls linearly to 0.
        seed: of the order.
    """

    loss: Loss = Loss("sft")
    epochs: int = 1
    batch: int = 8
    adam: Adam = Adam(lr=1e-3)
    seed: int = 0

    def steps(self, units: int) -> int:
        """How many steps a policy takes over so many rows or pairs."""
        return self.epochs * -(-units // self.batch)


def steps(rows: Sequence[Row], lesson: Lesson) -> int:
    """How many steps `tune` takes over these rows."""
    return sum(lesson.steps(len(units)) for units in _units(rows).values())


def tune(
    engine: Engine, rows: Sequence[Row], lesson: Lesson = Lesson(), on_step: OnStep | None = None
) -> dict[str, list[float]]:
    """Train each policy on its own rows (`motet.train.taught`).

    Preferences are measured against the policy as it is when its first step begins: after supervised tuning
    that is the tuned model, as the papers have it.

    Returns:
        The loss of every step, by policy.

    Raises:
        BadInput: no rows, or rows of no policy. UnknownName: the engine has no such policy.
    """
    if not rows:
        raise BadInput("no rows to tune on; every sample may have been rejected (see `Built.rejected`)")
    order, losses, done = Random(lesson.seed), dict[str, list[float]](), 0
    for policy, units in _units(rows).items():
        known = _with_reference(engine, policy, units) if lesson.loss.name in ("dpo", "kto") else units
        losses[policy] = []
        for drawn in _dealt(known, lesson, order):
            rate = lesson.adam.lr * (1 - len(losses[policy]) / lesson.steps(len(units)))
            facts = engine.forward_backward(policy, drawn, lesson.loss)
            engine.optim_step(policy, replace(lesson.adam, lr=rate))
            losses[policy].append(facts["loss"])
            done += 1
            if on_step:
                on_step(policy, done, facts)
    return losses


def in_stages(
    engine: Engine,
    built: Built,
    vocabulary: Vocabulary,
    policies: Mapping[str, str],
    lesson: Lesson = Lesson(),
    *,
    ledger: Ledger | None = None,
    on_step: OnStep | None = None,
) -> dict[str, dict[str, list[float]]]:
    """Tune on all that a builder made: what is to be imitated first, then what is preferred, as MALT does.

    Args:
        vocabulary: of the weights.
        policies: which policy each voice is tuned as; `*` stands for all that are not named.
        lesson: of imitation; preferences are learned at `PREFERENCES` times its rate. The stage has its loss.
        ledger: where to count what became of the data.

    Returns:
        The loss of every step, by stage (`sft`, `dpo`, `kto`) and policy; stages without data are not there.
    """
    losses: dict[str, dict[str, list[float]]] = {}
    for stage, share in (("sft", 1.0), ("dpo", PREFERENCES), ("kto", PREFERENCES)):
        part = Built(**{stage: getattr(built, stage)})
        if rows := taught(part, vocabulary, policies, ledger=ledger):
            adam = replace(lesson.adam, lr=lesson.adam.lr * share)
            losses[stage] = tune(engine, rows, replace(lesson, loss=Loss(stage), adam=adam), on_step)
    return losses


def _units(rows: Sequence[Row]) -> dict[str, list[list[Row]]]:
    """What has to stay together, the two rows of a pair or a single row, by policy."""
    found: dict[str, dict[object, list[Row]]] = {}
    for number, row in enumerate(rows):
        found.setdefault(row.policy, {}).setdefault(row.pair or number, []).append(row)
    return {policy: list(units.values()) for policy, units in found.items()}


def _dealt(units: list[list[Row]], lesson: Lesson, order: Random) -> Iterator[list[Row]]:
    for _ in range(lesson.epochs):
        shuffled = order.sample(units, len(units))
        for start in range(0, len(shuffled), lesson.batch):
            yield [row for unit in shuffled[start : start + lesson.batch] for row in unit]


def _with_reference(engine: Engine, policy: str, units: list[list[Row]]) -> list[list[Row]]:
    """The units with the policy's own log-probabilities of now as the reference, where they have none."""
    flat = [row for unit in units for row in unit]
    found = dict(zip(map(id, flat), engine.logprobs(policy, flat), strict=True))
    return [[row.but(reference=row.reference or found[id(row)]) for row in unit] for unit in units]
