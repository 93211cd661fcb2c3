"""How likely the true answer was before each turn: what credit by information gain reads (IGPO, Wang et al.
2025, arXiv:2510.14967; catalogue 350).

The answer's ids are put where the reply would begin, and the policy that made the reply scores them.
"""

from collections.abc import Sequence
from math import fsum
from typing import Protocol, runtime_checkable

from msgspec.structs import replace

from motet.credit import preset
from motet.errors import BadInput
from motet.train.engine import Engine
from motet.train.rows import Row, Span
from motet.train.source import Rollout


@runtime_checkable
class Spells(Protocol):
    """A model that can tell the ids of a text."""

    def spell(self, text: str) -> tuple[int, ...]:
        """The ids, without a chat around them."""
        ...


def informed(rollouts: Sequence[Rollout], rows: Sequence[Row], credit: str, engine: Engine) -> list[Rollout]:
    """The rollouts with the `answer_logp` of every trained call, where the credit preset reads it.

    A task without a target has none.

    Raises:
        BadInput: the policy's model cannot tell ids.
    """
    if not any("answer_logp" in need.split("|") for need in preset(credit).needs):
        return list(rollouts)
    targets = {r.run.id: r.run.tape.started.task.target for r in rollouts}
    notes = {r.run.id: dict(r.notes) for r in rollouts}
    asked: dict[str, list[tuple[str, str, Row]]] = {}
    for row in rows:
        if target := targets[row.run]:
            answer = _spelled(engine, row.policy, target)
            asked.setdefault(row.policy, []).extend(
                (row.run, span.call.rpartition("/")[2], _probe(row, span, answer)) for span in row.spans
            )
    for policy, probes in asked.items():
        found = engine.logprobs(policy, [probe for _, _, probe in probes])
        for (run, call, probe), logps in zip(probes, found, strict=True):
            known = [x for x, on in zip(logps, probe.mask, strict=True) if on]
            notes[run][call] = {"answer_logp": fsum(known) / len(known)} | notes[run].get(call, {})
    return [replace(rollout, notes=notes[rollout.run.id]) for rollout in rollouts]


def _spelled(engine: Engine, policy: str, target: str) -> tuple[int, ...]:
    model = engine.model(policy)
    ids = model.spell(target) if isinstance(model, Spells) else ()
    if not ids:
        raise BadInput(
            f"the model {model.name!r} of policy {policy!r} has no ids for the answer {target!r}; credit by "
            f"information gain scores the true answer, so train a policy that can say it"
        )
    return ids


def _probe(row: Row, span: Span, answer: tuple[int, ...]) -> Row:
    asked = row.ids[: span.start]
    return Row(ids=asked + answer, mask=(False,) * len(asked) + (True,) * len(answer))
