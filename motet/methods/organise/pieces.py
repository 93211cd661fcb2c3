"""A program in pieces: which functions a skeleton leaves open, who keeps which, and the whole of it.

Text is only parsed here, never run.
"""

import ast
import re
import textwrap
import types
import warnings
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from motet.agent import Voice
from motet.answers import extract
from motet.methods.common import CODE
from motet.types import Content, Linked, Reply

NOBODY = "(nowhere: the program begins here)"
NOTHING = "(nothing that is a program)"


class Piece(NamedTuple):
    """What one agent wrote.

    Args:
        code: its source without the functions it left open.
        stubs: the source of those, in order: signature and docstring.
    """

    code: str
    stubs: tuple[str, ...] = ()


@lru_cache
def split(source: str) -> Piece:
    """Separate a program from the functions that it only declares.

    A function is open when its body is nothing but a docstring, `pass`, `...` or `raise NotImplementedError`.
    What cannot be parsed is one piece.
    """
    source = textwrap.dedent(source)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Piece(source)
    lines = source.splitlines(keepends=True)
    stubs = []
    for node in reversed(body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and all(map(_empty, node.body)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            stubs.append("".join(lines[first : node.end_lineno]).strip("\n"))
            del lines[first : node.end_lineno]
    return Piece("".join(lines).strip("\n"), tuple(reversed(stubs)))


def name_of(stub: str) -> str:
    """The name of a function that is left open."""
    found = re.search(r"\bdef\s+(\w+)", stub)
    return found[1] if found else ""


def _empty(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass():
            return True
        case ast.Expr(value=ast.Constant(value=str() | types.EllipsisType())):
            return True
        case ast.Raise(
            exc=ast.Name(id="NotImplementedError") | ast.Call(func=ast.Name(id="NotImplementedError"))
        ):
            return True
    return False


@dataclass
class Node:
    """An agent in the tree, and the piece of the program that it keeps."""

    voice: Voice
    spec: Content
    mother: "Node | None" = None
    reply: Reply | None = None
    piece: Piece = Piece("")
    name: str = ""
    children: list["Node"] = field(default_factory=list)

    @property
    def own(self) -> Content:
        """What it is shown of its own piece."""
        return self.reply or NOTHING

    @property
    def shown(self) -> Content:
        """What it is shown of its mother's piece."""
        return self.mother.own if self.mother else NOBODY

    def bear(self, stub: str, voice: Voice) -> "Node":
        """Make an agent for a function that this one left open."""
        spec = Linked(stub, self.reply.links if self.reply else ())
        child = Node(voice, spec, self, piece=Piece(stub), name=name_of(stub))
        self.children.append(child)
        return child

    def keep(self, reply: Reply) -> None:
        """Take a reply as the piece; one without a program changes nothing."""
        if program := extract(CODE, reply.text):
            self.reply, self.piece = reply, split(program)

    def program(self) -> str:
        """This piece below those of its children; what nobody took over stays open in it."""
        taken = {child.name for child in self.children}
        left_open = [stub for stub in self.piece.stubs if name_of(stub) not in taken]
        parts = [*(child.program() for child in self.children), self.piece.code, *left_open]
        return "\n\n".join(part for part in parts if part)
