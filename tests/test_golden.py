"""Credit and losses against numbers that TRL and verl computed; see `benchmarks.golden`."""

import json
from pathlib import Path

import pytest

from benchmarks.golden.ours import OURS

KEPT = json.loads(Path(__file__).with_name("golden.json").read_text())
MADE_BY, WITH = KEPT.pop("made by"), KEPT.pop("with")


@pytest.mark.parametrize("name", OURS)
def test_formulas_are_those_of_public_trainers(name: str) -> None:
    assert OURS[name]() == pytest.approx(KEPT[name], rel=0, abs=1e-6)


def test_every_kept_number_is_compared_and_says_where_it_is_from() -> None:
    assert KEPT.keys() == OURS.keys()
    assert "trl==" in WITH and "verl==" in WITH and MADE_BY.startswith("python -m benchmarks.golden")
