"""Python source that models wrote: it is only read here, never run."""

import ast
import warnings
from collections import Counter


def parsed(source: str) -> list[ast.stmt]:
    """The statements of a program; none of one that cannot be parsed."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a bad escape in a model's string is no concern of ours
            return ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []


def not_main(program: str) -> str:
    """A program as it is when it is imported: `__name__ == "__main__"` is False in it.

    >>> not_main('if __name__ == "__main__": input()')
    'if False                 : input()'
    """
    if "__main__" not in program:
        return program
    lines = program.encode().splitlines(keepends=True)
    for node in ast.walk(ast.Module(parsed(program), [])):
        match node:
            case ast.Compare(ast.Name("__name__"), [ast.Eq()], [ast.Constant("__main__")]) | ast.Compare(
                ast.Constant("__main__"), [ast.Eq()], [ast.Name("__name__")]
            ) if node.lineno == node.end_lineno:
                line, begin, end = lines[node.lineno - 1], node.col_offset, node.end_col_offset or 0
                lines[node.lineno - 1] = line[:begin] + b"False".ljust(end - begin) + line[end:]
    return b"".join(lines).decode()


def imports_first(program: str) -> str:
    """A program with its imports at the top, each once, those from `__future__` before the others.

    >>> imports_first("x = 1\\nimport a\\nfrom __future__ import b")
    'from __future__ import b\\nimport a\\nx = 1'
    """
    body, lines = parsed(program), program.split("\n")
    on_line = Counter(line for node in body for line in {node.lineno, node.end_lineno})
    imports: list[str] = []
    for node in reversed(body):
        alone = on_line[node.lineno] == on_line[node.end_lineno] == 1
        if isinstance(node, ast.Import | ast.ImportFrom) and alone:
            imports.append(ast.unparse(node))
            del lines[node.lineno - 1 : node.end_lineno]
    once = dict.fromkeys(reversed(imports))
    return "\n".join([*sorted(once, key=lambda words: not words.startswith("from __future__")), *lines])


def calling(program: str, name: str) -> str:
    """The statements of a program in which a function is named, or all of it when it is in none.

    >>> calling("def f():\\n    return g()\\ny = 2", "g")
    'def f():\\n    return g()'
    """
    found = [
        ast.get_source_segment(program, node) or ""
        for node in parsed(program)
        if any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))
    ]
    return "\n\n".join(found) or program
