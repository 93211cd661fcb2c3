"""Write the table of `docs/methods.md` from the registry and the docstrings of the methods."""

import re
import sys
from pathlib import Path

from motet.methods import METHODS
from motet.methods.info import Method

PAGE = Path(__file__).parent.parent / "docs" / "methods.md"
HEAD = "| method | family | paper | system | calls | deviates from the paper |\n|---|---|---|---|---|---|\n"
TABLE = re.compile(r"^\| method \|.*?(?=^$)", re.MULTILINE | re.DOTALL)


def row(method: Method) -> str:
    about = sys.modules[method.team.function.__module__].__doc__ or ""
    found = re.search(r"^Deviates: (.*?)(?=^[A-Z]\w+: |\Z)", about, re.MULTILINE | re.DOTALL)
    deviates = " ".join(found[1].split()) if found else "–"
    cells = (
        f"`{method.name}`",
        method.family,
        method.paper,
        str(method.system or "–"),
        f"`{method.calls}`",
        deviates,
    )
    return f"| {' | '.join(cells)} |\n"


if __name__ == "__main__":
    text = TABLE.sub(lambda _: HEAD + "".join(map(row, METHODS.values())), PAGE.read_text())
    PAGE.write_text(text)
    print(f"{PAGE.name}: {len(METHODS)} methods")
