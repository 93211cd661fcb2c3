"""A small web shop in the style of WebShop (Yao et al., 2022), made from a seed.

One seat is told what to buy; it searches, opens a product, chooses its options and buys. Reward at the end:
the share of the wishes that the bought thing meets (kind, property, colour, size, price), 0 for another kind.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

KINDS = ("shirt", "jacket", "backpack", "lamp", "mug", "blanket", "notebook", "headphones")
PROPERTIES = ("cotton", "waterproof", "lightweight", "handmade", "recycled", "soft", "foldable")
COLOURS = ("red", "blue", "green", "black", "white")
SIZES = ("small", "medium", "large")
PAGE = 5
LONGEST = 100
COMMAND = re.compile(r"\b(search|click)\s*\[([^\[\]]+)\]", re.IGNORECASE)
BRIEF = """You buy in a web shop. Commands: search[words], click[what stands on the page].
Find a product, click its number, click a colour and a size, then click[buy]. You have {steps} commands.
Answer with one command, as in "Action: search[soft blanket]"."""


class Product(Struct, frozen=True):
    """One thing on sale, in all its colours and sizes."""

    id: str
    kind: str
    properties: tuple[str, ...]
    colours: tuple[str, ...]
    sizes: tuple[str, ...]
    price: int


class Wish(Struct, frozen=True):
    """What to buy; `product` is one that meets it all."""

    kind: str
    property: str
    colour: str
    size: str
    price: int
    product: str


class Visit(Struct, frozen=True):
    """The shop, the wish, and what the page shows."""

    products: tuple[Product, ...]
    wish: Wish
    found: tuple[str, ...] = ()
    page: int = 0
    open: str = ""
    chosen: tuple[str, str] = ("", "")
    steps: int = 0
    bought: bool = False


@dataclass(frozen=True)
class Shop:
    """Rules of the shop.

    Args:
        products: how many are on sale.
        steps: how many commands an episode may take.
    """

    products: int = 40
    steps: int = 15
    seats: ClassVar[tuple[str, ...]] = ("buyer",)
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def start(self, rng: Random) -> Visit:
        products = tuple(_product(rng, f"B{number:03}") for number in range(1, self.products + 1))
        goal = rng.choice(products)
        wish = Wish(
            goal.kind,
            rng.choice(goal.properties),
            rng.choice(goal.colours),
            rng.choice(goal.sizes),
            goal.price + rng.randint(0, 5),
            goal.id,
        )
        return Visit(products, wish)

    def brief(self, seat: str) -> str:
        return BRIEF.format(steps=self.steps)

    def acting(self, state: Visit) -> tuple[str, ...]:
        return () if state.bought or state.steps >= self.steps else self.seats

    def legal(self, state: Visit, seat: str) -> None:
        return None

    def read(self, state: Visit, seat: str, text: str) -> str | None:
        """The last command in the text, if the page has what it clicks."""
        commands = COMMAND.findall(text)
        if not commands:
            return None
        verb, what = commands[-1][0].lower(), " ".join(commands[-1][1].split())[:LONGEST]
        if verb == "search":
            return f"search[{what}]"
        link = next((link for link in _links(state) if link.lower() == what.lower()), None)
        return f"click[{link}]" if link else None

    def sample(self, state: Visit, seat: str, rng: Random) -> str:
        options = [f"click[{link}]" for link in _links(state)]
        return rng.choice([*options, f"search[{rng.choice(PROPERTIES)} {rng.choice(KINDS)}]"])

    def text(self, state: Visit, seat: str) -> str:
        w = state.wish
        wish = f"Buy: {w.property} {w.kind}, {w.colour}, {w.size}, for at most {w.price} dollars."
        links = " ".join(f"[{link}]" for link in _links(state))
        return f"{wish}\n{_page(state)}\nOn this page: search[...] {links}"

    def step(self, state: Visit, actions: Mapping[str, str]) -> tuple[Visit, dict[str, float]]:
        command = self.read(state, "buyer", actions["buyer"]) or ""
        what = command.partition("[")[2][:-1]
        after = replace(state, steps=state.steps + 1)
        if command.startswith("search"):
            return replace(after, found=_search(state.products, what), page=0, open="", chosen=("", "")), {}
        if what == "buy":
            return replace(after, bought=True), {"buyer": _score(state)}
        if what in ("next", "previous"):
            return replace(after, page=state.page + (1 if what == "next" else -1)), {}
        if what == "back":
            return replace(after, open="", chosen=("", "")), {}
        if what in COLOURS:
            return replace(after, chosen=(what, state.chosen[1])), {}
        if what in SIZES:
            return replace(after, chosen=(state.chosen[0], what)), {}
        return replace(after, open=what, chosen=("", "")), {}

    def perfect(self, state: Visit, seat: str, rng: Random) -> str:
        """An oracle that knows which product is meant."""
        w = state.wish
        if state.open == w.product:
            colour, size = state.chosen
            return f"click[{w.colour if colour != w.colour else w.size if size != w.size else 'buy'}]"
        if state.open:
            return "click[back]"
        if w.product not in state.found:
            return f"search[{w.product}]"
        ahead = state.found.index(w.product) // PAGE - state.page
        return f"click[{w.product if not ahead else 'next' if ahead > 0 else 'previous'}]"


def _product(rng: Random, number: str) -> Product:
    return Product(
        number,
        rng.choice(KINDS),
        tuple(sorted(rng.sample(PROPERTIES, 2))),
        tuple(sorted(rng.sample(COLOURS, 3))),
        tuple(s for s in SIZES if s in rng.sample(SIZES, 2)) or SIZES,
        rng.randint(5, 90),
    )


def _search(products: tuple[Product, ...], words: str) -> tuple[str, ...]:
    """Products that share a word with the query, most words first."""
    wanted = set(words.lower().split())

    def shared(p: Product) -> int:
        return len(wanted & {p.id.lower(), p.kind, *p.properties, *p.colours, *p.sizes})

    return tuple(p.id for p in sorted(products, key=lambda p: (-shared(p), p.id)) if shared(p))


def _links(state: Visit) -> tuple[str, ...]:
    if state.open:
        p = _opened(state)
        return (*p.colours, *p.sizes, "back", "buy")
    first = state.page * PAGE
    more = ("next",) if first + PAGE < len(state.found) else ()
    return (*state.found[first : first + PAGE], *more, *(("previous",) if state.page else ()))


def _opened(state: Visit) -> Product:
    return next(p for p in state.products if p.id == state.open)


def _page(state: Visit) -> str:
    if state.open:
        p = _opened(state)
        chosen = " ".join(part for part in state.chosen if part) or "nothing"
        return f"{p.id}: {' '.join(p.properties)} {p.kind}, {p.price} dollars. Chosen: {chosen}."
    by_id = {p.id: p for p in state.products}
    shown = [by_id[found] for found in state.found[state.page * PAGE : (state.page + 1) * PAGE]]
    return (
        "\n".join(f"{p.id}: {' '.join(p.properties)} {p.kind}, {p.price} dollars" for p in shown)
        or "No results."
    )


def _score(state: Visit) -> float:
    p, w = _opened(state), state.wish
    if p.kind != w.kind:
        return 0.0
    met = (
        True,
        w.property in p.properties,
        *(a == b for a, b in zip(state.chosen, (w.colour, w.size), strict=True)),
    )
    return sum((*met, p.price <= w.price)) / 5
