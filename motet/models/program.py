"""A voice that is a program: messages as JSON on its stdin, the reply on its stdout."""

import asyncio
import shlex
from collections.abc import Sequence

import msgspec

from motet.errors import BadInput, EmptyReply, ModelTimeout, ServerError
from motet.types import Message, Reply, Sampling


class Program:
    """A program of the user's own, started once for each reply.

    It reads `{"messages": [{"role", "text"}, …]}` from stdin and prints the reply. This is for programs
    that you trust: it runs with your rights. What a model wrote belongs in `motet.tools.sandbox`.

    Args:
        command: the command line, split as a shell would but run without one.
        timeout_s: seconds after which it is killed.
    """

    def __init__(self, command: str, *, timeout_s: float = 60.0) -> None:
        self._argv = shlex.split(command)
        if not self._argv:
            raise BadInput(f"program:{command!r} names no program")
        self.name = self.identity = f"program:{command}"
        self._timeout_s = timeout_s

    async def sample(self, messages: Sequence[Message], n: int, sampling: Sampling) -> list[Reply]:
        """Run the program `n` times, one after another.

        Raises:
            ServerError: it could not be started or ended with an error. ModelTimeout: it took too long.
            EmptyReply: it printed nothing.
        """
        question = msgspec.json.encode({"messages": [{"role": m.role, "text": m.text} for m in messages]})
        return [await self._once(question) for _ in range(n)]

    async def _once(self, question: bytes) -> Reply:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*self._argv, stdin=pipe, stdout=pipe, stderr=pipe)
        except OSError as error:
            raise ServerError(f"{self.name} cannot be started: {error.strerror}") from error
        try:
            async with asyncio.timeout(self._timeout_s):
                out, err = await process.communicate(question)
        except TimeoutError:
            raise ModelTimeout(f"{self.name} gave no answer within {self._timeout_s:g} s") from None
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        if process.returncode:
            words = err.decode(errors="replace").strip()[-500:]
            raise ServerError(f"{self.name} ended with status {process.returncode}: {words}")
        said = out.decode(errors="replace").strip()
        if not said:
            raise EmptyReply(f"{self.name} printed nothing")
        return Reply(message=Message.say("assistant", said), model=self.name, cost=0.0)
