"""The page of a training run: what is drawn, and that what models write stays text."""

import math
import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.train import Ledger
from motet.train.report import render
from motet.train.report.charts import chart, steps
from motet.train.report.html import panels

CURVE = [
    {"iteration": float(i), "reward/left": i / 9, "reward/right": -i / 9, "p/loss": 1 / (i + 1), "p/rows": i}
    | ({"score": float(i), "test/reward/left": 0.5 * i} if i % 3 == 0 else {})
    for i in range(10)
]  # fmt: skip


def page(**options: object) -> str:
    ledger = Ledger()
    ledger.counts.update(calls=1234, rows=1200)
    ledger.rejected["no ids"] = 34
    told = [[("", "2 + 2?"), ("left", "<script>4</script>"), ("reward", "1")]]
    return render("sums", CURVE, (told, told), ledger, of=10, **options)  # type: ignore[arg-type]


def test_voices_share_a_panel_and_policies_have_their_own() -> None:
    results, policies = panels(CURVE)
    assert [c.title for c in results] == [
        "Reward on held-out work, by voice",
        "Reward while training, by voice",
    ]
    assert [line.label for line in results[1].curves] == ["left", "right"]
    assert [c.title for c in policies["p"]] == ["loss"]


def test_what_a_model_wrote_is_never_markup() -> None:
    assert "<script>" not in page()
    assert "&lt;script&gt;4" in page()


def test_the_ledger_and_early_stops_are_told() -> None:
    text = page(stopped="score is 9, the target 9")
    assert "1,234" in text
    assert "rejected: no ids" in text
    assert "Stopped early: score is 9" in text


def test_only_the_page_of_a_running_run_loads_itself_again() -> None:
    assert "http-equiv" in page(running=True)
    assert "http-equiv" not in page()
    assert not re.search(r"(src|href)=", page()), "the page needs nothing else"


@given(st.floats(-1e6, 1e6), st.floats(0, 1e6))
def test_marks_hold_the_values(low: float, width: float) -> None:
    marks, bottom, top = steps(low, low + width, 4)
    unseen = 1e-6 * (1 + abs(low) + width)  # far less than a pixel
    assert bottom <= low + unseen
    assert top >= low + width - unseen
    assert len(marks) <= 12


@pytest.mark.parametrize("n", [1, 2, 39, 400])
def test_curves_and_their_labels_stay_inside(n: int) -> None:
    curves = {f"voice {k}": [(float(i), math.sin(i) + k / 100) for i in range(n)] for k in range(5)}
    drawn = chart("all", curves)
    left, top, right, bottom = drawn.frame
    for line in drawn.curves:
        for x, y in (map(float, point.split(",")) for point in line.points.split()):
            assert left <= x <= right
            assert top - 0.1 <= y <= bottom + 0.1
    places = sorted(line.label_at for line in drawn.curves)
    assert all(b - a >= 13.9 for a, b in pairwise(places))
    assert places[-1] <= bottom + 0.1


def test_a_value_that_is_no_number_leaves_a_gap() -> None:
    assert (
        "nan" not in chart("loss", {"loss": [(0.0, math.nan), (1.0, 2.0), (2.0, math.nan)]}).curves[0].points
    )
