"""Whether a value is of the type that a knob is annotated with."""

from collections.abc import Collection, Mapping, Sequence
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin

WORDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    NoneType: "None",
}


def fits(value: Any, kind: Any) -> bool:
    """Whether a value is of a type: numbers, texts, None, several of these, or one of several types.

    A whole number is a number, a truth value and NaN are none. Types other than these are not looked into.

    >>> fits(3, float), fits(True, int), fits("ab", Sequence[str]), fits([1, "a"], Sequence[int | str])
    (True, False, False, True)
    """
    match get_origin(kind) or kind:
        case x if x is int:
            return isinstance(value, Integral) and not isinstance(value, bool)
        case x if x is float:
            return isinstance(value, Real) and not isinstance(value, bool) and value == value
        case x if x in (str, bool, NoneType):
            return isinstance(value, x)
        case x if x in (Union, UnionType):
            return any(fits(value, one) for one in get_args(kind))
        case x if x in (Sequence, tuple):
            return _several(value, kind)
    return True


def _several(value: Any, kind: Any) -> bool:
    if not isinstance(value, Collection) or isinstance(value, str | bytes | Mapping):
        return False
    of = get_args(kind)
    if get_origin(kind) is tuple and of[-1] is not ...:
        return len(value) == len(of) and all(map(fits, value, of))
    return all(fits(one, of[0] if of else Any) for one in value)


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
