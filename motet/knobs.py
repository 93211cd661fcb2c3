"""Whether a value is of the type that a knob is annotated with, and what to say where it is not."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

from msgspec import Struct

SHOWN = 200
"""Characters of a wrong value that are shown."""
WORDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    NoneType: "None",
}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type: numbers, texts, None, structs, several of these, or one of several types.

    A whole number is a number, a truth value and NaN are none. Types other than these are not looked into.

    >>> fits(3, float), fits(True, int), fits("ab", Sequence[str]), fits([1, "a"], Sequence[int | str])
    (True, False, False, True)
    """
    return _test(kind)(value)


@lru_cache(maxsize=512)
def _test(kind: Any) -> Callable[[Any], bool]:
    """The question whether a value is of a type, put together once."""
    origin, of = get_origin(kind) or kind, get_args(kind)
    if origin is int:
        return lambda value: isinstance(value, Integral) and not isinstance(value, bool)
    if origin is float:
        return lambda value: isinstance(value, Real) and not isinstance(value, bool) and value == value
    if origin in (Union, UnionType):
        choices = [_test(one) for one in of]
        return lambda value: any(test(value) for test in choices)
    if origin is tuple and of and of[-1] is not ...:
        tests = [_test(one) for one in of]
        return lambda value: (
            _is_list(value)
            and len(value) == len(tests)
            and all(test(part) for test, part in zip(tests, value, strict=True))
        )
    if origin in (Sequence, tuple):
        each = _test(of[0] if of else Any)
        return lambda value: _is_list(value) and all(map(each, value))
    if origin in (str, bool, NoneType) or (isinstance(origin, type) and issubclass(origin, Struct)):
        return lambda value: isinstance(value, origin)
    return lambda value: True


def _is_list(value: Any) -> bool:
    plain = type(value) is list or type(value) is tuple  # asking for the abstract classes takes a while
    return plain or (isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping))


def in_words(knob: Any) -> str:
    """A knob that is no data, as the tape names it: a function by its name, not by where it lies in memory.

    >>> in_words(len), in_words(described)
    ('builtins.len', 'motet.knobs.described')
    """
    name = getattr(knob, "__qualname__", None)
    return f"{knob.__module__}.{name}" if isinstance(name, str) else repr(knob)


def complaint(name: str, value: Any, kind: Any) -> str:
    """What is wrong with a value, as `NAME=VALUE: expected TYPE`; nothing when it fits.

    Of several, the first element that does not fit is named.

    >>> complaint("pages", ["Keys", None], Sequence[str])
    'pages[1]=None: expected a text'
    """
    if fits(value, kind):
        return ""
    for choice in get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,):
        for i, (part, of) in enumerate(_parts(value, choice) or ()):
            if said := complaint(f"{name}[{i}]", part, of):
                return said
    words = repr(value)
    words = words if len(words) <= SHOWN else f"{words[:SHOWN]}…"
    return f"{name}={words}: expected {described(kind)}"


def _parts(value: Any, kind: Any) -> list[tuple[Any, Any]] | None:
    """The elements of a list, each with its type; None where a value is not such a list at all."""
    if get_origin(kind) not in (Sequence, tuple) and kind not in (Sequence, tuple):
        return None
    if not _is_list(value):
        return None
    of = get_args(kind)
    if get_origin(kind) is tuple and of[-1] is not ...:
        return list(zip(value, of, strict=True)) if len(value) == len(of) else None
    return [(part, of[0] if of else Any) for part in value]


def described(kind: Any) -> str:
    """A type in words.

    >>> described(float | None), described(Sequence[str])
    ('a number or None', 'a list of which each is a text')
    """
    origin, of = get_origin(kind) or kind, get_args(kind)
    if origin in (Union, UnionType):
        return " or ".join(map(described, of))
    if origin is tuple and of and of[-1] is not ...:
        return f"a list of {len(of)}: " + ", ".join(map(described, of))
    if origin in (Sequence, tuple):
        return f"a list of which each is {described(of[0])}" if of else "a list"
    return WORDS.get(origin) or str(getattr(kind, "__name__", kind))
