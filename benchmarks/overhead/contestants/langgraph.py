"""LangGraph: a graph of one node an agent, with an in-memory checkpointer."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from benchmarks.overhead.contestant import TASK, Speaker


class Model(BaseChatModel):
    """The speaker as a chat model; LangChain's own fake answers in a thread, which costs more."""

    speaker: Any

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        raise TypeError("the speaker is asked asynchronously")

    async def _agenerate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(await self.speaker.say()))])


class Contestant:
    """An agent is a compiled graph; a conversation is a graph of two nodes that take turns."""

    def __init__(self, speaker: Speaker, folder: Path | None) -> None:
        self.model = Model(speaker=speaker)
        self.threads = itertools.count()

    async def answer(self, state: MessagesState) -> dict[str, Any]:
        return {"messages": [await self.model.ainvoke(state["messages"])]}

    def agents(self, n: int) -> list[Any]:
        saver = InMemorySaver()
        return [self._agent(saver) for _ in range(n)]

    def _agent(self, saver: InMemorySaver) -> Any:
        graph = StateGraph(MessagesState).add_node("agent", self.answer)
        return graph.add_edge(START, "agent").add_edge("agent", END).compile(checkpointer=saver)

    async def ask(self, agents: Sequence[Any]) -> None:
        await asyncio.gather(*(a.ainvoke({"messages": [("user", TASK)]}, self._thread()) for a in agents))

    async def talk(self, turns: int) -> None:
        def other(mine: str) -> Any:
            return lambda state: END if len(state["messages"]) > turns else mine

        graph = StateGraph(MessagesState).add_node("first", self.answer).add_node("second", self.answer)
        graph.add_edge(START, "first")
        graph.add_conditional_edges("first", other("second"), ["second", END])
        graph.add_conditional_edges("second", other("first"), ["first", END])
        team = graph.compile(checkpointer=InMemorySaver())
        state = await team.ainvoke({"messages": [("user", TASK)]}, self._thread(recursion_limit=turns + 9))
        assert len(state["messages"]) == turns + 1

    def _thread(self, **config: Any) -> Any:
        return {"configurable": {"thread_id": str(next(self.threads))}, **config}
