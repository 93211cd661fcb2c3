"""Gymnasium: one seat, words or arrays. `gymnasium:FrozenLake-v1`.

Where the environment can draw itself in text ("ansi"), the picture is what a language model sees. A mask
under `action_mask` in the info decides what is legal. The rules are told in the words of the package's
documentation, without the sections that are for programmers.
"""

import re
from collections.abc import Mapping
from inspect import cleandoc
from random import Random
from typing import Any

from motet.envs.adapters import spaces
from motet.envs.adapters.adapted import Adapted
from motet.envs.protocol import Action, Observation, Seat
from motet.envs.referee import Illegal
from motet.errors import BadInput, MissingExtra

SEAT = "player"
SECTION = re.compile(r"^(?=\s*## )", re.MULTILINE)
FOR_PROGRAMMERS = re.compile(
    r"\s*## (Information|Arguments|Vectorized environment|Version History|References)"
)


class Gym:
    """One episode of a Gymnasium environment."""

    seats = (SEAT,)

    def __init__(self, name: str, seed: int, options: Mapping[str, Any]) -> None:
        spaces.hush()
        try:
            import gymnasium
        except ImportError as error:
            raise MissingExtra("gymnasium", "envs") from error
        try:
            modes = _modes(gymnasium, name)
            drawn: dict[str, Any] = {"render_mode": "ansi"} if "ansi" in modes else {}
            self._env = gymnasium.make(name, **(drawn | dict(options)))
        except (gymnasium.error.Error, TypeError) as error:
            raise BadInput(f"gymnasium cannot make {name!r} with {dict(options)!r}: {error}") from error
        self._seen, self._info = self._env.reset(seed=seed)
        self._over = False

    def brief(self, seat: Seat) -> str:
        sections = SECTION.split(cleandoc(type(self._env.unwrapped).__doc__ or ""))
        about = "".join(part for part in sections if not FOR_PROGRAMMERS.match(part)).strip()
        return f'{about}\n\nActions: {self._env.action_space}. Answer with one, as in "Action: 0".'

    def acting(self) -> tuple[Seat, ...]:
        return () if self._over else self.seats

    def observe(self, seat: Seat) -> Observation:
        drawn = self._env.render() if self._env.render_mode == "ansi" else ""
        return spaces.observation(self._seen, self._legal(), drawn if isinstance(drawn, str) else "")

    def read(self, seat: Seat, text: str) -> Action | None:
        return spaces.read(self._env.action_space, self._legal(), text)

    def allows(self, seat: Seat, action: Action) -> bool:
        return spaces.allows(self._env.action_space, self._legal(), action)

    def sample(self, seat: Seat, rng: Random) -> Action:
        return spaces.sample(self._env.action_space, self._legal(), rng)

    def take(self, actions: Mapping[Seat, Action]) -> dict[Seat, float]:
        self._seen, reward, ended, cut, self._info = self._env.step(actions[SEAT])
        self._over = ended or cut
        return {SEAT: float(reward)}

    def close(self) -> None:
        self._env.close()

    def _legal(self) -> tuple[int, ...] | None:
        return spaces.legal_of(self._env.action_space, self._info.get("action_mask"))


def _modes(gymnasium: Any, name: str) -> list[str]:
    spec = gymnasium.spec(name)
    maker = gymnasium.envs.registration.load_env_creator(spec.entry_point)
    modes: list[str] = getattr(maker, "metadata", {}).get("render_modes", [])
    return modes


def make_env(name: str, seed: int, *, illegal: Illegal = Illegal(), **options: Any) -> Adapted:
    """An episode of `gymnasium.make(name, **options)`.

    Raises:
        MissingExtra: the package is not there. BadInput: it knows no such environment or option.
    """
    return Adapted(f"gymnasium:{name}", repr((seed, options)), lambda: Gym(name, seed, options), illegal)
