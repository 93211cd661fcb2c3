"""An engine that counts what it is asked and answers with what it was asked."""

import asyncio
from collections.abc import Sequence
from typing import Any

from motet.models.embedded.batch import common
from motet.models.embedded.llama import Choice, OnPiece


class CountingEngine:
    """Answers each sample with its seed as the text. Like llama.cpp, it remembers what lies in its slots.

    While `gate` is not set, no request is answered; `error` is raised instead of an answer.
    """

    def __init__(self, slots: int = 8, n_ctx: int = 1000) -> None:
        self.slots, self.n_ctx = slots, n_ctx
        self.held: dict[int, tuple[int, ...]] = dict.fromkeys(range(slots), ())
        self.memory: dict[int, tuple[int, ...]] = dict(self.held)
        self.requests: list[tuple[int, int, int]] = []  # prompt length, n, slot
        self.warmed: list[tuple[int, int]] = []
        self.copied: list[tuple[int, list[int]]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.running = self.most = self.cancelled = 0
        self.error: Exception | None = None

    async def encode(self, chat: str) -> tuple[int, ...]:
        await asyncio.sleep(0)
        return tuple(chat.encode())

    async def complete(
        self,
        prompt: Sequence[int],
        n: int,
        slot: int,
        options: dict[str, Any],
        on_piece: OnPiece | None = None,
    ) -> list[Choice]:
        self.requests.append((len(prompt), n, slot))
        self.running += n
        self.most = max(self.most, self.running)
        try:
            await self.gate.wait()
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= n
        if self.error:
            raise self.error
        cached = min(common(self.memory[slot], prompt), len(prompt) - 1)
        self.memory[slot] = tuple(prompt)
        texts = [str(options["seed"] + i) for i in range(n)]
        for number, text in enumerate(texts):
            if on_piece:
                on_piece(number, text)
        others = [other for other in range(self.slots) if other != slot]
        return [
            Choice(text, (1, 2), (-0.5, -0.5), "eos", [slot, *others][i], cached)
            for i, text in enumerate(texts)
        ]

    async def warm(self, prompt: Sequence[int], slot: int) -> int:
        self.warmed.append((len(prompt), slot))
        computed = len(prompt) - common(self.memory[slot], prompt)
        self.memory[slot] = tuple(prompt)
        return computed

    async def copy(self, source: int, targets: Sequence[int]) -> None:
        self.copied.append((source, list(targets)))
        self.memory.update(dict.fromkeys(targets, self.memory[source]))
