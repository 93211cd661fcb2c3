"""Players that are no language model: one at random, one that is perfect. They are models like others, so
their moves are calls on the tape like others'."""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from random import Random
from typing import NamedTuple

from motet.envs.protocol import Env, Seat, Solved
from motet.errors import BadInput
from motet.models.protocol import Model
from motet.tape import CALL
from motet.types import Message, Reply, Sampling


class Turn(NamedTuple):
    """Whose move it is, in which episode: what a player may look at beyond the words of the question."""

    env: Env
    seat: Seat
    number: int


TURN: ContextVar[Turn | None] = ContextVar("motet_turn", default=None)


class Player:
    """A model that asks the environment what to do.

    Args:
        name: shown on the tape.
        choose: gives the action, of any type that the environment takes (so a small network plays as
            `Player("net", lambda env, seat, rng: act(env.observe(seat).array))`); the generator is seeded
            by the run's seed, the seat and the turn.
    """

    def __init__(self, name: str, choose: Callable[[Env, Seat, Random], object]) -> None:
        self.name = self.identity = name
        self._choose = choose

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Move `n` times.

        Raises:
            BadInput: nobody plays, or the environment has no such player for this seat.
        """
        turn, call = TURN.get(), CALL.get()
        if turn is None:
            raise BadInput(f"{self.name} can only play; there is no environment here")
        first = call.index if call else 0
        moves = [self._move(turn, f"{call.seed if call else 0}/{first + i}") for i in range(n)]
        return [
            Reply(message=Message.say("assistant", str(move)), data=move, model=self.name, cost=0.0)
            for move in moves
        ]

    def _move(self, turn: Turn, seed: str) -> object:
        return self._choose(turn.env, turn.seat, Random(f"{seed}/{turn.seat}/{turn.number}"))


def _random(env: Env, seat: Seat, rng: Random) -> object:
    return env.sample(seat, rng)


def _perfect(env: Env, seat: Seat, rng: Random) -> object:
    action = env.perfect(seat, rng) if isinstance(env, Solved) else None
    if action is None:
        raise BadInput(f"{env.name} has no perfect player for {seat}; try random, person or a model's name")
    return action


PLAYERS: dict[str, Model] = {"random": Player("random", _random), "perfect": Player("perfect", _perfect)}
"""The players by name; `person` is a model name as any other."""
