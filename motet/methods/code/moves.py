"""What a repairing agent may do in a repository, read from its words: look, search, edit, finish."""

import re
from typing import Literal

from msgspec import Struct

from motet.errors import ToolError
from motet.methods.code.workspace import Workspace
from motet.tools.python import shorten
from motet.tools.sandbox import Limits, Sandbox

HOW = """\
Do one thing, in one of these forms:
VIEW path
SEARCH words
EDIT path
<<<<
the lines to replace, exactly as they stand there
====
the lines to put in their place
>>>>
FINISH
Tests that are there cannot be edited. Write all three signs longer (<<<<<) where a line itself reads ====."""
SHOWN = 3_000  # characters of a file or a search
_WORD = re.compile(r"(?m)^[\s*#>`-]*(VIEW|SEARCH|EDIT|FINISH)\b[ \t:*`]*(.*)$")
_OPENING = re.compile(r"(?m)^(<{4,})(?: .*)?$")
_BLOCK = r"(?ms)\n(.*?)^={%d}[ \t]*\n(.*?)^>{%d}(?: [^\n]*)?$"  # as many signs as in the opening


class Move(Struct, frozen=True):
    """One action of the agent."""

    kind: Literal["VIEW", "SEARCH", "EDIT", "FINISH"]
    about: str = ""
    old: str = ""
    new: str = ""


class Seen(Struct, frozen=True):
    """The repository after a move, and what the agent is told."""

    repository: Workspace
    told: str


def read_move(text: str) -> Move:
    """The first move in a reply; words that hold none finish."""
    word = _WORD.search(text)
    if not word:
        return Move("FINISH")
    about = word[2].strip(" *`'\"")
    if word[1] != "EDIT":
        return Move(word[1], about)  # type: ignore[arg-type]
    opening = _OPENING.search(text, word.end())
    n = len(opening[1]) if opening else 0
    block = opening and re.compile(_BLOCK % (n, n)).match(text, opening.end())
    old, new = (block[1], block[2]) if block else ("", "")
    return Move("EDIT", about, old.removesuffix("\n"), new.removesuffix("\n"))


async def make_move(move: Move, repository: Workspace, box: Sandbox, limits: Limits) -> Seen:
    """Do what a move says; after an edit and at the end the tests run.

    Raises:
        SandboxUnavailable: the sandbox cannot run the tests.
    """
    try:
        match move.kind:
            case "VIEW":
                return Seen(repository, shorten(repository.view(move.about), SHOWN))
            case "SEARCH":
                return Seen(repository, shorten(repository.search(move.about), SHOWN))
            case "EDIT":
                if not (move.old or move.new):
                    raise ToolError("the edit has no block of the form <<<< … ==== … >>>>")
                repository = repository.edited(move.about, move.old, move.new)
    except ToolError as error:
        return Seen(repository, f"That did not work: {error}")
    return Seen(repository, (await repository.test(box, limits)).report)
