"""Pydantic AI: agents, with the message history handed on by the caller."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.usage import RequestUsage

from benchmarks.overhead.contestant import TASK, Speaker


class Contestant:
    """An agent is an `Agent` over a `FunctionModel`; in a conversation each keeps a history of its own."""

    def __init__(self, speaker: Speaker, folder: Path | None) -> None:
        async def say(messages: list[ModelMessage], info: Any) -> ModelResponse:
            return ModelResponse(
                [TextPart(await speaker.say())], usage=RequestUsage(input_tokens=8, output_tokens=8)
            )

        self.model = FunctionModel(say)

    def agents(self, n: int) -> list[Agent]:
        return [Agent(self.model) for _ in range(n)]

    async def ask(self, agents: Sequence[Agent]) -> None:
        await asyncio.gather(*(agent.run(TASK) for agent in agents))

    async def talk(self, turns: int) -> None:
        pair, histories = self.agents(2), [list[ModelMessage](), list[ModelMessage]()]
        said = TASK
        for turn in range(turns):
            result = await pair[turn % 2].run(said, message_history=histories[turn % 2])
            histories[turn % 2], said = result.all_messages(), result.output
