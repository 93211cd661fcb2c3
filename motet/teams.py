"""A team is an async function of a task and its voices; `@team` makes it something to cast and to run."""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Generic, ParamSpec, get_type_hints, overload

from motet.agent import Agent, Voice
from motet.budget import Budget
from motet.errors import BadInput, UnknownName
from motet.knobs import complaint
from motet.models.names import as_model
from motet.run import Run
from motet.tape import Ended, Live, Store
from motet.types import Content, Linked, Reply, Task

P = ParamSpec("P")
Answer = Reply | Linked | str
Castable = "Agent | Model | Team[...] | str | Callable[[str], object]"


class Voices(Sequence[Voice]):
    """A parameter annotated with this takes several voices: `async def debate(task, debaters: Voices, …)`."""

    def __init__(self, name: str, members: Sequence[Voice]) -> None:
        self.name = name
        self._members = tuple(members)

    @overload
    def __getitem__(self, index: int) -> Voice: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Voice]: ...
    def __getitem__(self, index: int | slice) -> Voice | Sequence[Voice]:
        return self._members[index]

    def __len__(self) -> int:
        return len(self._members)

    def take(self, n: int) -> list[Voice]:
        """`n` voices named `NAME_1` to `NAME_n`; a cast of fewer goes round.

        Raises:
            BadInput: more are cast than there are seats.
        """
        cast = self._members
        if len(cast) > n:
            raise BadInput(f"{len(cast)} {self.name} are cast, but there are {n} seats: cast fewer or set n")
        return [_named(cast[i % len(cast)], f"{self.name}_{i + 1}") for i in range(n)]


@dataclass(frozen=True)
class Team(Generic[P]):
    """An async function with its cast and knobs. Immutable: `cast` and calling it with knobs return copies.

    Args:
        function: `async def(task, *voices, **knobs)`, the voices positional, the knobs keyword-only.
        parts: the members cast so far, by voice.
        knobs: the values of the keyword-only parameters.
    """

    function: Callable[..., Awaitable[Answer]]
    name: str
    parts: dict[str, tuple["Agent | Team[...]", ...]] = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.function.__doc__)

    @property
    def voices(self) -> dict[str, bool]:
        """The names of the voices; True for one that takes several members."""
        return _voices_of(self.function)

    @property
    def identity(self) -> str:
        """Hash of source, prompts, knobs and cast: what makes two teams the same."""
        from motet.identity import team_identity

        return team_identity(self)

    def cast(self, everyone: Any = None, /, **voices: Any) -> "Team[P]":
        """Say who sings which voice.

        Args:
            everyone: who sings every voice that is not named.
            voices: by name: a model's name, a model, an `Agent`, a function of the last message, another
                team, or (for a voice that takes several) a list of these.

        Raises:
            UnknownName: the team has no such voice. BadInput: a list for a single voice.
        """
        slots = self.voices
        for name in voices:
            if name not in slots:
                raise UnknownName(f"voice of {self.name}", name, slots)
        if everyone is not None:
            everyone = as_model(everyone) if isinstance(everyone, str) else everyone
            voices = dict.fromkeys((s for s in slots if s not in self.parts), everyone) | voices
        cast = {name: _members(self.name, name, given, slots[name]) for name, given in voices.items()}
        return Team(self.function, self.name, self.parts | cast, self.knobs)

    def configured(self, **knobs: Any) -> "Team[P]":
        """A copy with some knobs set. `team(rounds=3)` is short for it.

        Raises:
            UnknownName: the team has no such knob. BadInput: a value is not of the knob's type.
        """
        for name, value in knobs.items():
            if name not in self.knobs:
                raise UnknownName(f"knob of {self.name}", name, self.knobs)
            kind = _kinds_of(self.function).get(name, Any)
            if value is not self.knobs[name] and (wrong := complaint(name, value, kind)):
                raise BadInput(wrong)
        return Team(self.function, self.name, self.parts, self.knobs | knobs)

    @overload
    def __call__(self, **knobs: Any) -> "Team[P]": ...
    @overload
    def __call__(self, task: Task | Content, /, *voices: Any, **knobs: Any) -> Awaitable[Answer]: ...
    def __call__(self, *arguments: Any, **knobs: Any) -> "Team[P] | Awaitable[Answer]":
        """With a task and voices: the function itself, as a part of the run that goes on. With knobs
        alone: a copy of the team with these knobs."""
        if not arguments:
            return self.configured(**knobs)
        return self.function(*arguments, **(self.knobs | knobs))

    def run(self, task: Task | str, **options: Any) -> Run:
        """Run the team and wait for it; see `arun` for the options. Works in notebooks too."""
        from motet.performance import run_blocking

        return run_blocking(self.arun(task, **options))

    async def arun(
        self,
        task: Task | str,
        *,
        seed: int = 0,
        budget: Budget | None = None,
        store: Store | None = None,
        reuse: bool = False,
        on_event: Callable[[Live], None] | None = None,
    ) -> Run:
        """Run the team on one task and keep the tape.

        Args:
            task: what is asked.
            seed: goes into every call's key, and to the backends that can be seeded.
            budget: hard limits, checked before each call of every voice.
            store: where the tape is kept; the project's store when left out.
            reuse: take replies that the store already holds for the same calls instead of asking again:
                a killed run goes on where it stopped, and after a change only what the change reaches
                is asked anew.
            on_event: called with each event as it happens, and with text as it streams in.

        Returns:
            The run. A failure of a voice, or a budget that is spent, ends it with `error` set.

        Raises:
            StoreError: the tape cannot be kept. BadInput: a voice is not cast. Bugs in the team crash.
        """
        from motet.performance import Performance

        performance = Performance(self, seed=seed, budget=budget, store=store, reuse=reuse, listener=on_event)
        return await performance.run(task)

    async def stream(self, task: Task | str, **options: Any) -> AsyncIterator[Live]:
        """Run the team and yield what happens, `Delta`s of text included; the last event is `Ended`.

        Leaving the loop early cancels the run.
        """
        queue: asyncio.Queue[Live] = asyncio.Queue()
        running = asyncio.create_task(self.arun(task, on_event=queue.put_nowait, **options))
        running.add_done_callback(lambda _: queue.put_nowait(_LAST))
        try:
            while (event := await queue.get()) is not _LAST:
                yield event
            await running
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

    def __repr__(self) -> str:
        knobs = ", ".join(f"{k}={v!r}" for k, v in self.knobs.items())
        return f"<team {self.name}({knobs}) of {', '.join(self.voices) or 'nobody'}>"


_LAST: Live = Ended(at=0.0, wall_s=0.0)


def team(function: Callable[P, Awaitable[Answer]]) -> Team[P]:
    """Make a team of an async function: first parameter the task, then the voices, then the knobs
    (keyword-only, each with a default).

    >>> import motet
    >>> @motet.team
    ... async def echo(task, singer, *, times: int = 1):
    ...     return await singer.ask(task, f"Say it {times} times.")
    >>> echo.cast(singer=str.upper).run("La").answer
    'LA\\n\\nSAY IT 1 TIMES.'
    """
    if not inspect.iscoroutinefunction(function):
        name = getattr(function, "__name__", repr(function))
        raise TypeError(f"a team is an async function: write `async def {name}(task, …)`")
    parameters = inspect.signature(function).parameters.values()
    if not parameters or next(iter(parameters)).kind is inspect.Parameter.KEYWORD_ONLY:
        raise TypeError(
            f"{function.__name__} takes no task: its first parameter is the task, then the voices"
        )
    knobs = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    for name, default in knobs.items():
        if default is inspect.Parameter.empty:
            raise TypeError(f"the knob {name} of {function.__name__} needs a default")
    return Team(function, function.__name__, knobs=knobs)


@lru_cache(maxsize=1024)
def _voices_of(function: Callable[..., Awaitable[Answer]]) -> dict[str, bool]:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    return {p.name: _is_group(p) for p in parameters if p.kind is not p.KEYWORD_ONLY}


@lru_cache(maxsize=1024)
def _kinds_of(function: Callable[..., Awaitable[Answer]]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError, AttributeError):  # names that only a type checker sees
        return {}


def _is_group(parameter: inspect.Parameter) -> bool:
    annotation = parameter.annotation
    named = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return parameter.kind is parameter.VAR_POSITIONAL or named.rpartition(".")[2] == "Voices"


def _members(team_name: str, voice: str, given: Any, group: bool) -> tuple["Agent | Team[...]", ...]:
    if not isinstance(given, (list, tuple)):
        return (_member(given),)
    if not group:
        raise BadInput(f"{voice} of {team_name} is one voice, but was cast with {len(given)} members")
    if not given:
        raise BadInput(f"{voice} of {team_name} was cast with an empty list")
    return tuple(_member(g) for g in given)


def _member(given: Any) -> "Agent | Team[...]":
    return given if isinstance(given, (Agent, Team)) else Agent(given)


def _named(voice: Voice, name: str) -> Voice:
    return voice.named(name) if isinstance(voice, Agent) else replace(voice, name=name)  # type: ignore[type-var]
