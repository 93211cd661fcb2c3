"""From steps to tokens, and what each token weighs."""

from math import fsum, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest import approx
from trajectories import rollout

from motet.credit import Batch, Step, credit, to_tokens, weights
from motet.credit.project import Reduction
from motet.errors import BadInput, UnknownName

PAIR = (
    rollout(
        1.0, Step(tokens=3, reason_tokens=2), Step(tokens=2, masked=True), Step(tokens=1, reason_tokens=0)
    ),
    rollout(0.0, Step(tokens=2, reason_tokens=2), voice="w"),
)
BATCH = Batch(PAIR)
HALVES = credit(PAIR, "dr_grpo")


def test_all_sampled_tokens_or_one_span_or_one_voice() -> None:
    def live(**options: str) -> list[list[list[bool]]]:
        found = to_tokens(BATCH, HALVES, **options)  # type: ignore[arg-type]
        assert {x for rows in found for row in rows for x in row if not isnan(x)} <= {0.5, -0.5}
        return [[[not isnan(x) for x in row] for row in rows] for rows in found]

    nothing = [False, False]
    assert live() == [[[True] * 3, nothing, [True]], [[True] * 2]]
    assert live(span="reason") == [[[True, True, False], nothing, [False]], [[True] * 2]]
    assert live(span="act") == [[[False, False, True], nothing, [True]], [nothing]]
    assert live(voice="w") == [[[False] * 3, nothing, [False]], [[True] * 2]]
    with pytest.raises(UnknownName):
        live(voice="x")
    with pytest.raises(UnknownName):
        live(span="think")
    with pytest.raises(BadInput, match="reason_tokens"):
        to_tokens(Batch((rollout(1.0),)), credit([rollout(1.0)]), span="act")


def test_token_advantages_where_time_goes_down_to_tokens() -> None:
    one = (rollout(1.0, Step(tokens=2, value=(0.0, 0.5))),)
    assert to_tokens(Batch(one), credit(one, "ppo_token_gae", lam=0)) == [[[0.5, 0.5]]]


def test_reductions() -> None:
    tokens = to_tokens(BATCH, HALVES)

    def of(reduction: Reduction, length: int | None = None) -> list[list[float]]:
        return [[fsum(row) for row in rows] for rows in weights(tokens, reduction, length=length)]

    assert of("sequence") == [approx([1 / 3, 0, 1 / 3]), approx([1 / 3])]
    assert of("token") == [approx([3 / 6, 0, 1 / 6]), approx([2 / 6])]
    assert of("episode") == [approx([3 / 8, 0, 1 / 8]), approx([1 / 2])]
    assert of("constant", 10) == [approx([3 / 30, 0, 1 / 30]), approx([2 / 30])]
    with pytest.raises(BadInput, match="length"):
        of("constant")


@given(st.lists(st.lists(st.integers(0, 5), min_size=1, max_size=3), min_size=1, max_size=4), st.data())
def test_means_weigh_1_in_all_and_what_is_not_trained_weighs_nothing(
    sizes: list[list[int]], data: st.DataObject
) -> None:
    batch = tuple(
        rollout(data.draw(st.sampled_from((0.0, 1.0, None))), *(Step(tokens=n) for n in row)) for row in sizes
    )
    tokens = to_tokens(Batch(batch), credit(batch, "dr_grpo"))
    for reduction in ("sequence", "token", "episode"):
        found = weights(tokens, reduction)
        flat = [
            (x, w)
            for a, b in zip(tokens, found, strict=True)
            for r, s in zip(a, b, strict=True)
            for x, w in zip(r, s, strict=True)
        ]
        assert all((w == 0) == isnan(x) for x, w in flat)
        assert not any(w for _, w in flat) or fsum(w for _, w in flat) == approx(1)
