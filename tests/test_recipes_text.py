"""Recipes without weights: a library of lessons, the worth of planted voices, rational public goods."""

from itertools import product

import pytest

from motet.credit.public_goods import PLAIN, Rules, payoffs
from recipes.counterfactual import ranked
from recipes.public_goods import LEVELS, MAC_SPGG, VOICES, rational
from recipes.train_free import compared, edits, on_model, taught


def test_a_library_lifts_a_frozen_voice_and_marks_at_random_do_not() -> None:
    found = taught(0, 2)
    assert found.after > 0.6 > 0.4 > found.control
    assert found.before < 0.3
    assert 0 < found.even < found.groups == 96


def test_the_teacher_writes_down_what_made_the_difference() -> None:
    good, other, bad = {"§": "plus", "¤": "times"}, {"§": "plus", "¤": "minus"}, {"§": "minus", "¤": "times"}
    assert compared([(1.0, good), (0.0, bad)]) == ["Read § as plus."]
    assert compared([(1.0, good), (1.0, other), (0.0, bad)]) == ["Read § as plus."]
    assert compared([(1.0, good), (1.0, bad)]) == []
    asked = "known:\n[1] Read § as minus.\n[2] Read ¤ as plus.\n\nNew ones:\n"
    assert edits(asked + "- Read § as plus.\n- Read µ as plus.") == [{"do": "add", "text": "Read µ as plus."}]
    twice = "- Read § as plus.\n- Read § as plus.\n- Read § as times."
    assert edits(asked + twice) == [{"do": "update", "number": 1, "text": "Read § as plus."}]


def test_a_language_model_is_taught_and_tried_on_sums_that_it_has_not_seen() -> None:
    library, marked = on_model("sim:skill=0.5", items=6, held_out=8, epochs=1)
    assert library.counts["groups"] == 6
    assert len(library.history) == 2
    assert {kind: len(found) for kind, found in marked.items()} == {"none": 8, "its own": 8, "by hand": 8}
    assert 0 < sum(marked["none"]) < 8


def test_worth_tells_planted_voices() -> None:
    found = ranked(0, items=12, held_out=20)
    assert found.solver > found.useless == 0.0 > found.harmful
    assert found.kept < 7


@pytest.mark.parametrize(("rules", "path"), [(MAC_SPGG, (1.0, 1.0, 1.0)), (PLAIN, (0.0, 0.0, 0.0))])
def test_no_rational_voice_is_ever_indifferent(rules: Rules, path: tuple[float, ...]) -> None:
    levels = [float(level) for level in LEVELS]

    def end(history: tuple[float, ...]) -> tuple[float, ...]:
        while len(history) < len(VOICES):
            history = (*history, rational(history, rules))
        return history

    assert end(()) == path
    for length in range(len(VOICES)):
        for history in product(levels, repeat=length):
            ends = [end((*history, level)) for level in levels]
            worths = sorted(payoffs(e, sum(e), rules)[length] for e in ends)
            assert worths[-1] - worths[-2] > 0.3
