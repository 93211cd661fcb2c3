"""Every loss through an engine, from weights to the number it reports, against finite differences."""

from collections.abc import Sequence
from math import nan
from random import Random

import pytest
import torch
from pytest import approx

from motet.models.trainable.adapters import Lora
from motet.train import REFERENCE, Loss, Row, torch_engine
from motet.train.gradient import GradientEngine
from motet.train.objective import LOSSES

TINY = "tiny:hidden=32,layers=2,heads=2,context=128"
IDS = ([1, 2, 3], [1, 2, 4, 5, 6], [7, 8, 9, 10, 11, 12], [7, 8, 9, 13])
STEP = 1e-4
"""Along a direction of standard normal numbers. Logits have 32 bits: a smaller step drowns in that."""


@pytest.fixture(scope="module")
def engine() -> GradientEngine:
    """A policy whose adapter is nowhere 0, so that both of its halves have a gradient."""
    made = torch_engine(TINY, {"p": Lora(r=2, alpha=4.0)}, dtype="float64", micro_tokens=12)
    draw = torch.Generator().manual_seed(1)
    for weight in made._body.parameters("p").values():
        weight.data = 0.3 * torch.randn(weight.shape, generator=draw, dtype=torch.float64)
    return made


@pytest.fixture(scope="module")
def rows(engine: GradientEngine) -> list[Row]:
    """Rows with all that any loss reads; the sampler and the trainer's old policy are some way off."""
    rng = Random(2)
    plain = [Row(ids=tuple(ids), mask=(False, False, *[True] * (len(ids) - 2))) for ids in IDS]
    found = []
    for number, (row, now, reference) in enumerate(
        zip(plain, engine.logprobs("p", plain), engine.logprobs(REFERENCE, plain), strict=True)
    ):
        old = tuple(x + rng.gauss(0, 0.4) for x in now)
        found.append(
            row.but(
                old=old,
                logprobs=tuple(x + rng.gauss(0, 0.4) for x in old),
                reference=reference,
                advantages=tuple(rng.gauss(0, 1) if on else nan for on in row.mask),
                weights=tuple(rng.random() for _ in row.ids),
                returns=tuple(rng.gauss(0, 1) for _ in row.ids),
                reward=rng.random(),
                label=1.0 if number % 2 else -1.0,
                pair=str(number // 2),
            )
        )
    return found


def slope(engine: GradientEngine, rows: Sequence[Row], loss: Loss) -> tuple[float, dict[str, float]]:
    """Of the loss along a fixed random direction, by its gradient; and what the engine reports."""
    weights = engine._body.parameters("p")
    for weight in weights.values():
        weight.grad = None
    told = engine.forward_backward("p", rows, loss)
    along = zip(weights.values(), direction(engine), strict=True)
    return sum((w.grad * d).sum().item() for w, d in along if w.grad is not None), told


def direction(engine: GradientEngine) -> list[torch.Tensor]:
    draw = torch.Generator().manual_seed(3)
    weights = engine._body.parameters("p").values()
    return [torch.randn(w.shape, generator=draw, dtype=torch.float64) for w in weights]


def difference(engine: GradientEngine, rows: Sequence[Row], loss: Loss) -> float:
    """The same slope out of two losses that the engine reports."""
    start = [weight.detach().clone() for weight in engine._body.parameters("p").values()]
    told = []
    for sign in (1, -1):
        for weight, s, d in zip(engine._body.parameters("p").values(), start, direction(engine), strict=True):
            weight.data = s + sign * STEP * d
        told.append(engine.forward_backward("p", rows, loss)["loss"])
    for weight, s in zip(engine._body.parameters("p").values(), start, strict=True):
        weight.data = s
    return (told[0] - told[1]) / (2 * STEP)


STOPPED = ("gspo_token", "cispo", "aepo")
"""Losses that hold their ratio fixed where they are differentiated: what they report has another slope."""
OBJECTIVES = {
    **{name: Loss(name) for name in LOSSES if name not in STOPPED},
    "ppo, dual clip": Loss("ppo", {"low": 0.1, "high": 0.3, "dual": 1.05}, reduction="rollout"),
    "gspo, wide": Loss("gspo", {"low": 0.2, "high": 0.2}, reduction="sequence"),
    "kto": Loss("kto", {"reference": 0.1, "beta": 0.3, "undesirable": 0.5}),
    "dpo": Loss("dpo", {"beta": 0.3, "smoothing": 0.1}),
    "no guard": Loss("reinforce", cap=None, reduction="constant", length=7),
    **{form: Loss("ppo", kl=0.5, kl_form=form) for form in ("k1", "k2", "k3")},  # type: ignore[arg-type]
    "entropy": Loss("sft", entropy=0.3, smoothing={"history": 5.0, "low": 0.9, "high": 1.1}),
}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_gradient_is_the_slope_of_what_is_reported(
    engine: GradientEngine, rows: list[Row], name: str
) -> None:
    found, _ = slope(engine, rows, OBJECTIVES[name])
    assert abs(found) > 0.01, "the loss hardly changes along this direction, so this would show nothing"
    assert found == approx(difference(engine, rows, OBJECTIVES[name]), rel=0.01, abs=2e-3)


@pytest.mark.parametrize("name", STOPPED)
def test_a_ratio_that_is_held_is_a_weight_of_reinforce(
    engine: GradientEngine, rows: list[Row], name: str
) -> None:
    """−A w log π with the weight w of each token as it is where the gradient is taken."""
    low, high = 0.2, 0.3
    found, told = slope(engine, rows, Loss(name, {"low": low, "high": high}))
    assert 0 < told["clipped"] < 1
    held = []
    for row, now in zip(rows, engine.logprobs("p", rows), strict=True):
        on = [i for i, trained in enumerate(row.mask) if trained]
        logs = {i: now[i] - row.old[i] for i in on}
        if name == "gspo_token":
            logs = dict.fromkeys(on, sum(logs.values()) / len(on))
        scaled = [nan] * len(row.ids)
        for i in on:
            scaled[i] = row.advantages[i] * weight_of(name, logs[i], row.advantages[i], low, high)
        held.append(row.but(advantages=tuple(scaled)))
    assert found == approx(difference(engine, held, Loss("reinforce")), rel=0.01, abs=2e-3)


def weight_of(name: str, log: float, advantage: float, low: float, high: float) -> float:
    ratio = float(torch.tensor(log, dtype=torch.float64).exp())
    bounded = min(max(ratio, 1 - low), 1 + high)
    if name == "cispo":
        return bounded
    pessimist = bounded * advantage < ratio * advantage
    if name == "aepo":
        return bounded if pessimist else ratio
    return 0.0 if pessimist else ratio
