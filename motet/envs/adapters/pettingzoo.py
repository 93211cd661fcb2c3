"""PettingZoo: many seats, in turn (AEC) or at once (parallel). `pettingzoo:classic/rps-v2`.

The name is one of PettingZoo's registry, or a module that has `env` or `parallel_env`
(`pettingzoo:mpe2.simple_spread_v3`). What can be had in parallel is, unless `turns="aec"`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from random import Random
from typing import Any

from motet.envs.adapters import spaces
from motet.envs.adapters.adapted import Adapted
from motet.envs.protocol import Action, Observation, Seat
from motet.envs.referee import Illegal
from motet.errors import BadInput, MissingExtra

TURNS = ("parallel", "aec")


class _Zoo:
    """What AEC and parallel episodes share: spaces, masks and words."""

    def __init__(self, env: Any, words: bool = True) -> None:
        self._env, self._words = env, words
        self.seats = tuple(env.possible_agents)

    def brief(self, seat: Seat) -> str:
        name = self._env.metadata.get("name", "a game")
        actions = self._env.action_space(seat)
        others = ", ".join(other for other in self.seats if other != seat)
        return f'{name}. You are {seat}; the others: {others}. Actions: {actions}. Answer as in "Action: 0".'

    def observe(self, seat: Seat) -> Observation:
        seen, _ = self._sight(seat)
        if isinstance(seen, Mapping) and set(seen) == {"observation", "action_mask"}:
            seen = seen["observation"]
        return spaces.observation(seen, self._legal(seat), words=self._words)

    def read(self, seat: Seat, text: str) -> Action | None:
        return spaces.read(self._env.action_space(seat), self._legal(seat), text)

    def allows(self, seat: Seat, action: Action) -> bool:
        return spaces.allows(self._env.action_space(seat), self._legal(seat), action)

    def sample(self, seat: Seat, rng: Random) -> Action:
        return spaces.sample(self._env.action_space(seat), self._legal(seat), rng)

    def close(self) -> None:
        self._env.close()

    def _legal(self, seat: Seat) -> tuple[int, ...] | None:
        seen, info = self._sight(seat)
        mask = seen.get("action_mask") if isinstance(seen, Mapping) else None
        return spaces.legal_of(
            self._env.action_space(seat), info.get("action_mask") if mask is None else mask
        )

    def _sight(self, seat: Seat) -> tuple[Any, Mapping[str, Any]]:
        raise AssertionError(f"{type(self).__name__} says what {seat} sees")


class Aec(_Zoo):
    """An episode in which the agents act in turn."""

    def __init__(self, env: Any, seed: int, words: bool = True) -> None:
        super().__init__(env, words)
        env.reset(seed=seed)

    def acting(self) -> tuple[Seat, ...]:
        return (self._env.agent_selection,) if self._env.agents else ()

    def take(self, actions: Mapping[Seat, Action]) -> dict[Seat, float]:
        env = self._env
        env.step(actions[env.agent_selection])
        rewards = {seat: float(reward) for seat, reward in env.rewards.items() if reward}
        while env.agents and (env.terminations[env.agent_selection] or env.truncations[env.agent_selection]):
            env.step(None)
        return rewards

    def _sight(self, seat: Seat) -> tuple[Any, Mapping[str, Any]]:
        return self._env.observe(seat), self._env.infos.get(seat, {})


class Parallel(_Zoo):
    """An episode in which all living agents act at once."""

    def __init__(self, env: Any, seed: int, words: bool = True) -> None:
        super().__init__(env, words)
        self._seen, self._infos = env.reset(seed=seed)

    def acting(self) -> tuple[Seat, ...]:
        return tuple(self._env.agents)

    def take(self, actions: Mapping[Seat, Action]) -> dict[Seat, float]:
        self._seen, rewards, _, _, self._infos = self._env.step(dict(actions))
        return {seat: float(reward) for seat, reward in rewards.items()}

    def _sight(self, seat: Seat) -> tuple[Any, Mapping[str, Any]]:
        return self._seen[seat], self._infos.get(seat, {})


def make_env(
    name: str, seed: int, *, turns: str = "", words: bool = True, illegal: Illegal = Illegal(), **options: Any
) -> Adapted:
    """An episode of a PettingZoo environment.

    Args:
        turns: `parallel` or `aec`; when left out, parallel where the module has it.
        words: whether observations are told in words too; without them an array is a part of the question,
            which small networks read (`motet.models.arrays`).

    Raises:
        MissingExtra: the package is not there. BadInput: no such module or option.
    """
    makers = _makers(name)
    if (turns or next(iter(makers), "")) not in makers:
        raise BadInput(
            f"{name!r} with turns={turns!r}: PettingZoo has it as {' or '.join(makers) or 'nothing'}"
        )
    turns = turns or next(iter(makers))

    def begin() -> Aec | Parallel:
        try:
            env = makers[turns](**options)
        except TypeError as error:
            raise BadInput(f"pettingzoo cannot make {name!r} with {options!r}: {error}") from error
        return Parallel(env, seed, words) if turns == "parallel" else Aec(env, seed, words)

    return Adapted(f"pettingzoo:{name}", repr((turns, seed, options)), begin, illegal)


def _makers(name: str) -> dict[str, Callable[..., Any]]:
    """The ways in which this environment can be had, parallel first."""
    spaces.hush()
    try:
        import pettingzoo  # type: ignore[import-untyped]
    except ImportError as error:
        raise MissingExtra("pettingzoo", "envs") from error
    known = {"parallel": pettingzoo.parallel_registry, "aec": pettingzoo.aec_registry}
    if any(name in names for names in known.values()):
        return {turns: partial(pettingzoo.make, turns, name) for turns in TURNS if name in known[turns]}
    try:
        module = import_module(name)
    except (ImportError, ValueError) as error:
        raise BadInput(
            f"PettingZoo knows no {name!r}; expected a name such as classic/rps-v2, or a module with env()"
        ) from error
    makers = {"parallel": getattr(module, "parallel_env", None), "aec": getattr(module, "env", None)}
    return {turns: make for turns, make in makers.items() if make}
