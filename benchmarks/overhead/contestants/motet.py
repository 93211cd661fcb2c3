"""Motet: teams of plain async functions, recorded to its store."""

from collections.abc import Sequence
from pathlib import Path

import motet
from benchmarks.overhead.contestant import TASK, Speaker
from motet import Agent, Message, Reply, Sampling, Store, Task, Usage, Voices
from motet.combine import ask_all


class Model:
    """The speaker as a model of Motet's."""

    name = identity = "speaker"

    def __init__(self, speaker: Speaker) -> None:
        self.speaker = speaker

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        said = Message.say("assistant", await self.speaker.say())
        return [Reply(message=said, usage=Usage(8, 8, calls=1), model=self.name, cost=0.0)]


@motet.team
async def crowd(task: Task, voices: Voices) -> Reply:
    return (await ask_all(voices, task))[-1]


@motet.team
async def dialogue(task: Task, first: Agent, second: Agent, *, turns: int = 2) -> Reply:
    chats = first.chat(), second.chat()
    reply = await chats[0].ask(task)
    for turn in range(1, turns):
        reply = await chats[turn % 2].ask(reply)
    return reply


class Contestant:
    """Both teams, cast with the speaker."""

    def __init__(self, speaker: Speaker, folder: Path | None) -> None:
        self.model = Model(speaker)
        self.store = Store(folder / "tape.db") if folder else Store.memory()

    def agents(self, n: int) -> list[Agent]:
        return [Agent(self.model) for _ in range(n)]

    async def ask(self, agents: Sequence[Agent]) -> None:
        run = await crowd.cast(voices=list(agents)).arun(TASK, store=self.store)
        assert len(run.calls) == len(agents), run.error

    async def talk(self, turns: int) -> None:
        run = await dialogue(turns=turns).cast(Agent(self.model)).arun(TASK, store=self.store)
        assert len(run.calls) == turns, run.error
