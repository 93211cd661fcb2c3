"""An agent: a model with instructions, tools and a memory, and the one loop that uses them."""

from collections.abc import Coroutine, Sequence
from copy import copy
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol, TypedDict, Unpack, cast, runtime_checkable

import msgspec

from motet.call import Thread, call
from motet.concurrency import all_of
from motet.errors import BadInput, ModelError, SchemaMismatch, ToolLoop
from motet.memory import Memory
from motet.models.names import as_model
from motet.models.protocol import Model
from motet.structured import Shape, json_schema, parse
from motet.tape import RECORDER, Recorder, Tape, ToolUsed
from motet.tools.tool import Tool
from motet.tools.use import Approve, use_tool
from motet.types import (
    Content,
    Linked,
    Media,
    Message,
    Part,
    Reply,
    Sampling,
    Task,
    Text,
    ToolCall,
    ToolResult,
)

REPAIR = "That did not fit the wanted format: {error}\nAnswer again with the corrected JSON alone."
RECALLED = "From your memory:\n\n{memories}"


class Knobs(TypedDict, total=False):
    """Sampling knobs that `ask` takes by name; see `Sampling`."""

    temperature: float | None
    top_p: float | None
    top_k: int | None
    min_p: float | None
    max_tokens: int | None
    seed: int | None
    stop: tuple[str, ...]
    logprobs: bool


class Conversation(Protocol):
    """What `chat()` begins: each turn knows those before it."""

    async def ask(self, *parts: Content, schema: Shape | None = None, **knobs: Unpack[Knobs]) -> Reply: ...


@runtime_checkable
class Voice(Protocol):
    """What a team's function is given: something that can be asked. An `Agent`, or a whole team."""

    @property
    def name(self) -> str: ...

    async def ask(self, *parts: Content, schema: Shape | None = None, **knobs: Unpack[Knobs]) -> Reply: ...

    async def ask_many(
        self, *parts: Content, n: int, schema: Shape | None = None, **knobs: Unpack[Knobs]
    ) -> list[Reply]:
        """Ask one question `n` times over.

        Returns:
            The replies, in order: at most `n`, at least one. Samples that are asked for one by one (of a
            team, or an agent with tools or a schema) may fail one by one, and those that fail are missing.

        Raises:
            ModelError: no sample was answered; it is the failure of the first. BudgetExceeded: the run may
                spend no more.
        """

    def chat(self) -> Conversation: ...


@dataclass(frozen=True)
class Agent:
    """A voice made of a model.

    Args:
        model: a model, or its name (`local`, `openai:gpt-5-mini`, `http://HOST:PORT/v1#NAME`, …).
        instructions: the system message.
        tools: what the model may call; see `motet.tools`.
        memory: what it recalls from one `ask` to the next; each run begins with `memory.fresh()`.
        sampling: knobs for every call; `ask(…, temperature=0)` changes one for one call.
        name: who this is on the tape; a team gives its voices the names of its parameters.
        approve: asked before each use of a tool; on False the model is told that it was refused.
        rounds: how many times in a row the model may call tools before `ToolLoop` is raised.
        repairs: how many times a reply that misses its schema is sent back with the error.

    >>> from motet.models.scripted import Scripted
    >>> import asyncio
    >>> asyncio.run(Agent(Scripted(["Hello."])).ask("Greet me.")).text
    'Hello.'
    """

    model: Model | str
    instructions: str = ""
    tools: Sequence[Tool] = ()
    memory: Memory | None = None
    sampling: Sampling = Sampling()
    name: str = "agent"
    approve: Approve | None = None
    rounds: int = 8
    repairs: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", as_model(self.model))
        if self.tools:
            specs = tuple(tool.spec for tool in self.tools)
            object.__setattr__(self, "sampling", self.sampling.but(tools=specs))

    async def ask(self, *parts: Content, schema: Shape | None = None, **knobs: Unpack[Knobs]) -> Reply:
        """Ask once, without a history.

        Args:
            parts: strings, the task, media, and earlier replies as objects: each reply that is passed
                becomes a link on the tape. Texts are joined by blank lines into one message.
            schema: a type or JSON schema; the parsed value is the reply's `data`.

        Raises:
            ModelError: the voice failed; the kind says how. BudgetExceeded: the run may spend no more.
        """
        return await Chat(self).ask(*parts, schema=schema, **knobs)

    async def ask_many(
        self, *parts: Content, n: int, schema: Shape | None = None, **knobs: Unpack[Knobs]
    ) -> list[Reply]:
        """Ask one question `n` times over: one request where the backend can draw several samples.

        With tools or a schema each sample is a loop of its own: those that fail are missing.

        Raises:
            ModelError: no sample was answered; it is the failure of the first. BudgetExceeded: the run may
                spend no more.
        """
        if self.tools or schema is not None:
            return await those_answered([self.ask(*parts, schema=schema, **knobs) for _ in range(n)])
        return await Chat(self).branches(n, *parts, **knobs)

    def chat(self) -> "Chat":
        """Begin a conversation that keeps its history."""
        return Chat(self)

    def bound(self, name: str) -> "Agent":
        """This agent as one voice of one run: named, with a memory of its own."""
        return self._but(name=name, memory=self.memory.fresh() if self.memory else None)

    def named(self, name: str) -> "Agent":
        """This agent, memory included, under another name."""
        return self._but(name=name)

    def _but(self, **changes: Any) -> "Agent":
        # replace() would check the model again, for every voice of every run.
        changed = object.__new__(Agent)
        changed.__dict__.update(self.__dict__, **changes)
        return changed


class Chat:
    """A conversation with one agent. A turn that fails leaves the conversation as it was."""

    __slots__ = ("_last", "agent", "model", "recorder", "thread")

    def __init__(self, agent: Agent) -> None:
        self.agent = agent
        self.model = cast("Model", agent.model)
        self.recorder = RECORDER.get() or Recorder(Tape(""), Task(""))
        self.thread = Thread()
        self._last: tuple[Reply, ...] = ()
        if agent.instructions:
            self.thread = self.thread.then(Message.say("system", agent.instructions), self.recorder)

    async def ask(self, *parts: Content, schema: Shape | None = None, **knobs: Unpack[Knobs]) -> Reply:
        """Say something and hear the reply, using tools and mending the format on the way."""
        agent = self.agent
        message, sources = self.compose(parts)
        sampling = _sampling(agent, knobs)
        if schema is not None:
            sampling = sampling.but(schema=json_schema(schema))
        thread = self.thread.then(message, self.recorder)
        thread, reply = await self._answer(thread, sampling, (*self._last, *sources))
        if schema is not None:
            thread, reply = await self._fit(thread, reply, sampling, schema)
        self.thread, self._last = thread, (reply,)
        if agent.memory:
            agent.memory.note(_words_of(parts), reply)
        return reply

    async def branches(
        self, n: int, *parts: Content, by: "Agent | None" = None, **knobs: Unpack[Knobs]
    ) -> list[Reply]:
        """`n` replies side by side to one thing said; the conversation itself stays where it is.

        Tools that a reply asks for are not used.

        Args:
            by: who replies instead of this conversation's own agent.
        """
        agent = by or self.agent
        message, sources = self.compose(parts)
        thread, model = self.thread.then(message, self.recorder), cast("Model", agent.model)
        said = (*self._last, *sources)
        return await call(model, thread, _sampling(agent, knobs), n, agent.name, self.recorder, said)

    def after(self, reply: Reply, *parts: Content) -> "Chat":
        """The conversation in which these parts had this reply; this one stays where it is."""
        chat = copy(self)
        asked = self.thread.then(self.compose(parts)[0], self.recorder)
        chat.thread, chat._last = asked.then(reply.message, self.recorder, reply.node), (reply,)
        return chat

    async def _answer(
        self, thread: Thread, sampling: Sampling, sources: Sequence[Reply]
    ) -> tuple[Thread, Reply]:
        """The tool loop: sample, run what the reply asks for, and again until it asks for nothing."""
        for _ in range(self.agent.rounds + 1):
            (reply,) = await call(self.model, thread, sampling, 1, self.agent.name, self.recorder, sources)
            thread = thread.then(reply.message, self.recorder, reply.node)
            if not (wanted := reply.message.tool_calls):
                return thread, reply
            sources = (reply,)
            for result in await all_of([self._use(reply, tool_call) for tool_call in wanted]):
                thread = thread.then(Message("tool", (result,)), self.recorder)
        raise ToolLoop(
            f"{self.agent.name} called tools {self.agent.rounds} times in a row without answering; "
            "raise Agent(rounds=…) if it needs more"
        )

    async def _use(self, reply: Reply, wanted: ToolCall) -> ToolResult:
        at, begun = self.recorder.clock(), self.recorder.timer()
        result, failure = await use_tool(wanted, self.agent.tools, self.agent.approve)
        latency = self.recorder.timer() - begun
        self.recorder.record(
            ToolUsed(
                reply.call, self.agent.name, wanted.name, wanted.arguments, result.text, at, latency, failure
            )
        )
        return result

    async def _fit(
        self, thread: Thread, reply: Reply, sampling: Sampling, schema: Shape
    ) -> tuple[Thread, Reply]:
        """Parse the reply; send it back with the error while repairs are left."""
        for attempt in range(self.agent.repairs + 1):
            try:
                return thread, msgspec.structs.replace(reply, data=parse(reply.text, schema))
            except SchemaMismatch as error:
                if attempt == self.agent.repairs:
                    raise
                wish = Message.say("user", REPAIR.format(error=error))
                thread, reply = await self._answer(thread.then(wish, self.recorder), sampling, (reply,))
        raise AssertionError("unreachable")

    def compose(self, parts: Sequence[Content]) -> tuple[Message, tuple[Reply, ...]]:
        """One user message from the parts of an `ask`, with what memory adds, and the replies in it."""
        if self.agent.memory and (memories := self.agent.memory.recall(_words_of(parts))):
            texts = "\n\n".join(str(m) for m in memories)
            links = tuple(link for m in memories if isinstance(m, (Reply, Linked)) for link in m.links)
            parts = (Linked(RECALLED.format(memories=texts), links), *parts)
        return compose(parts)


async def those_answered(askings: Sequence[Coroutine[Any, Any, Reply]]) -> list[Reply]:
    """Ask at once, and return the replies of those who answered, in order.

    Raises:
        ModelError: nobody answered; it is the failure of the first. BudgetExceeded: the run may spend no
            more.
    """

    async def one(asking: Coroutine[Any, Any, Reply]) -> Reply | ModelError:
        try:
            return await asking
        except ModelError as error:
            return error

    outcomes = await all_of([one(asking) for asking in askings])
    replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
    for outcome in outcomes:
        if not replies and isinstance(outcome, ModelError):
            raise outcome
    return replies


def compose(parts: Sequence[Content]) -> tuple[Message, tuple[Reply, ...]]:
    """One user message from strings, tasks, replies and media, and the replies whose text is in it."""
    said: list[Part] = []
    sources: list[Reply] = []
    for part in parts:
        if isinstance(part, Media):
            said.append(part)
            continue
        if not isinstance(part, str):
            sources.extend(part.links)
            if isinstance(part, Reply) and (media := [p for p in part.message.parts if isinstance(p, Media)]):
                said.extend(media)
                if not part.text:  # a reply may have no words: latent thoughts
                    continue
            part = part.text
        if said and isinstance(last := said[-1], Text):
            said[-1] = Text(f"{last.text}\n\n{part}")
        else:
            said.append(Text(part))
    if not said:
        raise TypeError("ask() was given nothing to say; pass a string, the task or a reply")
    return Message("user", tuple(said)), tuple(sources)


def _sampling(agent: Agent, knobs: Knobs) -> Sampling:
    """The agent's sampling with the knobs of one question.

    Raises:
        BadInput: the temperature is below 0, or endless.
    """
    heat = knobs.get("temperature")
    if heat is not None and not 0 <= heat < inf:
        raise BadInput(f"temperature={heat!r}: expected a number, 0 or more")
    return agent.sampling.but(**knobs)


def _words_of(parts: Sequence[Content]) -> str:
    return "\n\n".join(str(p) for p in parts if not isinstance(p, Media))


__all__ = ["Agent", "Chat", "Knobs", "Voice", "compose", "those_answered"]
