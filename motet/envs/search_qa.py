"""Questions on a generated corpus, answered by searching it (catalogue 343 and 379).

One seat searches (BM25, through `motet.tools.search.searcher`) and answers. Questions need 1 to 3 facts that
stand in different documents. Reward 1 for the exact answer, else 0. The corpus is made up, so nothing in it
can be known beforehand.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import ClassVar

from msgspec import Struct

from motet.errors import BadInput

LINE = re.compile(r"\b(search|answer)\s*:\s*(.+)", re.IGNORECASE)
LONGEST = 200
PARTS = (
    ("Bal", "Dor", "Fen", "Gal", "Kor", "Lum", "Mar", "Nel", "Tor", "Vel"),
    ("a", "e", "i", "o", "u"),
    ("bra", "dan", "kin", "lor", "mos", "nis", "rin", "tal", "vek", "zar"),
)
BRIEF = """You answer a question from a small encyclopedia. Two commands, one a turn:
"search: words" shows the best documents ({searches} times at most); "answer: X" ends, with one name as X."""


class Quest(Struct, frozen=True):
    """The documents, the question, the names along its chain of facts, its answer, and what was done."""

    documents: tuple[tuple[str, str], ...]
    question: str
    chain: tuple[str, ...]
    answer: str
    past: tuple[tuple[str, str], ...] = ()
    over: bool = False


@dataclass(frozen=True)
class SearchQa:
    """Rules of the search.

    Args:
        people: people in the corpus; companies and cities are half as many each, countries a fifth.
        hops: facts that a question needs, 1 to 3; 0 draws one of these.
        searches: how many may be made.
    """

    people: int = 20
    hops: int = 0
    searches: int = 5
    seats: ClassVar[tuple[str, ...]] = ("player",)
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (5 <= self.people <= 100 and 0 <= self.hops <= 3):
            raise BadInput(f"{self!r}: expected 5 to 100 people, and 0 to 3 hops")

    def start(self, rng: Random) -> Quest:
        names = ["".join(rng.choice(part) for part in PARTS) for _ in range(4 * self.people)]
        names = sorted(set(names))
        rng.shuffle(names)
        half, fifth = self.people // 2, max(2, self.people // 5)
        countries, cities = names[:fifth], names[fifth : fifth + half]
        companies, people = names[fifth + half : fifth + 2 * half], names[fifth + 2 * half :][: self.people]
        in_country = {city: rng.choice(countries) for city in cities}
        born = {person: rng.choice(cities) for person in people}
        founder = {company: rng.choice(people) for company in companies}
        trade = {person: rng.choice(("a painter", "an engineer", "a singer", "a baker")) for person in people}
        documents = [(c, f"{c} is a city in {in_country[c]}.") for c in cities]
        documents += [(p, f"{p} is {trade[p]} who was born in {born[p]}.") for p in people]
        documents += [(c, f"{c} is a company that {founder[c]} founded.") for c in companies]
        rng.shuffle(documents)
        company = rng.choice(companies)
        chain = (company, founder[company], born[founder[company]], in_country[born[founder[company]]])
        hops = self.hops or rng.randint(1, 3)
        question = (
            f"Who founded {company}?",
            f"In which city was the founder of {company} born?",
            f"In which country was the founder of {company} born?",
        )[hops - 1]
        return Quest(tuple(documents), question, chain[:hops], chain[hops])

    def brief(self, seat: str) -> str:
        return BRIEF.format(searches=self.searches)

    def acting(self, state: Quest) -> tuple[str, ...]:
        return () if state.over else self.seats

    def legal(self, state: Quest, seat: str) -> None:
        return None

    def read(self, state: Quest, seat: str, text: str) -> str | None:
        """The last command in the text; a search only while one is left."""
        commands = LINE.findall(text)
        if not commands:
            return None
        verb, what = commands[-1][0].lower(), commands[-1][1].strip().rstrip(".")[:LONGEST]
        return f"{verb}: {what}" if what and (verb == "answer" or len(state.past) < self.searches) else None

    def sample(self, state: Quest, seat: str, rng: Random) -> str:
        verb = rng.choice(("search", "answer")) if len(state.past) < self.searches else "answer"
        return f"{verb}: {rng.choice(state.documents)[0]}"

    def text(self, state: Quest, seat: str) -> str:
        past = "".join(f"\n\n{said}\n{result}" for said, result in state.past)
        return f"{state.question}\nSearches left: {self.searches - len(state.past)}.{past}"

    def step(self, state: Quest, actions: Mapping[str, str]) -> tuple[Quest, dict[str, float]]:
        said = self.read(state, "player", actions["player"]) or ""
        verb, _, what = said.partition(": ")
        if verb == "answer":
            right = what.casefold() == state.answer.casefold()
            after = Quest(
                state.documents, state.question, state.chain, state.answer, (*state.past, (said, "")), True
            )
            return after, {"player": float(right)}
        past = (*state.past, (said, _searcher(state.documents)(what)))
        return Quest(state.documents, state.question, state.chain, state.answer, past), {}

    def perfect(self, state: Quest, seat: str, rng: Random) -> str:
        """An oracle that knows the chain, and looks up each link before it answers."""
        done = len(state.past)
        return (
            f"search: {state.chain[done]}"
            if done < min(len(state.chain), self.searches)
            else f"answer: {state.answer}"
        )


@lru_cache(maxsize=64)
def _searcher(documents: tuple[tuple[str, str], ...]) -> Callable[[str], str]:
    from motet.tools.search import searcher

    return searcher(list(documents))
