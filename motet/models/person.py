"""A voice that is a person at the terminal."""

import asyncio
import sys
from collections.abc import Callable, Sequence

from motet.errors import EmptyReply
from motet.types import Message, Reply, Sampling


def _ask_terminal(prompt: str) -> str:
    from rich.console import Console
    from rich.markup import escape
    from rich.panel import Panel

    console = Console(stderr=True)
    console.print(Panel(escape(prompt), title="your turn", border_style="cyan"))
    console.print("[bold cyan]›[/] ", end="")
    return sys.stdin.readline()


class Person:
    """Somebody who is shown the last message on stderr and types one line.

    Args:
        name: shown on the tape.
        read: asks and returns the line; injected by tests. Runs in a thread, so others go on.
    """

    def __init__(self, name: str = "person", read: Callable[[str], str] = _ask_terminal) -> None:
        self.name = self.identity = name
        self._read = read
        self._turn = asyncio.Lock()

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Ask the person `n` times, one question at a time.

        Raises:
            EmptyReply: an empty line, or the end of input.
        """
        replies = []
        async with self._turn:
            for _ in range(n):
                said = (await asyncio.to_thread(self._read, messages[-1].text)).strip()
                if not said:
                    raise EmptyReply(f"{self.name} said nothing")
                replies.append(Reply(message=Message.say("assistant", said), model=self.name, cost=0.0))
        return replies
