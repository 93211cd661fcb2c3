"""How an answer is read out of a reply: one small reader per kind of task, so that methods need none.

`extract` finds the final answer and brings it to a canonical form, so that votes can be counted by plain
equality ('1,000.0' and '1000' are one answer). No answer is None, never an empty string.
"""

import ast
import re
import textwrap
import unicodedata
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from motet.types import Task, TaskKind

_MARK = re.compile(
    r"(?i)\banswer\b[\s*_]{0,4}(?::|\bis\b\s*:?)[\s*_]*|^####[ \t]+(?=[-+−$€£]*[\d.])",
    re.MULTILINE,
)
_BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
_NUMBER = re.compile(
    r"(?<![A-Za-z_^\d.])"
    r"(?P<sign>(?<![\w)])[-+−])?[$€£¥]?(?P<inner>[-+−])?"
    r"(?P<top>(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)(?:\.\d+)?|\.\d+)"
    r"(?:[eE](?P<power>[-+]?\d{1,3})(?![\w.]))?"
    r"(?:\s?/\s?(?P<bottom>\d+(?:\.\d+)?))?"
)
_FRACTION = re.compile(r"\\[dt]?frac\s*\{(-?[\d.,]+)\}\s*\{([\d.,]+)\}")
_DISPLAY = re.compile(
    r"\$\$(.+?)\$\$|\$([^$\n]+)\$|\\\(((?:(?!\\\().)+?)\\\)|\\\[((?:(?!\\\[).)+?)\\\]", re.DOTALL
)
_LEAD = re.compile(
    r"\W{0,9}(?i:option|choice)?\s{0,3}\(?([A-Z])(?:[).:,;]|\s+[-–—=]|\s+(?:because|since|as|is)\b)"
)
_LETTER = re.compile(r"(?<!\w)(?:\(([A-Z])\)|(?i:option|choice)\s+([A-Z])\b|([A-Z])[).](?!\w))")
_FENCE = re.compile(r"^[ \t]*```[^\n`]*\n(.*?)(?:^[ \t]*```|\Z)", re.DOTALL | re.MULTILINE)
_QUERY = r"(?:SELECT\b|WITH\s+(?:RECURSIVE\s+)?\w+\s*(?:\([^)]*\)\s*)?AS\s*\()"
_IS_QUERY = re.compile(_QUERY, re.I)
_BARE_QUERY = re.compile(rf"^\W*({_QUERY}.*?)(?:;[ \t]*$|\n\s*\n|\Z)", re.I | re.M | re.S)
_SQL_GAP = re.compile(r"""('(?:[^']|'')*'|"[^"]*")|(?:\s|--[^\n]*|/\*.*?\*/)+""", re.S)
_KEPT = 512  # votes are counted again and again: what was read of as many texts is remembered
_DIGITS = 1000  # a longer 'number' is a model that ran away


def extract(task: Task, text: str) -> str | None:
    """Read the final answer out of a reply, in canonical form.

    What stands after the last mark ('Answer:', '\\boxed{}', '####') wins; without a mark the kind decides
    (last number, only option that is named, last line, last expression, last code block). Thoughts up to
    `</think>` are not looked at. Reading an answer that was read before gives it back.

    Returns:
        The answer, equal to `canonical(task, answer)`, or None when the reply holds none.
    """
    found = _READERS[task.kind](task, _said(text))
    return canonical(task, found) if found and found.strip() else None


def wording(task: Task, text: str) -> str | None:
    """Read the final answer out of a reply for people: a text as it was written, anything else canonical.

    Without a target nobody knows how many lines it has: it is all that follows the last mark, or the reply.
    """
    if task.kind != "text":
        return extract(task, text)
    said = _said(text)
    found = (_marked(said) or said) if task.target is None else _read_text(task, said)
    return found.strip() or None if found else None


def canonical(task: Task, answer: str) -> str:
    """Bring an answer to the one form that equal answers share.

    Numbers become shortest decimals or fractions, choices letters, texts lose case, outer punctuation and
    extra space, formulas lose space and dollars, code its indentation. An answer that cannot be read as
    its kind comes back as normalised text.
    """
    match task.kind:
        case "number":
            return _canonical_number(answer)
        case "choice":
            return _option(task, answer) or _tidy(answer)
        case "math":
            return _formula(answer)
        case "code":
            return _dedent(answer)
        case "sql":
            return _one_line(answer)
    return _tidy(answer)


def final(text: str) -> str | None:
    """Return all that follows the last 'Answer:' (or stands in the last box) as it came; None without one."""
    return _marked(_said(text))


def instruction(task: Task) -> str:
    """Return the line that tells a model how to end its reply so that `extract` can read it.

    The options of a multiple-choice item are part of that line: prompts need not hold them.
    """
    match task.kind:
        case "number":
            return "End with a line 'Answer: <number>'."
        case "choice":
            options = "  ".join(f"{chr(65 + i)}) {option}" for i, option in enumerate(task.choices))
            return f"Options: {options}\nEnd with a line 'Answer: <letter>'."
        case "math":
            return "End with the final expression as \\boxed{<expression>}."
        case "code":
            return "Reply with the whole program in one ```python block."
        case "sql":
            return "Reply with one query in a ```sql block."
    if _has_lines(task):
        return "End with 'Answer:' and then the answer, which has several lines."
    return "End with a line 'Answer: <answer>'."


def gold_reply(task: Task) -> str | None:
    """Return a reply that follows `instruction` and holds the gold answer; None when the task has none."""
    if task.kind == "code":
        code = task.meta.get("solution") or task.target
        return f"```python\n{code}\n```" if code else None
    if task.target is None:
        return None
    if task.kind == "sql":
        return f"```sql\n{task.target}\n```"
    return f"\\boxed{{{task.target}}}" if task.kind == "math" else f"Answer: {task.target}"


def number(text: str) -> Fraction | None:
    """Return the last number in `text`, exactly; None when it holds none."""
    return _last_number(text)


def _said(text: str) -> str:
    return text.rpartition("</think>")[2].strip("\r\n").rstrip()


def _marked(text: str) -> str | None:
    """What follows the last mark: the inside of a box, or all that comes after 'Answer:'."""
    marks = sorted([*_MARK.finditer(text), *_BOX.finditer(text)], key=lambda mark: mark.start())
    if not marks:
        return None
    end = marks[-1].end()
    return _braced(text, end) if marks[-1][0].endswith("{") else text[end:].strip()


def _braced(text: str, start: int) -> str:
    depth = 1
    for i in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[i], 0)
        if not depth:
            return text[start:i].strip()
    return text[start:].strip()


def _first_line(text: str) -> str:
    return text.partition("\n")[0].strip()


def _last_line(text: str) -> str:
    return text.rpartition("\n")[2].strip()


def _read_number(task: Task, text: str) -> str | None:
    return _number_said(text)


@lru_cache(maxsize=_KEPT)
def _number_said(text: str) -> str | None:
    marked = _marked(text)
    for place in [text] if marked is None else [_statement(marked), _first_line(marked), marked]:
        value = _last_number(place)
        if value is not None:
            return _show(value)
    return None


def _statement(text: str) -> str:
    """The first sentence without what it says in brackets: there the number is the answer."""
    return re.split(r"(?<=[\d ])\. ", re.sub(r"\([^()]*\)", "", _first_line(text)))[0]


@lru_cache(maxsize=_KEPT)
def _last_number(text: str) -> Fraction | None:
    text = text.replace("{,}", ",").replace("\\,", "").replace("\\$", "$")
    text = _FRACTION.sub(r"\1/\2", text)
    for found in reversed(list(_NUMBER.finditer(text))):
        top, bottom = found["top"].replace(",", ""), found["bottom"] or "1"
        if len(found[0]) > _DIGITS or not Fraction(bottom):
            continue
        value = Fraction(f"{top}e{found['power'] or 0}") / Fraction(bottom)
        return -value if (found["sign"] or found["inner"]) in ("-", "−") else value
    return None


@lru_cache(maxsize=_KEPT)
def _canonical_number(text: str) -> str:
    value = _last_number(text)
    return _tidy(text) if value is None else _show(value)


def _show(value: Fraction) -> str:
    """Shortest exact decimal, or a fraction in lowest terms when there is none."""
    rest, places, twos = value.denominator, 0, 0
    while rest % 10 == 0:
        rest, places = rest // 10, places + 1
    while rest % 5 == 0:
        rest, places = rest // 5, places + 1
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    if rest > 1:
        return str(value)
    places += twos
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    whole, part = digits[: len(digits) - places], digits[len(digits) - places :]
    return ("-" if value < 0 else "") + whole + (f".{part}" if places else "")


def _read_choice(task: Task, text: str) -> str | None:
    marked = _marked(text)
    if marked is not None:
        return _option(task, _first_line(marked)) or _option(task, marked)
    return _option(task, text) or _option(task, _last_line(text)) or _last_letter(task, text)


def _option(task: Task, text: str) -> str | None:
    """The letter of the option that `text` gives by letter, in full, or by naming no other."""
    letters = {chr(65 + i): _tidy(option) for i, option in enumerate(task.choices)}
    plain = text.strip(" \t\n.,;:!*_'\"()[]{}$`")
    if plain.upper() in letters:
        return plain.upper()
    words = _tidy(text)
    for letter, option in letters.items():
        if words == option:
            return letter
    lead = _LEAD.match(text)
    if lead and lead[1] in letters:
        return lead[1]
    named = {x for x, option in letters.items() if re.search(rf"(?<!\w){re.escape(option)}(?!\w)", words)}
    # 'not happy' names 'happy' too: an option inside a longer one that is named does not count
    longest = [x for x in named if not any(letters[x] in letters[y] for y in named - {x})]
    return longest[0] if len(longest) == 1 else None


def _last_letter(task: Task, text: str) -> str | None:
    letters = [x for x in map("".join, _LETTER.findall(text)) if ord(x) - 65 < len(task.choices)]
    return letters[-1] if letters else None


def _read_text(task: Task, text: str) -> str | None:
    marked = _marked(text)
    if _has_lines(task):
        return text if marked is None else marked
    return _last_line(text) if marked is None else _first_line(marked)


def _has_lines(task: Task) -> bool:
    return task.target is not None and "\n" in task.target.strip()


def _tidy(text: str) -> str:
    words = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return words.strip(" .,;:!?*_`'\"“”‘’") or words or text.strip()


def _read_math(task: Task, text: str) -> str | None:
    marked = _marked(text)
    if marked is not None:
        return _first_line(marked) if _BOX.search(text) is None else marked
    shown = _DISPLAY.findall(text)
    if shown:
        return "".join(shown[-1])
    line = _last_line(text)
    if not re.search(r"(?<![\\A-Za-z])[A-Za-z]{3,}\s+[A-Za-z]{2,}", line):  # no two words in a row: a formula
        return line
    value = _last_number(line)
    return None if value is None else _show(value)


def _formula(text: str) -> str:
    whole = text.strip()
    text = whole.rstrip(".").strip()
    shown = _DISPLAY.fullmatch(text)
    text = "".join(x or "" for x in shown.groups()) if shown else text
    text = re.sub(r"\\(?:left|right)(?![A-Za-z])|\\[,;!]", "", text).replace("\\dfrac", "\\frac")
    plain = _NUMBER.fullmatch(text.strip())
    value = _last_number(text) if plain else None
    if value is not None:
        return _show(value)
    return re.sub(r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])", "", " ".join(text.split())) or whole


def _read_code(task: Task, text: str) -> str | None:
    blocks = _FENCE.findall(text)
    if not blocks:
        return text if _code_rank(text) else None
    best: str = max(reversed(blocks), key=_code_rank)
    return best  # the last of the best: examples of use often come after


@lru_cache(maxsize=_KEPT)
def _code_rank(text: str) -> int:
    """2 for Python that defines something, 1 for other statements, 0 for what is no program."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a bad escape in a model's string is no concern of ours
            body = ast.parse(_dedent(text)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return 0
    if any(isinstance(x, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) for x in body):
        return 2
    return int(any(not isinstance(x, ast.Expr) or isinstance(x.value, ast.Call) for x in body))


def _dedent(text: str) -> str:
    return textwrap.dedent(text.replace("\r\n", "\n")).strip("\n").rstrip()


def _read_sql(task: Task, text: str) -> str | None:
    return _query_said(text)


@lru_cache(maxsize=_KEPT)
def _query_said(text: str) -> str | None:
    """The last block that holds a query; without one, what follows the mark, or begins a line."""
    blocks = [b for b in _FENCE.findall(text) if _IS_QUERY.search(b)]
    if blocks:
        return str(blocks[-1])
    bare = _BARE_QUERY.findall(_marked(text) or "") or _BARE_QUERY.findall(text)
    return bare[-1] if bare else None


@lru_cache(maxsize=_KEPT)
def _one_line(query: str) -> str:
    """A query without comments, final semicolons and needless space."""
    return _SQL_GAP.sub(lambda gap: gap[1] or " ", query).strip("; \n")


_READERS: dict[TaskKind, Callable[[Task, str], str | None]] = {
    "text": _read_text,
    "number": _read_number,
    "choice": _read_choice,
    "math": _read_math,
    "code": _read_code,
    "sql": _read_sql,
}
