"""What is told of the members of a group, and who is found by a search in it."""

import re
from collections.abc import Sequence

from motet.agent import Agent, Voice
from motet.performance import TeamVoice

PLAIN = "a helpful assistant"


def about(voice: Voice) -> str:
    """What a voice can do: the first line of an agent's instructions, with the names of its tools, or of a
    team's docstring."""
    if isinstance(voice, Agent):
        tools = ", ".join(tool.spec.name for tool in voice.tools)
        first = voice.instructions.strip().partition("\n")[0] or PLAIN
        return f"{first} (tools: {tools})" if tools else first
    if isinstance(voice, TeamVoice):
        return (voice.team.__doc__ or "").strip().partition("\n")[0] or voice.team.name
    return PLAIN


def roster(voices: Sequence[Voice]) -> str:
    """One line a voice: its name and what it can do."""
    return "\n".join(f"- {voice.name}: {about(voice)}" for voice in voices)


def found(voices: Sequence[Voice], queries: Sequence[str], k: int) -> list[Voice]:
    """The `k` voices whose descriptions share most words with some searches; ties in order."""
    texts = [f"{voice.name} {about(voice)}" for voice in voices]
    return [voices[i] for i in closest(" ".join(queries), texts, k)]


def closest(query: str, texts: Sequence[str], k: int) -> list[int]:
    """The positions of the `k` texts that share most words with a search, best first; ties in order.

    >>> closest("balance equations", ["knows law", "balances and writes equations", "cooks"], 1)
    [1]
    """
    wanted = _words(query)
    return sorted(range(len(texts)), key=lambda i: -len(wanted & _words(texts[i])))[:k]


def _words(text: str) -> set[str]:
    return {word.rstrip("s") for word in re.findall(r"\w{3,}", text.lower())}
