"""How fast the embedded model is, and what sampling together saves: `python -m benchmarks.local`.

Each line asks the same things twice, at once and one after another, with prompts that the engine has not
seen before. Speeds are sampled tokens a second, the median of three repetitions; the spread is (max - min) /
median of the ratios.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from statistics import median

from motet.models.local import Local
from motet.types import Message, Reply, Sampling

REPEAT = 3
VOICES = 8
SHORT = Sampling(max_tokens=24)
PASSAGE = "The committee met on a rainy day to speak about the bridge, the school and the price of bread. "
_FRESH = count()

Ask = Callable[[str, int], Awaitable[list[Reply]]]


def passage() -> str:
    """About 260 tokens that no slot holds yet: the first words differ each time."""
    return f"Minutes number {next(_FRESH)}. " + PASSAGE * 12


async def one_stream(ask: Ask, text: str) -> list[Reply]:
    return await ask("Tell me a story about a lighthouse. " + text[:20], 1)


async def voices(ask: Ask, text: str) -> list[list[Reply]]:
    return await asyncio.gather(*[ask(f"{text}\nWhat would voice {i} say?", 1) for i in range(VOICES)])


async def voices_in_turn(ask: Ask, text: str) -> list[list[Reply]]:
    return [await ask(f"{text}\nWhat would voice {i} say?", 1) for i in range(VOICES)]


async def samples(ask: Ask, text: str) -> list[Reply]:
    return await ask(text, VOICES)


async def equal_asks(ask: Ask, text: str) -> list[list[Reply]]:
    return await asyncio.gather(*[ask(text, 1) for _ in range(VOICES)])


async def equal_in_turn(ask: Ask, text: str) -> list[list[Reply]]:
    return [await ask(text, 1) for _ in range(VOICES)]


async def cold_in_turn(ask: Ask, text: str) -> list[list[Reply]]:
    """One after another without any memory of earlier prompts: what a server without slots would do."""
    return [await ask(passage() + text[-30:], 1) for _ in range(VOICES)]


async def timed(work: Callable[[Ask, str], Awaitable[Sequence[object]]], ask: Ask) -> tuple[float, float]:
    """Seconds taken and sampled tokens a second."""
    begun = time.perf_counter()
    found = await work(ask, passage())
    seconds = time.perf_counter() - begun
    replies = [reply for each in found for reply in (each if isinstance(each, list) else [each])]
    return seconds, sum(reply.usage.output_tokens for reply in replies) / seconds


async def main() -> None:
    from rich.console import Console
    from rich.table import Table

    model = Local()

    async def ask(text: str, n: int) -> list[Reply]:
        return await model.sample([Message.say("user", text)], n, SHORT)

    begun = time.perf_counter()
    await ask("Hello.", 1)
    started = time.perf_counter() - begun
    table = Table(
        "what", "tok/s", "in turn, tok/s", "ratio", "spread", title=f"first reply after {started:.2f} s"
    )
    speeds = [(await timed(one_stream, ask))[1] for _ in range(REPEAT)]
    table.add_row("one stream, short prompt", f"{median(speeds):.0f}", "", "", "")
    for name, together, in_turn in [
        ("8 voices, common prefix", voices, voices_in_turn),
        ("8 voices, common prefix, against no reuse", voices, cold_in_turn),
        ("8 samples of one prompt", samples, equal_in_turn),
        ("8 equal asks at once", equal_asks, equal_in_turn),
        ("8 equal asks at once, against no reuse", equal_asks, cold_in_turn),
    ]:
        pairs = [(await timed(together, ask), await timed(in_turn, ask)) for _ in range(REPEAT)]
        ratios = [a[1] / b[1] for a, b in pairs]
        table.add_row(
            name, f"{median(a[1] for a, _ in pairs):.0f}", f"{median(b[1] for _, b in pairs):.0f}",
            f"{median(ratios):.2f}", f"{(max(ratios) - min(ratios)) / median(ratios):.0%}",
        )  # fmt: skip
    Console().print(table)


if __name__ == "__main__":
    asyncio.run(main())
