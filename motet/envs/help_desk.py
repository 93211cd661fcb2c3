"""A retail help-desk: a real SQLite database, tools with typed arguments, a policy and a simulated customer
(catalogue 52, APIGen-MT; the shape of tau-bench's retail domain).

Each episode is a blueprint: what the customer wants, and the actions that are right, which are none when the
policy forbids the wish. Reward 1 if at the end the database is what these actions make of it, else 0. The
customer is a rule, or with `customer_seat` a seat of its own, whose perfect player is that rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from motet.envs.databases import change, dump, make_database, query

SCHEMA = """
CREATE TABLE customer (email TEXT PRIMARY KEY, name TEXT);
CREATE TABLE orders (id INTEGER PRIMARY KEY, email TEXT REFERENCES customer(email), item TEXT, price INTEGER,
                     status TEXT, days_since_delivery INTEGER, address TEXT);
"""
POLICY = """Policy: A customer may change only own orders: ask for the e-mail address and check it.
Only a pending order can be cancelled or get another address. Only a delivered order can be returned, within
30 days of delivery. Refuse everything else, and end with done."""
NAMES = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn")
ITEMS = ("lamp", "kettle", "jacket", "headphones", "blanket", "backpack")
STREETS = ("1 Mill Lane", "22 Bay Road", "7 Oak Street", "15 Hill Way", "3 Dock Square")
LAST_DAY = 30
LONGEST = 600


class Say(Struct, frozen=True, tag_field="tool", tag="say", forbid_unknown_fields=True):
    """Say something to the customer."""

    text: str


class FindOrders(Struct, frozen=True, tag_field="tool", tag="find_orders", forbid_unknown_fields=True):
    """List the orders of a customer."""

    email: str


class GetOrder(Struct, frozen=True, tag_field="tool", tag="get_order", forbid_unknown_fields=True):
    """Show one order."""

    order: int


class CancelOrder(Struct, frozen=True, tag_field="tool", tag="cancel_order", forbid_unknown_fields=True):
    """Cancel an order."""

    order: int


class ReturnOrder(Struct, frozen=True, tag_field="tool", tag="return_order", forbid_unknown_fields=True):
    """Take an order back and refund it."""

    order: int


class ChangeAddress(Struct, frozen=True, tag_field="tool", tag="change_address", forbid_unknown_fields=True):
    """Send an order elsewhere."""

    order: int
    address: str


class Done(Struct, frozen=True, tag_field="tool", tag="done", forbid_unknown_fields=True):
    """End the conversation."""


Tool = Say | FindOrders | GetOrder | CancelOrder | ReturnOrder | ChangeAddress | Done
TOOLS: tuple[type[Struct], ...] = (Say, FindOrders, GetOrder, CancelOrder, ReturnOrder, ChangeAddress, Done)
WISHES = ("cancel", "return", "address")
BRIEF = """You work at the help-desk of a shop, with one customer. One tool call a turn, as one JSON object:
{tools}
{policy}"""
CUSTOMER_BRIEF = "You are a customer of a shop and talk to its help-desk. Say in plain words what you want."


class Wish(Struct, frozen=True):
    """What the customer wants, and the calls that are right (none when it must be refused)."""

    kind: str
    email: str
    name: str
    order: int
    address: str
    right: tuple[Tool, ...]


class Talk(Struct, frozen=True):
    """The database, what it should become, the wish, and all that was said or done, oldest first."""

    database: bytes
    wanted: tuple[str, ...]
    wish: Wish
    past: tuple[tuple[str, str], ...] = ()
    waits: bool = False
    steps: int = 0
    over: bool = False


@dataclass(frozen=True)
class HelpDesk:
    """Rules of the desk.

    Args:
        steps: how many calls the agent may make.
        customer_seat: whether the customer is a seat (a model, say) and not a rule.
    """

    steps: int = 20
    customer_seat: bool = False
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    @property
    def seats(self) -> tuple[str, ...]:
        return ("agent", "customer") if self.customer_seat else ("agent",)

    def start(self, rng: Random) -> Talk:
        customers = [(f"{name.lower()}@example.com", name) for name in NAMES]
        orders = [_order(rng, number, rng.choice(customers)[0]) for number in range(101, 113)]
        database = make_database(SCHEMA, {"customer": customers, "orders": orders})
        wish = _wish(rng, orders)
        wanted = database
        for call in wish.right:
            wanted = use(wanted, call)[0]
        opening = (("customer", _opening(wish)),)
        return Talk(database, dump(wanted), wish, opening)

    def brief(self, seat: str) -> str:
        if seat == "customer":
            return CUSTOMER_BRIEF
        tools = "\n".join(f"  {_form(tool)}  {tool.__doc__}" for tool in TOOLS)
        return BRIEF.format(tools=tools, policy=POLICY)

    def acting(self, state: Talk) -> tuple[str, ...]:
        if state.over or state.steps >= self.steps:
            return ()
        return ("customer",) if state.waits else ("agent",)

    def legal(self, state: Talk, seat: str) -> None:
        return None

    def read(self, state: Talk, seat: str, text: str) -> str | None:
        """The agent's tool call as JSON, checked against the tools; the customer's words as they are."""
        if seat == "customer":
            return " ".join(text.split())[:LONGEST] or None
        begin, end = text.find("{"), text.rfind("}")
        try:
            return msgspec.json.encode(msgspec.json.decode(text[begin : end + 1], type=Tool)).decode()
        except (msgspec.DecodeError, UnicodeEncodeError):
            return None

    def sample(self, state: Talk, seat: str, rng: Random) -> str:
        if seat == "customer":
            return rng.choice(("yes", "no", _answer(state)))
        order = rng.randint(101, 112)
        calls = (GetOrder(order), CancelOrder(order), ReturnOrder(order), Say("Which order?"), Done())
        return msgspec.json.encode(rng.choice(calls)).decode()

    def text(self, state: Talk, seat: str) -> str:
        if seat == "customer":
            told = "\n".join(f"{who}: {words}" for who, words in state.past if who in ("customer", "desk"))
            return f"What you want: {_opening(state.wish)} Your e-mail: {state.wish.email}.\n{told}"
        return "\n".join(f"{who}: {words}" for who, words in state.past)

    def step(self, state: Talk, actions: Mapping[str, str]) -> tuple[Talk, dict[str, float]]:
        if state.waits:
            heard = (*state.past, ("customer", actions["customer"]))
            return replace(state, past=heard, waits=False), {}
        call = msgspec.json.decode(self.read(state, "agent", actions["agent"]) or "", type=Tool)
        after = replace(state, steps=state.steps + 1)
        if isinstance(call, Say):
            after = replace(
                after, past=(*state.past, ("desk", call.text[:LONGEST])), waits=self.customer_seat
            )
            if not self.customer_seat:
                after = replace(after, past=(*after.past, ("customer", _answer(after))))
        else:
            database, told = use(state.database, call)
            said = msgspec.json.encode(call).decode()
            after = replace(
                after, database=database, past=(*state.past, (said, told)), over=isinstance(call, Done)
            )
        if not self.acting(after):
            return after, dict.fromkeys(self.seats, float(dump(after.database) == state.wanted))
        return after, {}

    def perfect(self, state: Talk, seat: str, rng: Random) -> str:
        """The customer: the rule. The agent: asks for the address, looks, and does what is right."""
        if seat == "customer":
            return _answer(state)
        made = {who for who, _ in state.past}
        look: tuple[Tool, ...] = (Say("Please tell me your e-mail address."), GetOrder(state.wish.order))
        for call in (*look, *state.wish.right):
            said = "desk" if isinstance(call, Say) else msgspec.json.encode(call).decode()
            if said not in made:
                return msgspec.json.encode(call).decode()
        return msgspec.json.encode(Done()).decode()


def use(database: bytes, call: Tool) -> tuple[bytes, str]:
    """Run one tool: the database afterwards, and what is told. The tools do as they are told; that the policy
    is kept is the agent's part."""
    match call:
        case FindOrders(email):
            rows = query(database, "SELECT id, item, status FROM orders WHERE email = ?", (email,))
            return database, "; ".join(f"{i}: {item}, {status}" for i, item, status in rows) or "no orders"
        case GetOrder(order):
            rows = query(database, "SELECT * FROM orders WHERE id = ?", (_stored(order),))
            return database, _told(rows[0]) if rows else f"there is no order {order}"
        case CancelOrder(order):
            return _update(database, order, "status = 'cancelled'", ())
        case ReturnOrder(order):
            return _update(database, order, "status = 'returned'", ())
        case ChangeAddress(order, address):
            return _update(database, order, "address = ?", (address,))
    return database, "the conversation is over"


def _update(database: bytes, order: int, what: str, values: tuple[str, ...]) -> tuple[bytes, str]:
    if not query(database, "SELECT 1 FROM orders WHERE id = ?", (_stored(order),)):
        return database, f"there is no order {order}"
    return change(database, f"UPDATE orders SET {what} WHERE id = ?", (*values, order)), "done"


def _stored(order: int) -> int:
    """SQLite takes 64 bits; a larger number is no order of ours."""
    return order if abs(order) < 2**63 else -1


def _told(row: tuple[object, ...]) -> str:
    order, email, item, price, status, days, address = row
    delivered = f", {days} days ago" if status == "delivered" else ""
    return f"order {order} of {email}: {item}, {price} dollars, {status}{delivered}, to {address}"


def _form(tool: type[Struct]) -> str:
    fields = {"tool": tool.__struct_config__.tag} | dict.fromkeys(tool.__struct_fields__, "...")
    return msgspec.json.encode(fields | ({"order": 101} if "order" in fields else {})).decode()


def _order(rng: Random, number: int, email: str) -> tuple[object, ...]:
    status = rng.choice(("pending", "shipped", "delivered", "delivered"))
    days = rng.randint(1, 60) if status == "delivered" else None
    return (number, email, rng.choice(ITEMS), rng.randint(10, 200), status, days, rng.choice(STREETS))


def _wish(rng: Random, orders: list[tuple[object, ...]]) -> Wish:
    order, email, _, _, status, days, address = rng.choice(orders)
    kind = rng.choice(WISHES)
    elsewhere = rng.choice([street for street in STREETS if street != address])
    name = str(email).partition("@")[0].title()
    assert isinstance(order, int)
    calls: dict[str, Tool] = {
        "cancel": CancelOrder(order),
        "return": ReturnOrder(order),
        "address": ChangeAddress(order, elsewhere),
    }
    in_time = isinstance(days, int) and days <= LAST_DAY
    allowed = in_time if kind == "return" else status == "pending"
    return Wish(kind, str(email), name, order, elsewhere, (calls[kind],) if allowed else ())


def _opening(wish: Wish) -> str:
    want = {
        "cancel": f"I want to cancel order {wish.order}.",
        "return": f"I want to send back order {wish.order} and get my money.",
        "address": f"Please send order {wish.order} to {wish.address} instead.",
    }
    return f"Hello, {wish.name} here. {want[wish.kind]}"


def _answer(state: Talk) -> str:
    """What the simulated customer says to the desk's last words."""
    asked = next((words for who, words in reversed(state.past) if who == "desk"), "").lower()
    if "mail" in asked:
        return f"It is {state.wish.email}."
    if "anything else" in asked or "bye" in asked:
        return "No, thank you. Goodbye."
    if "which order" in asked or "order number" in asked or "what" in asked:
        return _opening(state.wish)
    return "Yes, please."
