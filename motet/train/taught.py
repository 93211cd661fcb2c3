"""From tuning data to training rows: messages become ids as the sampler's own chat template makes them.

This is for imitation and preferences, which need no sampled ids; RL losses read `rows_of` tapes instead.
"""

from collections.abc import Mapping, Sequence

from motet.models.trainable.words import Vocabulary
from motet.models.turns import turns, words
from motet.train.builders.data import Built, Span
from motet.train.rows import Ledger, Row
from motet.types import Message, Sampling

NEXT = ("user", "?")
"""A turn that is put after a reply, to see how the template ends it."""


def taught(
    built: Built, vocabulary: Vocabulary, policies: Mapping[str, str], *, ledger: Ledger | None = None
) -> list[Row]:
    """A row for every trained message, two for every pair, one for every label.

    Args:
        vocabulary: of the model to tune.
        policies: which policy each voice is tuned as; `*` stands for all that are not named.
        ledger: where to count what became of the data.

    Returns:
        Rows for the losses `sft` (with weights), `dpo` and `kto`.
    """
    ledger = Ledger() if ledger is None else ledger
    rows: list[Row] = []

    def add(prompt: Sequence[Message], said: Message, voice: str, runs: tuple[str, ...]) -> Row | None:
        policy = policies.get(voice, policies.get("*", ""))
        if not policy:
            ledger.counts["untrained"] += 1
            return None
        row = row_of(prompt, said, vocabulary)
        if row is None:
            ledger.rejected["the chat template does not go on where the prompt ended"] += 1
            return None
        return row.but(voice=voice, policy=policy, run=" ".join(runs))

    for example in built.sft:
        for i, trained in enumerate(example.trained):
            row = (
                add(example.messages[:i], example.messages[i], example.voice, example.runs)
                if trained
                else None
            )
            if row:
                spans = [span for span in example.spans if span.message == i]
                rows.append(row.but(weights=_weights(row, spans, example.weight, vocabulary)))
    for number, pair in enumerate(built.dpo):
        both = [add(pair.prompt, side, pair.voice, pair.runs) for side in (pair.chosen, pair.rejected)]
        if both[0] and both[1]:
            rows += [both[0].but(label=1.0, pair=str(number)), both[1].but(label=-1.0, pair=str(number))]
    for one in built.kto:
        if row := add(one.prompt, one.completion, one.voice, one.runs):
            rows.append(row.but(label=1.0 if one.wanted else -1.0))
    ledger.counts["rows"] += len(rows)
    ledger.counts["tokens"] += sum(sum(row.mask) for row in rows)
    return rows


def row_of(prompt: Sequence[Message], said: Message, vocabulary: Vocabulary) -> Row | None:
    """One reply after its prompt, the token that ends the turn included; None where the template rewrites."""
    chat = [(turn["role"], turn["content"]) for turn in turns(prompt, Sampling())]
    before = vocabulary.prompt(chat)
    whole = vocabulary.prompt([*chat, ("assistant", words(said)), NEXT])
    if whole[: len(before)] != before:
        return None
    end = next((i for i in range(len(before), len(whole)) if whole[i] in vocabulary.ends), None)
    if end is None:
        return None
    mask = tuple(i >= len(before) for i in range(end + 1))
    return Row(ids=whole[: end + 1], mask=mask, tokenizer=vocabulary.label)


def _weights(row: Row, spans: Sequence[Span], weight: float, vocabulary: Vocabulary) -> tuple[float, ...]:
    """The example's weight on every trained token, times that of the span which the token begins in."""
    start = row.mask.index(True)
    if not spans:
        return tuple(weight * on for on in row.mask)
    values = [0.0] * start
    for at in range(start, len(row.ids)):
        place = len(vocabulary.decode(row.ids[start:at]))
        inside = [span for span in spans if span.start <= place]
        values.append(weight * (inside[-1].weight if inside else 1.0))
    return tuple(values)
