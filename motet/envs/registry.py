"""The environments by name, and how one is made. A maker is data, so that it can be sent to a worker."""

from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any, Literal

from msgspec import Struct

from motet.envs.positions import Graph
from motet.envs.protocol import Env
from motet.envs.referee import Illegal
from motet.envs.world import World
from motet.errors import BadInput, UnknownName

Turns = Literal["alternating", "simultaneous", "both", "single"]


class EnvInfo(Struct, frozen=True):
    """One built-in world.

    Args:
        rules: where its rules are, `module:class` below `motet.envs`.
        seats: who takes part, in words of the world's default options.
        turns: how many act at a time, and whether in turn.
        summary: one line.
        perfect: what its perfect player is; empty when there is none.
        system: numbers of the systems of the catalogue that ask for it.
    """

    name: str
    rules: str
    seats: tuple[str, ...]
    turns: Turns
    summary: str
    perfect: str = ""
    system: tuple[int, ...] = ()


_PAIR = ("first", "second")
_ONE = ("player",)
ENVS: dict[str, EnvInfo] = {
    info.name: info
    for info in (
        EnvInfo(
            "tic_tac_toe",
            "tic_tac_toe:TicTacToe",
            ("x", "o"),
            "alternating",
            "three in a row",
            "minimax",
            (339,),
        ),
        EnvInfo(
            "kuhn",
            "kuhn:Kuhn",
            _PAIR,
            "alternating",
            "Kuhn poker: three cards, one bet",
            "equilibrium",
            (339,),
        ),
        EnvInfo("leduc", "leduc:Leduc", _PAIR, "alternating", "Leduc poker: six cards, two rounds"),
        EnvInfo(
            "matching_pennies",
            "matrix_games:MatchingPennies",
            ("row", "column"),
            "simultaneous",
            "heads or tails; one wins when they match",
            "equilibrium",
        ),
        EnvInfo(
            "prisoners_dilemma",
            "matrix_games:PrisonersDilemma",
            ("row", "column"),
            "simultaneous",
            "the iterated prisoner's dilemma",
        ),
        EnvInfo(
            "negotiation",
            "negotiation:Negotiation",
            _PAIR,
            "alternating",
            "divide goods valued differently",
            "",
            (339,),
        ),
        EnvInfo(
            "twenty_questions",
            "twenty_questions:TwentyQuestions",
            _ONE,
            "single",
            "find the word by its properties",
            "halving",
            (305,),
        ),
        EnvInfo("guess_number", "guess_number:GuessNumber", _ONE, "single", "higher or lower", "halving"),
        EnvInfo(
            "maze", "maze:Maze", _PAIR, "alternating", "a maze of which each sees a part", "oracle", (111,)
        ),
        EnvInfo(
            "twenty_four",
            "twenty_four:TwentyFour",
            _ONE,
            "single",
            "make 24 of four numbers",
            "solver",
            (338,),
        ),
        EnvInfo(
            "household",
            "household:Household",
            _ONE,
            "single",
            "find, treat and put away things in a house",
            "oracle",
            (337, 338),
        ),
        EnvInfo(
            "shop",
            "shop:Shop",
            ("buyer",),
            "single",
            "search a web shop and buy what is wished",
            "oracle",
            (337,),
        ),
        EnvInfo(
            "help_desk",
            "help_desk:HelpDesk",
            ("agent",),
            "single",
            "a customer, a policy, tools and an SQLite database",
            "oracle",
            (52,),
        ),
        EnvInfo(
            "text_to_sql",
            "text_to_sql:TextToSql",
            ("analyst",),
            "single",
            "answer questions on an SQLite database",
            "oracle",
            (93,),
        ),
        EnvInfo(
            "search_qa",
            "search_qa:SearchQa",
            _ONE,
            "single",
            "answer questions by searching a made-up corpus",
            "oracle",
            (343, 379),
        ),
        EnvInfo(
            "social_deduction",
            "social_deduction:SocialDeduction",
            tuple(f"player_{i}" for i in range(1, 6)),
            "both",
            "werewolf: talk, vote, find the wolf",
            "",
            (328,),
        ),
    )
}
"""The built-in worlds."""

ADAPTERS: dict[str, tuple[str, str]] = {
    "pettingzoo": ("adapters.pettingzoo:make_env", "pettingzoo:classic/connect_four-v3"),
    "gymnasium": ("adapters.gymnasium:make_env", "gymnasium:FrozenLake-v1"),
    "textarena": ("adapters.textarena:make_env", "textarena:TicTacToe-v0-raw"),
    "openenv": ("adapters.openenv:make_env", "openenv:http://127.0.0.1:8000"),
    "reasoning_gym": ("adapters.reasoning_gym:make_env", "reasoning_gym:chain_sum"),
}
"""Families of other packages' environments: who makes one, and an example of a name."""


class EnvSpec(Struct, frozen=True):
    """A maker as data: `EnvSpec("kuhn")(3)` is `make("kuhn", seed=3)`."""

    name: str
    options: dict[str, Any] = {}

    def __call__(self, seed: int) -> Env:
        """Make the episode of this seed."""
        return make(self.name, seed, **self.options)


def make(name: str, seed: int = 0, *, illegal: Illegal = Illegal(), **options: Any) -> Env:
    """Begin an episode.

    Args:
        name: of `ENVS`, or `FAMILY:NAME` of another package (`gymnasium:FrozenLake-v1`).
        seed: decides all chance of the episode.
        illegal: what an illegal action costs; adapters keep the rule of their package.
        options: of the world (the fields of its rules), or of the package's own maker.

    Raises:
        UnknownName: no such environment, or no such option. BadInput: an option is out of range.
        MissingExtra: the package is not installed.

    >>> make("guess_number", seed=1, high=9).observe("player").text
    'My number is from 1 to 9. Guesses left: 10.'
    """
    if name in ENVS:
        return World(_graph(name, tuple(options.items()) if options else ()), seed, illegal, name)
    family, colon, rest = name.partition(":")
    if family not in ADAPTERS or not (colon and rest):
        raise UnknownName("environment", name, [*ENVS, *(example for _, example in ADAPTERS.values())])
    adapted: Env = _load(ADAPTERS[family][0])(rest, seed, **options)
    return adapted


@lru_cache(maxsize=256)
def _graph(name: str, options: tuple[tuple[str, Any], ...]) -> Graph[Any]:
    """Rules never change, so all episodes share them."""
    rules: Any = _load(ENVS[name].rules)
    known = [field for field in rules.__dataclass_fields__ if field in rules.__init__.__annotations__]
    for option, value in options:
        if option not in known:
            raise UnknownName(f"option of {name}", option, known)
        wanted = rules.__init__.__annotations__[option]
        if not isinstance(value, (int, float) if wanted is float else wanted):
            raise BadInput(f"{option} of {name} is {value!r}; expected a value of type {wanted.__name__}")
    return Graph(rules(**dict(options)))


def _load(where: str) -> Callable[..., Any]:
    module, _, name = where.partition(":")
    made: Callable[..., Any] = getattr(import_module(f"motet.envs.{module}"), name)
    return made
