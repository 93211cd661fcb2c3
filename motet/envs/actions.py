"""Reading an action out of what a model wrote."""

import re
from collections.abc import Iterable

MARKED = re.compile(r"action\s*[:=]\s*(.+)|\\boxed\{([^{}]*)\}|\[([^\[\]\n]+)\]", re.IGNORECASE)
EDGES = " \t\r\n`*'\".,;!<>"


def pick(text: str, legal: Iterable[str]) -> str | None:
    """The legal action that a text names.

    Looked for, in this order: what the last mark holds (`Action: …`, `\\boxed{…}` or `[…]`), the text as a
    whole, and a legal action that stands in the text while no other does. Case and quotes do not matter.

    >>> pick("I could fold, but... Action: call", ("fold", "call"))
    'call'
    >>> pick("Fold or call? Hard to say.", ("fold", "call")) is None
    True
    """
    known = {plain(action): action for action in legal}
    for said in (*reversed(marked(text)), text):
        if (action := known.get(plain(said))) is not None:
            return action
    words = plain(text)
    named = [name for name in known if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words)]
    # "go to shelf 1" is not meant where "go to shelf 1 quickly" is.
    longest = [name for name in named if not any(name != other and name in other for other in named)]
    return known[longest[0]] if len(longest) == 1 else None


def free(text: str) -> str | None:
    """What follows the last `Action:`, or else the whole text; None when that is empty."""
    said = [match[1] for match in MARKED.finditer(text) if match[1]]
    return (said[-1] if said else text).strip() or None


def marked(text: str) -> list[str]:
    """Everything that a text marks as an action, in order."""
    return [next(group for group in match.groups() if group is not None) for match in MARKED.finditer(text)]


def plain(text: str) -> str:
    """Lower case, single spaces, no quotes or stops at the ends."""
    return " ".join(text.casefold().split()).strip(EDGES)
