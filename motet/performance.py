"""A performance: binds a team's cast to one run, calls its function, and closes the tape whatever happens."""

import asyncio
import secrets
import threading
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar, Unpack

import msgspec
from msgspec import Struct

from motet import __version__
from motet.agent import Agent, Knobs, Voice, compose, those_answered
from motet.budget import Budget, BudgetMeter
from motet.call import parents_of
from motet.errors import BadInput, BudgetExceeded, MotetError, NoAnswer, StoreError
from motet.identity import prompts_of, team_identity
from motet.knobs import in_words
from motet.run import Run
from motet.structured import Shape, parse
from motet.tape import RECORDER, Ended, Listener, Recorder, Started, Store, Tape, project_store
from motet.teams import Team, Voices
from motet.types import Content, Failure, FailureKind, Linked, Message, Reply, Task

T = TypeVar("T")


class Performance(Struct, frozen=True):
    """One team about to work on tasks, with everything that `Team.arun` was told.

    Args:
        item: names a piece of work, so that a comparison finds a finished run again.
        run_id: the run's name; made from the time when left out.
        clock: seconds since the epoch. timer: monotonic seconds.
    """

    team: Team[...]
    seed: int = 0
    budget: Budget | None = None
    store: Store | None = None
    reuse: bool = False
    listener: Listener | None = None
    item: str = ""
    run_id: str = ""
    clock: Callable[[], float] = time.time
    timer: Callable[[], float] = time.perf_counter

    async def run(self, task: Task | str) -> Run:
        """Play the task to its end: an answer, a failure, or a cancellation, each on the tape."""
        task = task if isinstance(task, Task) else Task(task)
        voices = bind(self.team)
        store = project_store() if self.store is None else self.store
        tape = Tape(self.run_id or new_run_id(self.clock()))
        meter = BudgetMeter(self.budget, self.timer) if self.budget else None
        recorder = Recorder(
            tape, task, self.seed, store, meter, self.reuse, self.listener, self.clock, self.timer
        )
        recorder.record(self._started(recorder))
        begun = self.timer()
        token = RECORDER.set(recorder)
        try:
            answer, parents, failure = await self._play(task, voices, recorder)
        except BaseException as error:
            if not isinstance(error, StoreError):
                recorder.record(Ended(self.clock(), self.timer() - begun, failure=_cut_short(error)))
                store.flush()
            raise
        finally:
            RECORDER.reset(token)
        recorder.record(Ended(self.clock(), self.timer() - begun, answer, parents, failure))
        # Lets the store write what this tick brought, in one transaction for all runs that end now.
        await asyncio.sleep(0)
        store.flush()
        return Run(recorder.tape)

    async def _play(
        self, task: Task, voices: list[Any], recorder: Recorder
    ) -> tuple[str | None, tuple[str, ...], Failure | None]:
        """Call the function; the failure of a voice, or a spent budget, comes back as data."""
        seconds = self.budget.seconds if self.budget else None
        try:
            async with asyncio.timeout(seconds) as limit:
                answer = await self.team.function(task, *voices, **self.team.knobs)
            text, links = read_answer(self.team.name, answer)
        except (
            StoreError,
            BadInput,
        ):  # the tape cannot be kept, or the words were wrong: not a voice's doing
            raise
        except TimeoutError:
            if not limit.expired():
                raise
            return None, (), BudgetExceeded(f"the budget of {seconds:g} seconds is spent").failure
        except MotetError as error:
            return None, (), error.failure
        return text, parents_of(links, recorder), None

    def _started(self, recorder: Recorder) -> Started:
        team = self.team
        return Started(
            run=recorder.tape.run,
            team=team.name,
            team_id=team_identity(team),
            task=recorder.task,
            voices=cast_names(team),
            knobs=recorder.shortened(msgspec.to_builtins(team.knobs, enc_hook=in_words)),
            prompts=prompts_of(team.function),
            seed=self.seed,
            at=self.clock(),
            budget=self.budget.limits() if self.budget else {},
            item=self.item,
            motet=__version__,
        )


def _cut_short(error: BaseException) -> Failure:
    """What the tape says of a run that did not come to an end of its own."""
    match error:
        case asyncio.CancelledError():
            return Failure(FailureKind.CANCELLED, "stopped before it ended")
        case MotetError():
            return error.failure
    return Failure(FailureKind.BUG, f"{type(error).__name__}: {error}")


@dataclass(frozen=True, slots=True)
class TeamVoice:
    """A team that sings a voice of another team: each `ask` plays its function within the same run."""

    team: Team[...]
    name: str

    async def ask(self, *parts: Content, schema: Shape | None = None, **knobs: Unpack[Knobs]) -> Reply:
        """Give the parts to the team as its task. Its voices are named `NAME/VOICE` on the tape."""
        message, sources = compose(parts)
        recorder = RECORDER.get()
        task = _passage(message.text, sources, recorder, whole=schema is not None)
        answer = await self.team.function(task, *bind(self.team, f"{self.name}/"), **self.team.knobs)
        text, links = read_answer(self.team.name, answer)
        calls = parents_of(links, recorder) if recorder else ()
        return Reply(
            message=Message.say("assistant", text),
            data=None if schema is None else parse(text, schema),
            model=f"team:{self.team.name}",
            sources=calls,
            run=recorder.tape.run if recorder else "",
            voice=self.name,
        )

    async def ask_many(
        self, *parts: Content, n: int, schema: Shape | None = None, **knobs: Unpack[Knobs]
    ) -> list[Reply]:
        """Play the team `n` times at once; performances that fail are missing.

        Raises:
            ModelError: all failed; it is the failure of the first. BudgetExceeded: the run may spend no more.
        """
        return await those_answered([self.ask(*parts, schema=schema, **knobs) for _ in range(n)])

    def chat(self) -> "TeamChat":
        """Begin a conversation that keeps its history."""
        return TeamChat(self)


class TeamChat:
    """A conversation with a team: the task of each turn holds the turns before it."""

    def __init__(self, voice: TeamVoice) -> None:
        self._voice = voice
        self._said: tuple[Content, ...] = ()

    async def ask(self, *parts: Content, schema: Shape | None = None, **knobs: Unpack[Knobs]) -> Reply:
        """Say something to the team and hear its answer."""
        reply = await self._voice.ask(*self._said, *parts, schema=schema, **knobs)
        self._said = (*self._said, *parts, reply)
        return reply


class _Passage(Task, frozen=True):
    """The task of a nested team: it remembers the replies it was put together from."""

    origin: tuple[Reply, ...] = ()

    @property
    def links(self) -> tuple[Reply, ...]:
        return self.origin


def _passage(words: str, sources: tuple[Reply, ...], recorder: Recorder | None, whole: bool) -> _Passage:
    """The task of a nested team: the run's, under other words, without what marks its answer.

    Args:
        whole: the reply is wanted as it is, not the answer in it.
    """
    if recorder is None:
        return _Passage(words, origin=sources)
    task = recorder.task
    if whole:
        return _Passage(words, meta=task.meta, origin=sources)
    return _Passage(words, kind=task.kind, choices=task.choices, meta=task.meta, origin=sources)


def bind(team: Team[...], prefix: str = "") -> list[Any]:
    """The voices of a team, in the order of its parameters, each named after its own."""
    bound: list[Any] = []
    for name, group in team.voices.items():
        if name not in team.parts:
            missing = [v for v in team.voices if v not in team.parts]
            example = ", ".join(f'{v}="local"' for v in missing)
            raise BadInput(
                f"nobody sings {' and '.join(missing)} of {team.name}: write {team.name}.cast({example})"
            )
        members = team.parts[name]
        if not group:
            bound.append(_voice(members[0], prefix + name))
            continue
        names = [f"{prefix}{name}_{i}" for i in range(1, len(members) + 1)]
        bound.append(Voices(prefix + name, [_voice(m, n) for m, n in zip(members, names, strict=True)]))
    return bound


def _voice(member: "Agent | Team[...]", name: str) -> Voice:
    return member.bound(name) if isinstance(member, Agent) else TeamVoice(member, name)


def cast_names(team: Team[...]) -> dict[str, str]:
    """Each voice with the names of those who sing it."""
    return {
        name: ", ".join(m.name if isinstance(m, Team) else m.model.name for m in members)  # type: ignore[union-attr]
        for name, members in team.parts.items()
    }


def read_answer(team: str, answer: Any) -> tuple[str, tuple[Reply, ...]]:
    """The text of what a team's function returned, and the replies it came from.

    Raises:
        NoAnswer: it is None or empty. TypeError: it is neither a reply nor text.
    """
    if isinstance(answer, (Reply, Linked)):
        text, links = answer.text, answer.links
    elif isinstance(answer, str | int | float):
        text, links = str(answer), ()
    elif answer is None:
        text, links = "", ()
    else:
        raise TypeError(
            f"{team} returned {answer!r}; a team returns a reply, fill(…), majority(…) or a string"
        )
    if not text.strip():
        raise NoAnswer(f"{team} ended without an answer")
    return text, links


def new_run_id(now: float) -> str:
    """A name that sorts by time and does not repeat: `20260102-030405-1a2b3c4d5e`."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(5)}"


def run_blocking(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end from synchronous code, also where a loop already runs (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    result: list[T] = []
    problem: list[BaseException] = []

    def work() -> None:
        try:
            result.append(asyncio.run(coroutine))
        except BaseException as error:  # carried over to the waiting thread
            problem.append(error)

    thread = threading.Thread(target=work, name="motet-run")
    thread.start()
    thread.join()
    if problem:
        raise problem[0]
    return result[0]
