"""TextArena: word games in turn. `textarena:TicTacToe-v0-raw`.

TextArena draws from the process-wide `random`, so two episodes at once disturb each other. Here each
episode keeps a state of that generator, which is put in its place while the episode works.
"""

import random
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from random import Random
from typing import Any

from motet.envs.adapters.adapted import Adapted
from motet.envs.protocol import Action, Observation, Seat
from motet.envs.referee import Illegal
from motet.errors import BadInput, MissingExtra

LISTED = re.compile(r"'(\[[^\[\]']+\])'")
_GLOBAL = threading.Lock()


class Arena:
    """One episode of a TextArena game; its own rule on invalid moves holds."""

    def __init__(self, name: str, seed: int, players: int, options: Mapping[str, Any]) -> None:
        self._chance = Random(seed).getstate()
        self._over = False
        self._last: dict[int, str] = {}
        self._told: dict[int, str] = dict.fromkeys(range(players), "")
        self.seats = tuple(f"player_{i}" for i in range(players))
        with self._own_chance():  # importing it draws from the generator too
            textarena = _package()
            try:
                self._env = textarena.make(name, **options)
                self._env.reset(num_players=players, seed=seed)
            except (AssertionError, KeyError, ValueError, TypeError) as error:
                raise BadInput(
                    f"textarena cannot begin {name!r} for {players} with {dict(options)!r}: {error}; "
                    "say how many play by players=N"
                ) from error
            self._look()

    def brief(self, seat: Seat) -> str:
        return f"You are {seat}. Write your move in brackets where the game asks for it."

    def acting(self) -> tuple[Seat, ...]:
        return () if self._over else (self.seats[self._turn],)

    def observe(self, seat: Seat) -> Observation:
        return Observation(self._told[self.seats.index(seat)])

    def read(self, seat: Seat, text: str) -> Action | None:
        return text.strip() or None

    def allows(self, seat: Seat, action: Action) -> bool:
        return isinstance(action, str)

    def sample(self, seat: Seat, rng: Random) -> Action:
        """One of the moves that the last message lists as '[move]'; TextArena has no list of its own."""
        at = self.seats.index(seat)
        return rng.choice(LISTED.findall(self._last[at]) or LISTED.findall(self._told[at]) or ["[pass]"])

    def take(self, actions: Mapping[Seat, Action]) -> dict[Seat, float]:
        (action,) = actions.values()
        with self._own_chance():
            self._over, _ = self._env.step(action)
            if not self._over:
                self._look()
                return {}
            rewards, _ = self._env.close()
        return {self.seats[at]: float(reward) for at, reward in (rewards or {}).items()}

    def close(self) -> None:
        """TextArena holds nothing."""

    def _look(self) -> None:
        """Fetch what the player to move sees. A raw game tells news once, a wrapped one all so far."""
        self._turn, seen = self._env.get_observation()
        if isinstance(seen, str):
            self._told[self._turn] = self._last[self._turn] = seen
            return
        self._last[self._turn] = str(seen[-1][1]) if seen else ""
        self._told[self._turn] += "\n".join(["", *(str(message) for _, message, _ in seen)])

    @contextmanager
    def _own_chance(self) -> Iterator[None]:
        with _GLOBAL:
            others = random.getstate()
            random.setstate(self._chance)
            try:
                yield
            finally:
                self._chance = random.getstate()
                random.setstate(others)


def _package() -> Any:
    try:
        import textarena  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("textarena", "envs") from error
    return textarena


def make_env(
    name: str, seed: int, *, players: int = 2, illegal: Illegal = Illegal(), **options: Any
) -> Adapted:
    """An episode of `textarena.make(name, **options)`.

    Args:
        players: how many play.

    Raises:
        MissingExtra: the package is not there. BadInput: no such game, or not for so many.
    """
    key = repr((players, seed, options))
    return Adapted(f"textarena:{name}", key, lambda: Arena(name, seed, players, options), illegal)
