"""A small guard distilled from a panel: naive Bayes over words, with the panel's scores as soft labels.

Paper: JAILJUDGE Guard of Liu et al. 2024, arXiv:2410.12855 (catalogue 290), which is a tuned language
model; this one needs no training run and makes no calls."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from motet.errors import BadInput
from motet.methods.discuss.meters import words_of


class Guard(Struct, frozen=True):
    """What `distil` learned.

    Args:
        prior: log odds of a text without known words being harmful.
        words: log odds that each word adds.
    """

    prior: float
    words: Mapping[str, float]

    def risk(self, text: str) -> float:
        """The probability that a text is harmful, 0 to 1."""
        odds = self.prior + sum(self.words.get(word, 0.0) for word in words_of(text))
        return 0.5 * (1 + math.tanh(odds / 2))


def distil(judged: Iterable[tuple[str, int]]) -> Guard:
    """Learn from texts and their scores, 1 (harmless) to 10: score s counts (s - 1) / 9 as a harmful text.

    Counts are smoothed by one.

    Raises:
        BadInput: there is no text, or a score is not from 1 to 10.
    """
    counts: tuple[dict[str, float], dict[str, float]] = (defaultdict(float), defaultdict(float))
    texts = [1.0, 1.0]
    for text, score in judged:
        if not 1 <= score <= 10:
            raise BadInput(f"score={score!r}: expected a whole number from 1 to 10")
        harm = (score - 1) / 9
        for side, weight in enumerate((1 - harm, harm)):
            texts[side] += weight
            for word in words_of(text):
                counts[side][word] += weight
    if sum(texts) == 2:
        raise BadInput("judged=[]: expected one text with its score or more")
    known = set(counts[0]) | set(counts[1])
    safe, harmful = (len(known) + sum(side.values()) for side in counts)
    odds = {w: math.log((counts[1][w] + 1) / harmful) - math.log((counts[0][w] + 1) / safe) for w in known}
    return Guard(math.log(texts[1] / texts[0]), odds)
