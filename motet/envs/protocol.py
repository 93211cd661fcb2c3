"""What an environment is: seats that see, act and are rewarded, in turn or at once.

An instance is one episode: it starts when it is made, from a seed, and is thrown away when it is over (there
is no `reset` that could drop a seed). Whoever must act now is in `acting()`; several seats there act at
once. An observation is words, an array, or both, so that language models and small networks play alike.
"""

from collections.abc import Callable, Mapping
from hashlib import blake2b
from random import Random
from typing import Any, Protocol, Self, runtime_checkable

from msgspec import Struct

from motet.types import Media

Seat = str
Action = Any
"""A string in a world of words, and whatever the world's `legal` lists or its space takes in others."""


class Observation(Struct, frozen=True, omit_defaults=True):
    """What a seat sees now. It needs no memory: what the seat may know of the past is in it.

    Args:
        text: in words.
        legal: the actions that can be taken; None when they cannot be listed.
        array: the same for a network (a numpy array, or a tree of them), where the world has one.
        media: pictures and the like.
    """

    text: str = ""
    legal: tuple[Action, ...] | None = None
    array: Any = None
    media: tuple[Media, ...] = ()

    @property
    def digest(self) -> str:
        """Hash of what is seen: equal observations of different episodes are one anchor state (GiGPO)."""
        seen = blake2b(self.text.encode(), digest_size=16)
        for picture in self.media:
            seen.update(picture.digest.encode())
        if self.array is not None:
            seen.update(_bytes(self.array))
        return seen.hexdigest()


class Step(Struct, frozen=True, omit_defaults=True):
    """What came of the actions. To be read, not changed: equal steps of two episodes may be one object.

    Args:
        rewards: by seat, for this step alone; a seat that is left out got 0.
        done: whether the episode is over.
        invalid: the seats whose action could not be taken, each with the reason.
        info: anything else.
    """

    rewards: dict[Seat, float]
    done: bool = False
    invalid: dict[Seat, str] = {}
    info: dict[str, Any] = {}


@runtime_checkable
class Env(Protocol):
    """One episode. All chance comes from the seed it was made with, never from a global generator."""

    @property
    def name(self) -> str: ...

    @property
    def seats(self) -> tuple[Seat, ...]: ...

    def brief(self, seat: Seat) -> str:
        """The rules, as told to this seat. They stay the same for the whole episode."""
        ...

    def acting(self) -> tuple[Seat, ...]:
        """The seats that must act now: several where they act at once, none at the end."""
        ...

    def observe(self, seat: Seat) -> Observation:
        """What this seat sees now."""
        ...

    def read_action(self, seat: Seat, text: str) -> Action | None:
        """The action that a model's text names; None when it names none, or none that is clear."""
        ...

    def step(self, actions: Mapping[Seat, Action | None]) -> Step:
        """Take the actions of exactly the seats that are acting. None stands for "no action to be read".

        An action that is not legal is data: it is named in `Step.invalid` and costs what the world says.

        Raises:
            BadInput: the seats are not those that act.
        """
        ...

    def sample(self, seat: Seat, rng: Random) -> Action:
        """A random legal action."""
        ...

    def returns(self) -> dict[Seat, float]:
        """Sum of the rewards so far, for every seat."""
        ...

    def state_hash(self) -> str:
        """Hash of the whole state. Right after making: of the start, which a group of rollouts must share."""
        ...

    def clone(self) -> Self:
        """An independent copy of the episode as it stands, generator included."""
        ...

    def close(self) -> None:
        """Give back what the episode holds (sessions, processes). Closing twice is fine."""
        ...


@runtime_checkable
class Solved(Protocol):
    """An environment that knows a perfect player, or an oracle that shows the task can be done."""

    def perfect(self, seat: Seat, rng: Random) -> Action | None:
        """What it would do now; None where this seat has no such player."""
        ...


Maker = Callable[[int], Env]
"""Makes an episode from a seed. Workers are sent makers, so a maker must pickle."""


def _bytes(array: Any) -> bytes:
    import numpy

    if isinstance(array, Mapping):
        return b"".join(str(key).encode() + _bytes(array[key]) for key in sorted(array))
    made = numpy.ascontiguousarray(array)
    return str((made.dtype.str, made.shape)).encode() + made.tobytes()
