"""Words from models on somebody's terminal: data that must not act there, numbers that must be readable."""

import re
from collections.abc import Mapping

from motet.types import Failure, Usage

_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_].*?(?:\x07|\x1b\\|\Z)|[ -/]*[0-~]?)|\x9b[0-?]*[ -/]*[@-~]", re.DOTALL
)
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")

VOICE_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "bright_cyan", "bright_magenta")


def clean(text: str) -> str:
    """Take out what would act on a terminal: escape sequences, control characters, changes of direction.

    >>> clean("a\\x1b[31mb\\x07c")
    'abc'
    """
    return _CONTROLS.sub("", _ESCAPES.sub("", text.replace("\r\n", "\n").replace("\t", "    ")))


def colour(voice: str, known: dict[str, str]) -> str:
    """The colour of a voice; `known` remembers which voices have one already."""
    return known.setdefault(voice, VOICE_COLOURS[len(known) % len(VOICE_COLOURS)])


def money(cost: float | None) -> str:
    """US dollars, with as many digits as a small sum needs; '?' when a price is unknown."""
    if cost is None:
        return "?"
    return "$0" if cost == 0 else f"${cost:.2f}" if cost >= 0.1 else f"${cost:.2g}"


def seconds(span: float) -> str:
    """A span of time, in the unit that suits it."""
    if span < 0.9995:
        return f"{span * 1000:.0f} ms"
    return f"{span:.1f} s" if span < 120 else f"{span / 60:.0f} min"


def count(n: int, thing: str) -> str:
    """How many of a thing there are.

    >>> count(1, "call"), count(2000, "call")
    ('1 call', '2,000 calls')
    """
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def spent(usage: Usage, latency_s: float, cost: float | None = None) -> str:
    """What a call came to, in one short line."""
    words = [f"{usage.input_tokens:,}→{usage.output_tokens:,} tokens", seconds(latency_s)]
    if cost:
        words.insert(1, money(cost))
    return " · ".join(words)


def pairs(values: Mapping[str, object]) -> str:
    """`a=1 b=2`, for knobs and limits."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def told(failure: Failure) -> str:
    """A failure in words that are safe to print."""
    return clean(str(failure))
