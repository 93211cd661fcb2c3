"""A program in pieces: which functions a skeleton leaves open, who keeps which, and the whole of it.

Text is only parsed here, never run.
"""

import ast
import re
import textwrap
import types
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from typing import NamedTuple

from motet.agent import Voice
from motet.answers import extract
from motet.methods.code.source import calling, imports_first, parsed
from motet.methods.common import CODE
from motet.types import Content, Linked, Reply

NOBODY = "(nowhere: the program begins here)"
NOTHING = "(nothing that is a program)"


class Piece(NamedTuple):
    """What one agent wrote.

    Args:
        around: its source before, between and after the functions it left open: one more than of these.
        stubs: the source of those, in order: signature and docstring.
    """

    around: tuple[str, ...] = ("",)
    stubs: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """Its source without the functions it left open."""
        return "\n\n".join(filter(None, self.around))


@lru_cache
def split(source: str) -> Piece:
    """Separate a program from the functions that it only declares.

    A function is open when its body is nothing but a docstring, `pass`, `...` or `raise NotImplementedError`.
    What cannot be parsed is one piece.
    """
    source = textwrap.dedent(source)
    lines = source.splitlines(keepends=True)
    around, stubs, at = [], [], 0
    for node in parsed(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and all(map(_empty, node.body)):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)]) - 1
            around.append("".join(lines[at:first]).strip("\n"))
            stubs.append("".join(lines[first : node.end_lineno]).strip("\n"))
            at = node.end_lineno or first
    return Piece((*around, "".join(lines[at:]).strip("\n")), tuple(stubs))


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
    piece: Piece = Piece()
    name: str = ""
    children: list["Node"] = field(default_factory=list)

    @property
    def own(self) -> Content:
        """What it is shown of its own piece."""
        return self.reply or NOTHING

    @property
    def shown(self) -> Content:
        """What it is shown of its mother's piece: what calls its function."""
        mother = self.mother
        if mother is None or mother.reply is None:
            return NOBODY
        return Linked(calling(mother.piece.code, self.name) or NOBODY, mother.reply.links)

    @property
    def written(self) -> bool:
        """Whether it, or anybody below it, wrote more than signatures."""
        own = self.reply is not None and bool(self.piece.code)
        return own or any(child.written for child in self.children)

    def bear(self, stub: str, voice: Voice) -> "Node":
        """Make an agent for a function that this one left open."""
        spec = Linked(stub, self.reply.links if self.reply else ())
        child = Node(voice, spec, self, piece=Piece((stub,)), name=name_of(stub))
        self.children.append(child)
        return child

    def keep(self, reply: Reply) -> None:
        """Take a reply as the piece; one without a program changes nothing."""
        if program := extract(CODE, reply.text):
            self.reply, self.piece = reply, split(program)

    def program(self) -> str:
        """This piece and those below it, as one program."""
        return imports_first(self._joined()) if self.children else self._joined()

    def _joined(self) -> str:
        """This piece with those of its children where it left them open; what has no place comes first."""
        places = list(map(name_of, self.piece.stubs))
        filled = [
            next((child._joined() for child in self.children if child.name == name), stub)
            for name, stub in zip(places, self.piece.stubs, strict=True)
        ]
        parts = [child._joined() for child in self.children if child.name not in places]
        for code, function in zip_longest(self.piece.around, filled, fillvalue=""):
            parts += [code, function]
        return "\n\n".join(filter(None, parts))
