"""A group chat as a state machine: whoever speaks chooses the kind of speech act, and who is next.

After Chen et al. 2024, arXiv:2407.07061 (Internet of Agents). It ends with a conclusion, which calls off the
tasks under way, or when the turns are over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from msgspec import Struct, defstruct

from motet.agent import Voice
from motet.errors import BudgetExceeded, ModelError
from motet.methods.organise.roster import roster
from motet.types import Content, Linked, Reply, fill

SPEAK = """\
You are {name}, in a group with these:
{group}

Task of the group:
{task}

Said so far:

{said}

Tasks under way: {waiting}

It is your turn. Set `state` to discussion (you speak to the group), sync_task (`next` gets a task and all
wait), async_task (`next` gets a task and the group goes on), pause (wait for the tasks under way) or
conclusion (what you say is the result of the group; tasks under way are called off). Set `next` to who comes
next, null for the next in turn, and `say` to your words.
{form}"""
JOB = "Task of the group:\n{task}\n\nSaid so far:\n\n{said}\n\nYour task:\n{job}"
ALONE = "{job}\n\nDo it. {form}"
CONCLUDE = "Task of the group:\n{task}\n\nSaid so far:\n\n{said}\n\nGive the result. {form}"
LINE = "{name} ({act}): {words}"
NOTHING = "(nothing)"
State = Literal["discussion", "sync_task", "async_task", "pause", "conclusion"]
Work = Callable[[Voice, Content, Content], Awaitable[Reply | Linked]]


async def converse(
    members: Sequence[Voice], task: Content, work: Work, *, t: int, form: str
) -> Reply | Linked:
    """Let members talk for `t` turns at most, the first beginning.

    Args:
        task: what the group is for.
        work: has a member do a task: who, what, and the same as told to one alone.
        form: how an answer should end.

    Returns:
        The conclusion of whoever concluded; else that of the first member.

    Raises:
        ModelError: the first member could not conclude.
    """
    group = _Group(members, task, work, form)
    try:
        for _ in range(t):
            if (conclusion := await group.turn()) is not None:
                return conclusion
        await group.wait()
        return await members[0].ask(fill(CONCLUDE, task=task, said=group.said or NOTHING, form=form))
    finally:
        await group.disband()


@dataclass
class _Group:
    members: Sequence[Voice]
    task: Content
    work: Work
    form: str
    said: list[Linked] = field(default_factory=list)
    under_way: dict[asyncio.Task[Linked], str] = field(default_factory=dict)
    speaker: int = 0

    async def turn(self) -> Linked | None:
        """Let the speaker speak and do what follows from it; the conclusion, if it is one."""
        who = self.members[self.speaker]
        others = {member.name: i for i, member in enumerate(self.members) if member is not who}
        following = (self.speaker + 1) % len(self.members)
        group, names = roster([self.members[i] for i in others.values()]), tuple(m.name for m in self.members)
        state = {"said": self.said or NOTHING, "waiting": ", ".join(self.under_way.values()) or NOTHING}
        prompt = fill(SPEAK, name=who.name, group=group, task=self.task, form=self.form, **state)
        try:
            reply = await who.ask(prompt, schema=_turn_among(names))
        except ModelError as error:
            self.tell(who.name, "failed", str(error.failure))
            self.speaker = following
            return None
        turn, words = reply.data, Linked(reply.data.say, (reply,))
        self.tell(who.name, turn.state, words)
        following = others.get(turn.next, following)
        match turn.state:
            case "conclusion":
                return words
            case "sync_task":
                self.said.append(await self.carry_out(following, words))
            case "async_task":
                doing = asyncio.create_task(self.carry_out(following, words))
                self.under_way[doing] = self.members[following].name
            case "pause":
                await self.wait()
                self.speaker = following
            case _:
                self.speaker = following
        return None

    def tell(self, name: str, act: str, words: str | Linked) -> None:
        """Add a line to what was said."""
        self.said.append(fill(LINE, name=name, act=act, words=words))

    async def carry_out(self, position: int, words: Linked) -> Linked:
        """Have a member do a task; the line that tells the group what came of it."""
        member, said = self.members[position], list(self.said) or NOTHING
        job = fill(JOB, task=self.task, said=said, job=words)
        try:
            done = await self.work(member, job, fill(ALONE, job=job, form=self.form))
        except ModelError as error:
            return fill(LINE, name=member.name, act="task failed", words=str(error.failure))
        return fill(LINE, name=member.name, act="task done", words=done)

    async def wait(self) -> None:
        """Wait for the tasks under way and tell what came of them, in the order they were given."""
        for doing in list(self.under_way):
            self.said.append(await doing)
            del self.under_way[doing]

    async def disband(self) -> None:
        """Call off what is under way; a bug in it is not lost."""
        for doing in self.under_way:
            doing.cancel()
        for ended in await asyncio.gather(*self.under_way, return_exceptions=True):
            if isinstance(ended, Exception) and not isinstance(ended, BudgetExceeded):
                raise ended


@lru_cache
def _turn_among(names: tuple[str, ...]) -> type[Struct]:
    """The schema of a turn after which one of these comes, or the next in turn."""
    following: Any = Literal[names] | None
    return defstruct("Turn", [("state", State), ("next", following, None), ("say", str)], kw_only=True)
