"""A household in words, in the style of ALFWorld (Shridhar et al., 2021), made from a seed.

One seat must find a thing, perhaps clean, heat or cool it, and put it somewhere. An episode is long, the
only reward is 1 at its end, and what is seen depends on the place alone, so states recur within and across
episodes: what step-level credit such as GiGPO (catalogue 337) needs.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import ClassVar

from msgspec import Struct
from msgspec.structs import replace

from motet.errors import BadInput

OPEN = (
    "countertop 1",
    "countertop 2",
    "diningtable 1",
    "shelf 1",
    "shelf 2",
    "desk 1",
    "sinkbasin 1",
    "garbagecan 1",
)
CLOSED = ("cabinet 1", "cabinet 2", "cabinet 3", "drawer 1", "drawer 2", "fridge 1", "microwave 1")
PLACES = OPEN + CLOSED
FOOD = ("apple", "potato", "tomato", "egg", "bread")
DISHES = ("mug", "plate", "bowl", "cup", "fork", "knife")
OTHERS = ("book", "pencil", "vase", "candle")
TREAT = {"clean": "sinkbasin 1", "heat": "microwave 1", "cool": "fridge 1"}
DONE = {"clean": "clean", "heat": "hot", "cool": "cool"}
FIRST = (*TREAT.values(), "countertop 1", "cabinet 1", "shelf 1", "drawer 1")
"""What a small house has."""
BRIEF = """You are in a house and act by commands, one a turn: go to PLACE, open PLACE, take THING from PLACE,
put THING in PLACE, clean THING with sinkbasin 1, heat THING with microwave 1, cool THING with fridge 1.
You can carry one thing. A closed place must be opened before you see what is in it.
Answer with one of the commands that are legal now, as in "Action: go to shelf 1"."""


class Home(Struct, frozen=True):
    """Where things are (`hand` is a place too), what was opened and done, and the task."""

    things: tuple[tuple[str, str], ...]
    goal: tuple[str, str, str]
    at: str = "the middle of the room"
    opened: tuple[str, ...] = ()
    treated: tuple[tuple[str, str], ...] = ()
    steps: int = 0


@dataclass(frozen=True)
class Household:
    """Rules of the house.

    Args:
        things: how many lie about.
        steps: how many commands an episode may take.
        places: how many there are.
    """

    things: int = 10
    steps: int = 30
    places: int = 15
    seats: ClassVar[tuple[str, ...]] = ("player",)
    stake: ClassVar[float] = 0.0
    zero_sum: ClassVar[bool] = False

    def __post_init__(self) -> None:
        most = self.places - len(TREAT) - 1
        if not 1 <= self.things <= most or self.places > len(PLACES) or self.steps < 1:
            raise BadInput(
                f"{self!r}: expected up to {len(PLACES)} places, 1 to {most} things in them, "
                f"and 1 step or more"
            )

    @property
    def known(self) -> tuple[str, ...]:
        """The places of this house."""
        kept = dict.fromkeys((*FIRST, *PLACES))
        few = list(kept)[: self.places]
        return tuple(place for place in PLACES if place in few)

    def start(self, rng: Random) -> Home:
        kinds = [rng.choice(FOOD + DISHES + OTHERS) for _ in range(self.things)]
        counts: dict[str, int] = {}
        placed = []
        for kind in kinds:
            counts[kind] = counts.get(kind, 0) + 1
            placed.append((f"{kind} {counts[kind]}", rng.choice(self.known)))
        kind = rng.choice(kinds)
        ways = [""] + (["heat", "cool"] if kind in FOOD else []) + (["clean"] if kind not in OTHERS else [])
        held = {place for thing, place in placed if thing.startswith(f"{kind} ")}
        target = rng.choice([p for p in self.known if p not in held and p not in TREAT.values()])
        return Home(tuple(sorted(placed)), (rng.choice(ways), kind, target))

    def brief(self, seat: str) -> str:
        return BRIEF

    def acting(self, state: Home) -> tuple[str, ...]:
        return () if state.steps >= self.steps or _met(state) else self.seats

    def legal(self, state: Home, seat: str) -> tuple[str, ...]:
        here = state.at
        commands = [f"go to {place}" for place in self.known if place != here]
        if here in CLOSED and here not in state.opened:
            commands.append(f"open {here}")
        held = _held(state)
        if not held and _visible(state):
            commands += [f"take {thing} from {here}" for thing, place in state.things if place == here]
        if held and _visible(state):
            commands.append(f"put {held} in {here}")
        if held:
            commands += [f"{act} {held} with {tool}" for act, tool in TREAT.items() if tool == here]
        return tuple(commands)

    def text(self, state: Home, seat: str) -> str:
        if state.at in CLOSED and state.at not in state.opened:
            seen = "It is closed."
        elif _visible(state):
            here = [thing for thing, place in state.things if place == state.at]
            seen = f"You see {', '.join(here) or 'nothing'}."
        else:
            seen = f"Around you: {', '.join(self.known)}."
        held = _held(state)
        marks = "".join(f" ({DONE[act]})" for thing, act in state.treated if thing == held)
        carried = f"You carry {held}{marks}." if held else "You carry nothing."
        legal = "\n".join(self.legal(state, seat))
        return f"Your task: {_task(state.goal)}\nYou are at {state.at}. {seen} {carried}\nLegal:\n{legal}"

    def step(self, state: Home, actions: Mapping[str, str]) -> tuple[Home, dict[str, float]]:
        verb, _, rest = actions["player"].partition(" ")
        after = replace(state, steps=state.steps + 1)
        if verb == "go":
            after = replace(after, at=rest.removeprefix("to "))
        elif verb == "open":
            after = replace(after, opened=tuple(sorted({*state.opened, rest})))
        elif verb == "take":
            after = replace(after, things=_moved(state, rest.partition(" from ")[0], "hand"))
        elif verb == "put":
            after = replace(after, things=_moved(state, rest.partition(" in ")[0], state.at))
        else:
            done = (rest.partition(" with ")[0], verb)
            undone = {"heat": "cool", "cool": "heat"}.get(verb)
            kept = {t for t in state.treated if t != (done[0], undone)}
            after = replace(after, treated=tuple(sorted({*kept, done})))
        return after, {"player": float(_met(after))}

    def perfect(self, state: Home, seat: str, rng: Random) -> str:
        """An oracle that knows where everything is."""
        act, kind, target = state.goal
        held = _held(state)
        if held and not held.startswith(f"{kind} "):
            return f"put {held} in {state.at}" if _visible(state) else self._reach(state, "countertop 1")
        if not held:
            thing, place = next((t, p) for t, p in state.things if t.startswith(f"{kind} "))
            return f"take {thing} from {place}" if self._there(state, place) else self._reach(state, place)
        if act and (held, act) not in state.treated:
            tool = TREAT[act]
            return f"{act} {held} with {tool}" if state.at == tool else f"go to {tool}"
        return f"put {held} in {target}" if self._there(state, target) else self._reach(state, target)

    def _there(self, state: Home, place: str) -> bool:
        return state.at == place and _visible(state)

    def _reach(self, state: Home, place: str) -> str:
        return f"open {place}" if state.at == place else f"go to {place}"


def _visible(state: Home) -> bool:
    return state.at in OPEN or state.at in state.opened


def _held(state: Home) -> str:
    return next((thing for thing, place in state.things if place == "hand"), "")


def _moved(state: Home, thing: str, place: str) -> tuple[tuple[str, str], ...]:
    return tuple((t, place if t == thing else p) for t, p in state.things)


def _met(state: Home) -> bool:
    act, kind, target = state.goal
    return any(
        place == target and thing.startswith(f"{kind} ") and (not act or (thing, act) in state.treated)
        for thing, place in state.things
    )


def _task(goal: tuple[str, str, str]) -> str:
    act, kind, target = goal
    return f"put a {f'{DONE[act]} ' if act else ''}{kind} in {target}."
