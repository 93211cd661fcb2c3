"""How fast the embedded model is, and what sampling together saves: `python -m benchmarks.local`.

Eight short replies to a prompt of about 270 tokens are drawn in several ways. Every repetition has a prompt
that the engine has not seen. Speeds are sampled tokens a second; a ratio compares two ways within one
repetition; the spread is (max - min) / median. It takes a minute or two, and means
something only on a machine that does nothing else.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from itertools import count
from statistics import median

from motet.models.embedded.model import Local
from motet.types import Message, Reply, Sampling

REPEAT = 3
ASKS = 8
PASSAGE = "The committee met on a rainy day to speak about the bridge, the school and the price of bread. "
_FRESH = count()

MODEL = Local()


def passage() -> str:
    """A prompt whose first words no slot holds yet."""
    return f"Minutes number {next(_FRESH)}. " + PASSAGE * 12


async def ask(text: str, n: int = 1, max_tokens: int = 24) -> list[Reply]:
    return await MODEL.sample([Message.say("user", text)], n, Sampling(max_tokens=max_tokens))


async def together(prompts: list[str]) -> list[Reply]:
    return [reply for [reply] in await asyncio.gather(*map(ask, prompts))]


async def in_turn(prompts: list[str]) -> list[Reply]:
    return [reply for prompt in prompts for reply in await ask(prompt)]


def voices(text: str) -> list[str]:
    return [f"{text}\nWhat would voice {i} say?" for i in range(ASKS)]


WAYS: dict[str, Callable[[str], Awaitable[list[Reply]]]] = {
    "one stream": lambda text: ask(f"Tell a story. {text[:20]}", max_tokens=96),
    "8 prompts, nothing in common, in turn": lambda text: in_turn([passage() for _ in range(ASKS)]),
    "8 voices, common prefix, in turn": lambda text: in_turn(voices(text)),
    "8 voices, common prefix, at once": lambda text: together(voices(text)),
    "8 equal asks, in turn": lambda text: in_turn([text] * ASKS),
    "8 equal asks, at once": lambda text: together([text] * ASKS),
    "8 samples of one ask (n=8)": lambda text: ask(text, n=ASKS),
}


async def speed(way: Callable[[str], Awaitable[list[Reply]]]) -> float:
    """Sampled tokens a second."""
    begun = time.perf_counter()
    replies = await way(passage())
    return sum(reply.usage.output_tokens for reply in replies) / (time.perf_counter() - begun)


async def main() -> None:
    from rich.console import Console
    from rich.table import Table

    begun = time.perf_counter()
    await ask("Hello.", max_tokens=1)
    title = f"embedded model: first token after {time.perf_counter() - begun:.2f} s"
    speeds = [{name: await speed(way) for name, way in WAYS.items()} for _ in range(REPEAT)]
    table = Table("way", "tok/s", "spread", "against no reuse", "against in turn", title=title)
    cold = list(WAYS)[1]
    for name in WAYS:
        own = [row[name] for row in speeds]
        turn = "8 voices, common prefix, in turn" if "voices" in name else "8 equal asks, in turn"
        ratios = [
            f"{median(row[name] / row[other] for row in speeds):.2f}"
            if name not in (other, "one stream")
            else ""
            for other in (cold, turn)
        ]
        spread = f"{(max(own) - min(own)) / median(own):.0%}"
        table.add_row(name, f"{median(own):.0f}", spread, ratios[0], ratios[1] if name != cold else "")
    Console(width=110).print(table)


if __name__ == "__main__":
    asyncio.run(main())
