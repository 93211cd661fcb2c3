"""Environments behind the server of OpenEnv's own package, on the loopback."""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from threading import Thread
from typing import Any

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app
from pydantic import Field

PLACES = 16


class Guess(Action):
    guess: int = Field(ge=0, le=9)


class Hint(Observation):
    hint: str


class Digit(Environment[Guess, Hint, State]):
    """Guess a digit; the hint at the start holds it."""

    SUPPORTS_CONCURRENT_SESSIONS = True
    open = 0

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        type(self).open += 1

    def close(self) -> None:
        type(self).open -= 1

    def reset(self, seed: int | None = None, episode_id: str | None = None, **options: Any) -> Hint:
        self.number = random.Random(seed).randrange(options.get("most", 10**6))
        return Hint(hint=f"clue {self.number}")

    def step(self, action: Guess, timeout_s: float | None = None, **options: Any) -> Hint:
        if self.number == 0:
            raise RuntimeError("nothing to guess")
        right = action.guess == self.number % 10
        return Hint(hint="right" if right else "no", reward=float(right), done=right)

    @property
    def state(self) -> State:
        return State(step_count=0)


class Forgetful(Digit):
    """Takes no seed, as the template of `openenv init` does; the server then drops it."""

    def reset(self) -> Hint:  # type: ignore[override]
        return super().reset()


class Tone(Enum):
    """Arrives in the schema as a reference to its definition."""

    LOUD = "loud"
    LOW = "low"


class Saying(Action):
    words: str
    tone: Tone = Tone.LOW
    again: int | None = None


class Echo(Digit):
    """Says what was said, in its tone; an empty saying ends it."""

    def step(self, action: Saying, timeout_s: float | None = None, **options: Any) -> Hint:  # type: ignore[override]
        said = action.words.upper() if action.tone is Tone.LOUD else action.words
        return Hint(hint=said * (action.again or 1), reward=1, done=action.words != "more")


@contextmanager
def openenv_server(env: type[Digit] = Digit, action: type[Action] = Guess) -> Iterator[str]:
    """Serve on a free port; the address."""
    app = create_app(env, action, Hint, max_concurrent_envs=PLACES)
    server = uvicorn.Server(
        uvicorn.Config(app, port=0, log_config=None, ws="websockets-sansio", lifespan="off")
    )
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the OpenEnv server did not start"
        time.sleep(0.001)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
