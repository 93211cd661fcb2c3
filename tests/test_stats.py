import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from motet.errors import BadInput
from motet.evals.stats import binomial_majority, mcnemar, mean_ci, paired_bootstrap, wilson

LEVEL_BAND = (0.93, 0.97)


def test_wilson_known_values():
    # Newcombe (1998), table I: 81 of 263 and 0 of 20.
    first = wilson(81, 263)
    assert (round(first.low, 4), round(first.high, 4)) == (0.2553, 0.3662)
    assert (wilson(0, 20).low, round(wilson(0, 20).high, 4)) == (0.0, 0.1611)
    assert wilson(20, 20).high == 1.0


def test_mean_ci_of_marks_is_wilson_and_of_others_is_resampled():
    assert mean_ci([1, 0, 1, 1]) == wilson(3, 4)
    parts = mean_ci([0.25, 0.5, 0.75, 0.5])
    assert parts.mean == 0.5 and 0.25 < parts.low < 0.5 < parts.high < 0.75
    assert mean_ci([0.5]).high == math.inf


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_an_interval_holds_its_mean(values):
    interval = mean_ci(values, resamples=200)
    assert interval.low - 1e-9 <= interval.mean <= interval.high + 1e-9


def _coverage(covers, trials=400):
    return sum(covers(np.random.default_rng(seed)) for seed in range(trials)) / trials


def test_wilson_covers_as_often_as_it_says():
    n, truths = 40, np.linspace(0.02, 0.98, 49)
    covered = np.zeros_like(truths)
    for k in range(n + 1):
        interval = wilson(k, n)
        inside = (interval.low <= truths) & (truths <= interval.high)
        covered += inside * math.comb(n, k) * truths**k * (1 - truths) ** (n - k)
    assert LEVEL_BAND[0] <= covered.mean() <= LEVEL_BAND[1]  # exact, over all outcomes


def test_the_bootstrap_of_a_mean_covers_as_often_as_it_says():
    def covers(rng):
        interval = mean_ci(rng.beta(2, 3, size=30).tolist(), resamples=600)
        return interval.low <= 0.4 <= interval.high

    assert LEVEL_BAND[0] <= _coverage(covers) <= LEVEL_BAND[1]


def test_the_paired_bootstrap_covers_as_often_as_it_says():
    def covers(rng):
        hard = rng.random(60)
        a, b = (rng.random((2, 60)) < np.array([[0.8], [0.6]]) * (1 - hard / 2)).astype(float)
        interval = paired_bootstrap(a.tolist(), b.tolist(), resamples=600)
        return interval.low <= 0.2 * 0.75 <= interval.high

    assert LEVEL_BAND[0] <= _coverage(covers) <= LEVEL_BAND[1]


def test_pairing_takes_out_what_both_share():
    rng = np.random.default_rng(0)
    hard = rng.random(100)
    a, b = hard + 0.02, hard + rng.normal(0, 0.02, 100)
    paired = paired_bootstrap(a.tolist(), b.tolist())
    assert paired.low > 0 and paired.p < 0.05
    assert abs(paired.mean - (a - b).mean()) < 1e-12
    back = paired_bootstrap(b.tolist(), a.tolist())
    assert back.mean == -paired.mean and back.high < 0


def test_no_difference_is_no_evidence():
    assert paired_bootstrap([1, 0, 1], [1, 0, 1]).p == 1
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1


def test_mcnemar_exact_known_value():
    # 6 wins against 1 loss: 2 * (C(7,0) + C(7,1)) / 2**7
    a, b = [1] * 6 + [0] + [1] * 5, [0] * 6 + [1] + [1] * 5
    assert mcnemar(a, b) == mcnemar(b, a) == 2 * 8 / 128


def test_majority_known_values():
    assert binomial_majority(0.6, 3) == pytest.approx(0.648)
    assert binomial_majority(0.6, 2) == pytest.approx(0.6)  # a draw is a coin's
    assert binomial_majority(0.5, 2000) == 0.5
    assert (binomial_majority(0, 5), binomial_majority(1, 4)) == (0, 1)


@given(st.floats(0, 1), st.integers(1, 30))
def test_majority_of_wrong_voices_mirrors_that_of_right_ones(p, n):
    assert binomial_majority(p, n) + binomial_majority(1 - p, n) == pytest.approx(1)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: mean_ci([]),
        lambda: mean_ci([0.5, math.nan]),
        lambda: paired_bootstrap([1], [1, 0]),
        lambda: mcnemar([0.5], [1]),
        lambda: wilson(3, 2),
        lambda: binomial_majority(1.5, 3),
    ],
)
def test_what_has_no_answer_is_refused(wrong):
    with pytest.raises(BadInput):
        wrong()
