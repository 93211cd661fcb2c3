"""The benchmark of training: our contestant draws and trains what it says, and ratios are taken by rounds."""

import pytest

from benchmarks.train import __main__ as bench
from benchmarks.train import contestants


@pytest.mark.parametrize("policies", [1, 2])
def test_a_step_draws_equally_much_for_every_policy_and_trains_it(
    policies: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contestants, "WEIGHTS", "tiny:hidden=16,layers=1")
    ours = contestants.Ours(policies)
    assert min(ours.step()) > 0
    assert [ours.engine.step(name) for name in ours.engine.policies] == [1] * policies


def test_ratios_compare_within_a_round(capsys: pytest.CaptureFixture[str]) -> None:
    def rows(*speeds: float) -> list[dict[str, float]]:
        return [dict.fromkeys(bench.MEASURES, speed) for speed in speeds]

    bench.print_tables({"motet": rows(200.0, 90.0, 40.0), "trl": rows(100.0, 30.0, 20.0)})
    printed = capsys.readouterr().out
    assert "90 (40 to 200)" in printed
    assert "motet / trl" in printed and "2.00 (2.00 to 3.00)" in printed
    assert "motet-two" not in printed
