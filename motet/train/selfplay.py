"""Self-play: past selves as opponents with their Elo ratings, seats and roles that are swapped, and the exact
strategy of a policy.

SPIRAL (Liu et al. 2025, arXiv:2506.24119) plays against the present self only; the pool of past ones is an
option. Swap of roles: CORY (Ma et al. 2024, arXiv:2410.06101; catalogue 393).
"""

from collections.abc import Collection, Mapping, Sequence
from math import exp, nan
from random import Random

from msgspec import Struct

from motet.agent import compose
from motet.envs.actions import pick
from motet.envs.exact import Policy
from motet.envs.play import question
from motet.envs.protocol import Observation
from motet.envs.registry import make
from motet.errors import BadInput
from motet.performance import run_blocking
from motet.train.engine import Engine
from motet.train.rows import Row
from motet.types import Message, Sampling

NOW = "now"
"""The policy in training, among the ratings."""


class Pool(Struct, frozen=True, forbid_unknown_fields=True):
    """Past selves as opponents.

    Args:
        slot: a policy of the engine that is not trained; the past self of an iteration is loaded into it.
        every: iterations between two that are kept.
        share: of the groups, that are played against a past self.
        size: how many are kept; the oldest goes first.
        k: how far one game moves a rating.
    """

    slot: str = "past"
    every: int = 10
    share: float = 0.5
    size: int = 8
    k: float = 16.0


def drawn_opponent(members: Sequence[str], *seed: object) -> str | None:
    """Any of the past selves with equal chance; None while there is none."""
    return Random(repr(seed)).choice(members) if members else None


def lineups(
    pool: Pool, policies: Mapping[str, str], seats: Sequence[str], groups: int, *seed: object
) -> list[dict[str, str]]:
    """Who plays which seat in each group: the first groups are against a past self, in which the policy in
    training takes the seats in turn."""
    against, policy = round(pool.share * groups), next(iter(policies.values()))
    first = Random(repr(seed)).randrange(len(seats))
    found = [dict(policies)] * groups
    for group in range(against):
        mine = seats[(first + group) % len(seats)]
        found[group] = {seat: policy if seat == mine else pool.slot for seat in seats}
    return found


def check_pool(pool: Pool, trained: Collection[str], known: Collection[str]) -> None:
    """Refuse a pool that has no place in the engine.

    Raises:
        BadInput: more than one policy is trained, or the slot is not a policy of its own.
    """
    if len(trained) != 1 or pool.slot in trained or pool.slot not in known:
        raise BadInput(
            f"a pool needs one policy that is trained (got {sorted(trained)}) and another of the engine, in "
            f"which past selves play (got {pool.slot!r}); the engine has {sorted(known)}"
        )


def expected(rating: float, other: float) -> float:
    """The expected score of the first against the second (Elo 1978): 1 for a win, ½ for a draw."""
    return float(1 / (1 + 10 ** ((other - rating) / 400)))


def rated(
    ratings: Mapping[str, float], one: str, other: str, score: float, k: float = 16.0
) -> dict[str, float]:
    """The ratings after a game in which `one` scored 1, ½ or 0 against `other`. Their sum stays the same.

    Both begin with 0. A score that is not known (NaN) changes nothing.
    """
    a, b = ratings.get(one, 0.0), ratings.get(other, 0.0)
    gain = k * (score - expected(a, b))
    return dict(ratings) if score != score else {**ratings, one: a + gain, other: b - gain}


def score_of(returns: Mapping[str, float | None], seat: str) -> float:
    """1 where a seat earned more than the mean of the others, ½ for as much, 0 for less; NaN when unknown."""
    mine, others = returns.get(seat), [r for name, r in returns.items() if name != seat]
    if mine is None or not others or any(r is None for r in others):
        return nan
    mean = sum(r for r in others if r is not None) / len(others)
    return 0.5 if mine == mean else float(mine > mean)


def swapped(policies: Mapping[str, str], iteration: int, every: int) -> dict[str, str]:
    """The policies after their roles went round, once every so many iterations; 0 never swaps."""
    names = list(policies.values())
    by = iteration // every % len(names) if every else 0
    return dict(zip(policies, names[by:] + names[:by], strict=True))


def chances(engine: Engine, policy: str, asked: Message, words: Sequence[str]) -> list[float]:
    """The probability with which a policy answers with each of these words: exact, not counted.

    Args:
        words: the engine's; the place of a word is its id (as in `tabular_engine`).

    Raises:
        BadInput: the policy's model gives no ids.
    """
    (reply,) = run_blocking(engine.model(policy).sample([asked], 1, Sampling(seed=0)))
    if reply.tokens is None:
        raise BadInput(f"the model of policy {policy!r} gives no token ids")
    prompt = reply.tokens.prompt_ids
    mask = (False,) * len(prompt) + (True,)
    rows = [Row(ids=(*prompt, number), mask=mask) for number in range(len(words))]
    return [exp(line[-1]) for line in engine.logprobs(policy, rows)]


def exact_strategy(engine: Engine, policies: Mapping[str, str], env: str, words: Sequence[str]) -> Policy:
    """The policies' play, for `motet.envs.exact`: exact, not counted.

    A word stands for the action that the environment reads in it. What a policy gives to words that are no
    legal action is dealt out to the legal ones in proportion.

    Args:
        policies: of each seat.
        words: the engine's.
    """
    episode = make(env, 0)
    briefs = {seat: episode.brief(seat) for seat in episode.seats}
    episode.close()
    known: dict[tuple[str, str], dict[str, float]] = {}

    def strategy(seat: str, seen: str, legal: tuple[str, ...]) -> Mapping[str, float]:
        if (seat, seen) not in known:
            asked, _ = compose(question(briefs[seat], Observation(seen, legal)))
            found = dict.fromkeys(legal, 0.0)
            for word, chance in zip(words, chances(engine, policies[seat], asked, words), strict=True):
                if (action := pick(word, legal)) is not None:
                    found[action] += chance
            total = sum(found.values())
            known[seat, seen] = {a: p / total if total else 1 / len(legal) for a, p in found.items()}
        return known[seat, seen]

    return strategy
