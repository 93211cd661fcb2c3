"""Microsoft Agent Framework: agents with sessions."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent_framework import Agent, BaseChatClient, ChatResponse, Message

from benchmarks.overhead.contestant import TASK, Speaker


class Model(BaseChatClient[Any]):
    """The speaker as a chat client."""

    def __init__(self, speaker: Speaker) -> None:
        super().__init__()
        self.speaker = speaker

    async def _inner_get_response(self, **_: Any) -> ChatResponse:
        return ChatResponse(messages=[Message(role="assistant", contents=[await self.speaker.say()])])


class Contestant:
    """An agent is an `Agent`; in a conversation each answers the other's words within its own session."""

    def __init__(self, speaker: Speaker, folder: Path | None) -> None:
        self.model = Model(speaker)

    def agents(self, n: int) -> list[Agent]:
        return [Agent(self.model) for _ in range(n)]

    async def ask(self, agents: Sequence[Agent]) -> None:
        await asyncio.gather(*(agent.run(TASK, session=agent.create_session()) for agent in agents))

    async def talk(self, turns: int) -> None:
        pair = [(agent, agent.create_session()) for agent in self.agents(2)]
        said = TASK
        for turn in range(turns):
            agent, session = pair[turn % 2]
            said = (await agent.run(said, session=session)).text
