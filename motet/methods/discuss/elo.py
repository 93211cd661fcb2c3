"""Elo ratings fitted to the results of many matches, whoever met whom and in which order.

The ratings of Agent4Debate's arena (Zhang et al. 2024, arXiv:2408.04472, catalogue 202), as the most likely
strengths under Bradley and Terry (1952): a rating 400 points higher wins ten times as often as it loses.
"""

import math
from collections import defaultdict
from collections.abc import Iterable

from motet.errors import BadInput

ROUNDS = 200


def elo_ratings(
    matches: Iterable[tuple[str, str, float]], *, mean: float = 1000.0, prior: float = 1.0
) -> dict[str, float]:
    """Fit ratings to matches.

    Args:
        matches: names of both players, and the score of the first: 1 won, ½ drawn, 0 lost.
        mean: of all ratings.
        prior: how many drawn matches against an average player each is taken to have had besides; above 0,
            so that who wins every match is not rated infinitely high.

    Returns:
        The rating of each player, best first.

    Raises:
        BadInput: a score is not from 0 to 1, or `prior` not above 0.
    """
    if prior <= 0:
        raise BadInput(f"prior={prior!r}: expected more than 0")
    points: dict[str, float] = defaultdict(float)
    met: dict[tuple[str, str], int] = defaultdict(int)
    for first, second, score in matches:
        if not 0 <= score <= 1:
            raise BadInput(f"score={score!r} of {first!r} against {second!r}: expected 1, 0.5 or 0")
        points[first] += score
        points[second] += 1 - score
        met[first, second] += 1
    strength = dict.fromkeys(points, 1.0)
    for _ in range(ROUNDS):  # minorise and maximise (Hunter 2004): each round makes the matches more likely
        games = {name: prior / (strength[name] + 1) for name in strength}
        for (a, b), times in met.items():
            for name in (a, b):
                games[name] += times / (strength[a] + strength[b])
        strength = {name: (points[name] + prior / 2) / games[name] for name in strength}
    rating = {name: 400 * math.log10(value) for name, value in strength.items()}
    shift = mean - sum(rating.values()) / len(rating) if rating else 0.0
    return dict(sorted(((n, r + shift) for n, r in rating.items()), key=lambda item: -item[1]))
