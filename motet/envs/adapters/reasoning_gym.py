"""reasoning-gym: one question, one answer, one score. `reasoning_gym:chain_sum`."""

from collections.abc import Mapping
from random import Random
from typing import Any

from motet.envs.actions import free
from motet.envs.adapters.adapted import Adapted
from motet.envs.protocol import Action, Observation, Seat
from motet.envs.referee import Illegal
from motet.errors import BadInput, MissingExtra

SEAT = "player"


class Question:
    """One item of a family, marked by the family's own scorer."""

    seats = (SEAT,)

    def __init__(self, name: str, seed: int, options: Mapping[str, Any]) -> None:
        try:
            import reasoning_gym  # type: ignore[import-untyped]
        except ImportError as error:
            raise MissingExtra("reasoning-gym", "suites") from error
        try:
            self._family = reasoning_gym.create_dataset(name, size=1, seed=seed, **options)
            self._item = self._family[0]
        except (ValueError, TypeError, AssertionError) as error:
            raise BadInput(f"reasoning_gym cannot make {name!r} with {dict(options)!r}: {error}") from error
        self._over = False

    def brief(self, seat: Seat) -> str:
        return 'Answer the question. End with your answer, as in "Action: 42".'

    def acting(self) -> tuple[Seat, ...]:
        return () if self._over else self.seats

    def observe(self, seat: Seat) -> Observation:
        return Observation(self._item["question"])

    def read(self, seat: Seat, text: str) -> Action | None:
        return free(text)

    def allows(self, seat: Seat, action: Action) -> bool:
        return isinstance(action, str)

    def sample(self, seat: Seat, rng: Random) -> Action:
        return str(rng.randint(0, 9))

    def perfect(self, seat: Seat) -> Action | None:
        """The answer of the family's own generator; some families accept many and give none."""
        answer = self._item["answer"]
        return None if answer is None else str(answer)

    def take(self, actions: Mapping[Seat, Action]) -> dict[Seat, float]:
        self._over = True
        return {SEAT: float(self._family.score_answer(actions[SEAT], self._item))}

    def close(self) -> None:
        """Nothing is held."""


def make_env(name: str, seed: int, *, illegal: Illegal = Illegal(), **options: Any) -> Adapted:
    """One item of the family `name`.

    Raises:
        MissingExtra: the package is not there. BadInput: it has no such family or option.
    """
    return Adapted(
        f"reasoning_gym:{name}", repr((seed, options)), lambda: Question(name, seed, options), illegal
    )
