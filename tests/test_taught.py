"""Tuning data as rows of ids, with a vocabulary of bytes."""

from motet.models.trainable.tiny import END, Bytes
from motet.train.builders.data import Built, Example, Label, Pair, Span
from motet.train.rows import Ledger
from motet.train.taught import row_of, taught
from motet.types import Message

USER, WRONG, AGAIN, RIGHT = (
    Message.say("user", "2+2?"),
    Message.say("assistant", "5"),
    Message.say("user", "No."),
    Message.say("assistant", "so: 4"),
)
WORDS = Bytes()


def test_only_trained_messages_and_their_end_are_in_the_mask():
    example = Example((USER, WRONG, AGAIN, RIGHT), (False, False, False, True), 2.0, "v", ("r",))
    (row,) = taught(Built((example,)), WORDS, {"v": "p"})
    trained = [i for i, on in zip(row.ids, row.mask, strict=True) if on]
    assert WORDS.decode(trained) == "so: 4" and trained[-1] == END, "the last token is trained"
    assert "5" in WORDS.decode(row.ids) and (row.policy, row.run) == ("p", "r")
    assert row.weights == tuple(2.0 * on for on in row.mask)
    sampled = WORDS.prompt([("user", "2+2?"), ("assistant", "5"), ("user", "No.")])
    assert row.ids[: len(sampled)] == sampled, "the prompt is what the sampler would be given"


def test_spans_weigh_their_own_tokens():
    spans = (Span(1, 0, 4, 0.5, "reason"), Span(1, 4, 5, 3.0, "act"))
    (row,) = taught(Built((Example((USER, RIGHT), (False, True), spans=spans),)), WORDS, {"*": "p"})
    assert [w for w, on in zip(row.weights, row.mask, strict=True) if on] == [0.5] * 4 + [3.0] * 2


def test_pairs_and_labels_and_the_ledger():
    built = Built(dpo=(Pair((USER,), RIGHT, WRONG, "v"),), kto=(Label((USER,), WRONG, False, "other"),))
    ledger = Ledger()
    good, bad = taught(built, WORDS, {"v": "p"}, ledger=ledger)
    assert (good.label, bad.label) == (1.0, -1.0) and good.pair == bad.pair != ""
    assert ledger.counts["untrained"] == 1 and ledger.counts["rows"] == 2
    (label,) = taught(built, WORDS, {"other": "p"})
    assert label.label == -1.0


def test_a_template_that_rewrites_is_refused():
    class Rewriting(Bytes):
        def prompt(self, chat):
            return (len(chat), *super().prompt(chat))

    assert row_of((USER,), RIGHT, Rewriting()) is None
    ledger = Ledger()
    assert not taught(Built((Example((USER, RIGHT), (False, True)),)), Rewriting(), {"*": "p"}, ledger=ledger)
    assert sum(ledger.rejected.values()) == 1
