"""A voice that is a rule: a plain function of the messages."""

import inspect
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from motet.types import Message, Reply, Sampling


class Rule:
    """A model made of a function.

    Args:
        function: takes the text of the last message, sync or async; returns the text of the reply.
        name: shown on the tape; the function's own name when left out.

    >>> import asyncio
    >>> shout = Rule(str.upper)
    >>> asyncio.run(shout.sample([Message.say("user", "hey")], 1, Sampling()))[0].text
    'HEY'
    """

    def __init__(self, function: Callable[[str], Any | Awaitable[Any]], name: str = "") -> None:
        self._function = function
        self.name = name or f"rule:{getattr(function, '__name__', type(function).__name__)}"
        self.identity = self.name

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Call the function `n` times. It costs nothing; its errors are bugs and crash."""
        replies = []
        for _ in range(n):
            said = self._function(messages[-1].text)
            if inspect.isawaitable(said):
                said = await said
            replies.append(Reply(message=Message.say("assistant", str(said)), model=self.name, cost=0.0))
        return replies
