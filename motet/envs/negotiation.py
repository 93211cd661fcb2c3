"""Dividing a pool of goods that two seats value differently (after Lewis et al., 2017, "Deal or No Deal?").

Each seat knows only its own values, which make the pool worth 10 points to it. Reward: points of what it
gets, divided by 10; nothing without a deal. Since values differ, talking can make both better off.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from msgspec import Struct

GOODS = ("books", "hats", "balls")
WORTH = 10
LONGEST = 500
CLAIM = re.compile(
    r"keep\s*:?\s*(\d)\s*books?\W+(?:and\s+)?(\d)\s*hats?\W+(?:and\s+)?(\d)\s*balls?", re.IGNORECASE
)
VERDICT = re.compile(r"^\W*(?:action\s*:)?\W*(accept|walk away)\b", re.IGNORECASE)
BRIEF = """You divide a pool of books, hats and balls with another player, who values them differently.
You take turns, {turns} in all. Without a deal both get nothing.
In your turn say what you like and propose a division by what you keep, as in
"I like hats. keep 1 books, 2 hats, 0 balls"; or begin with "accept" to take the other's last proposal, or
with "walk away" to end without a deal."""
Triple = tuple[int, int, int]


class Table(Struct, frozen=True):
    """The pool, both seats' values, what was said, and the division if there is one (what each gets)."""

    pool: Triple
    values: tuple[Triple, Triple]
    said: tuple[str, ...] = ()
    deal: tuple[Triple, Triple] | None = None
    over: bool = False


@dataclass(frozen=True)
class Negotiation:
    """Rules of the division.

    Args:
        turns: of both seats together.
    """

    turns: int = 10
    seats: ClassVar[tuple[str, ...]] = ("first", "second")
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def start(self, rng: Random) -> Table:
        while True:
            pool = (rng.randint(1, 3), rng.randint(1, 3), rng.randint(1, 3))
            ways = [
                (a, b, c)
                for a in range(WORTH + 1)
                for b in range(WORTH + 1)
                for c in range(WORTH + 1)
                if _worth(pool, (a, b, c)) == WORTH
            ]
            if len(ways) > 1:
                first, second = rng.sample(ways, 2)
                return Table(pool, (first, second))

    def brief(self, seat: str) -> str:
        return BRIEF.format(turns=self.turns)

    def acting(self, state: Table) -> tuple[str, ...]:
        if state.over or len(state.said) >= self.turns:
            return ()
        return (self.seats[len(state.said) % 2],)

    def legal(self, state: Table, seat: str) -> None:
        return None

    def read(self, state: Table, seat: str, text: str) -> str | None:
        """The text, unless it claims more than the pool, or accepts where nothing is proposed."""
        said = " ".join(text.split())[:LONGEST]
        if (verdict := VERDICT.match(said)) and verdict[1].lower() == "accept":
            return said if _proposed(state) else None
        claim = _claim(said)
        return said if said and (claim is None or _fits(claim, state.pool)) else None

    def sample(self, state: Table, seat: str, rng: Random) -> str:
        if _proposed(state) and rng.random() < 0.3:
            return "accept"
        keep = [rng.randint(0, most) for most in state.pool]
        return "keep {} books, {} hats, {} balls".format(*keep)

    def text(self, state: Table, seat: str) -> str:
        own = self.seats.index(seat)
        pool = ", ".join(f"{n} {good}" for n, good in zip(state.pool, GOODS, strict=True))
        worth = ", ".join(f"{good} {n}" for n, good in zip(state.values[own], GOODS, strict=True))
        said = "\n".join(
            f"{'You' if i % 2 == own else 'The other'}: {words}" for i, words in enumerate(state.said)
        )
        left = self.turns - len(state.said)
        said = said or "Nothing was said yet."
        return f"The pool: {pool}. Points each to you: {worth}. Turns left: {left}.\n{said}"

    def step(self, state: Table, actions: Mapping[str, str]) -> tuple[Table, dict[str, float]]:
        ((seat, text),) = actions.items()
        said = self.read(state, seat, text) or ""
        words = (*state.said, said)
        verdict = VERDICT.match(said)
        if not verdict:
            return Table(state.pool, state.values, words), {}
        theirs = _proposed(state)
        if verdict[1].lower() != "accept" or theirs is None:
            return Table(state.pool, state.values, words, over=True), {}
        mine = tuple(n - k for n, k in zip(state.pool, theirs, strict=True))
        deal = (mine, theirs) if seat == "first" else (theirs, mine)
        after = Table(state.pool, state.values, words, deal, True)  # type: ignore[arg-type]
        gets = zip(self.seats, deal, state.values, strict=True)
        return after, {seat: _worth(got, values) / WORTH for seat, got, values in gets}  # type: ignore[arg-type]


def _worth(goods: Triple, values: Triple) -> int:
    return sum(n * v for n, v in zip(goods, values, strict=True))


def _claim(said: str) -> Triple | None:
    found = CLAIM.findall(said)
    return (int(found[-1][0]), int(found[-1][1]), int(found[-1][2])) if found else None


def _fits(claim: Triple, pool: Triple) -> bool:
    return all(k <= n for k, n in zip(claim, pool, strict=True))


def _proposed(state: Table) -> Triple | None:
    """What the other would keep by what it said last."""
    return _claim(state.said[-1]) if state.said else None
