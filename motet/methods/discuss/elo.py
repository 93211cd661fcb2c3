"""Elo ratings fitted to the results of many matches, whoever met whom and in which order.

The ratings of Agent4Debate's arena (Zhang et al. 2024, arXiv:2408.04472, catalogue 202), as the most likely
strengths under Bradley and Terry (1952): a rating 400 points higher wins ten times as often as it loses.
"""

import math
from collections.abc import Iterable

from motet.errors import BadInput

ROUNDS = 1000
"""Steps at most; some thirty are taken."""
CLOSE = 1e-6
"""The change of any rating, in points, at which they have settled."""
POINTS = 400 / math.log(10)
"""Rating points for each factor of e in strength."""


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
    import numpy as np

    games = list(matches)
    place = {name: i for i, name in enumerate(dict.fromkeys(name for game in games for name in game[:2]))}
    points, met = np.full(len(place), prior / 2), np.zeros((len(place), len(place)))
    for first, second, score in games:
        if not 0 <= score <= 1:
            raise BadInput(f"score={score!r} of {first!r} against {second!r}: expected 1, 0.5 or 0")
        a, b = place[first], place[second]
        points[a] += score
        points[b] += 1 - score
        met[a, b] += 1
        met[b, a] += 1
    strength = np.zeros(len(place))  # logarithms
    for _ in range(ROUNDS):  # Newton's method: each round makes the matches more likely
        odds = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
        own = 1 / (1 + np.exp(-strength))
        slope = points - (met * odds).sum(1) - prior * own
        bend = met * odds * odds.T
        curve = np.diag(bend.sum(1) + prior * own * (1 - own)) - bend
        step = np.linalg.solve(curve, slope)
        strength += step / max(1.0, abs(step).max(initial=0.0))  # at most a factor of e at a time
        if abs(step).max(initial=0.0) * POINTS < CLOSE:
            break
    rating = POINTS * (strength - strength.mean()) + mean if place else strength
    return dict(sorted(zip(place, rating.tolist(), strict=True), key=lambda item: -item[1]))
