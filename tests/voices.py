"""Small models and teams that several tests use."""

import asyncio
from collections.abc import Sequence

import motet
from motet.types import Message, Reply, Sampling, Usage


class Echo:
    """Says what it was asked, in brackets, after waiting."""

    def __init__(self, name: str = "echo", wait_s: float = 0.0) -> None:
        self.name = self.identity = name
        self.wait_s = wait_s
        self.asked: list[str] = []
        self.in_flight = 0

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        self.asked.append(messages[-1].text)
        self.in_flight += 1
        try:
            await asyncio.sleep(self.wait_s)
        finally:
            self.in_flight -= 1
        said = Message.say("assistant", f"[{messages[-1].text}]")
        return [Reply(message=said, usage=Usage(10, 5), model=self.name, cost=0.01) for _ in range(n)]


@motet.team
async def review(task, writer, critic, *, rounds: int = 2):
    draft = await writer.ask(task)
    for _ in range(rounds):
        notes = await critic.ask("Find what is wrong.", task, draft)
        draft = await writer.ask("Rewrite.", task, draft, notes)
    return draft
