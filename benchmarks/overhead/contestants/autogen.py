"""AutoGen: AgentChat's assistants, in a round robin on the core runtime."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_core.models import CreateResult, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient

from benchmarks.overhead.contestant import TASK, Speaker


class Model(ReplayChatCompletionClient):
    """The speaker as AutoGen's replay client, without its count of the history's tokens."""

    def __init__(self, speaker: Speaker) -> None:
        super().__init__([""])
        self.speaker = speaker

    async def create(self, messages: Any, **_: Any) -> CreateResult:
        said = await self.speaker.say()
        return CreateResult(content=said, usage=RequestUsage(8, 8), finish_reason="stop", cached=False)


class Contestant:
    """An agent is an `AssistantAgent`; a conversation is a `RoundRobinGroupChat` of two."""

    def __init__(self, speaker: Speaker, folder: Path | None) -> None:
        self.model = Model(speaker)

    def agents(self, n: int) -> list[AssistantAgent]:
        return [AssistantAgent(f"agent_{i}", self.model) for i in range(n)]

    async def ask(self, agents: Sequence[AssistantAgent]) -> None:
        await asyncio.gather(*(agent.run(task=TASK) for agent in agents))

    async def talk(self, turns: int) -> None:
        result = await RoundRobinGroupChat(list(self.agents(2)), max_turns=turns).run(task=TASK)
        assert len(result.messages) == turns + 1
