"""What makes two teams the same: source, prompts, knobs and cast, as one hash."""

import inspect
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import msgspec

from motet.agent import Agent
from motet.tape.keys import digest
from motet.teams import Team


@lru_cache(maxsize=512)
def source_of(function: Callable[..., Any]) -> str:
    """The source text of a function; its byte code where there is no file (a REPL)."""
    function = inspect.unwrap(function)
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return function.__code__.co_code.hex()


def prompts_of(function: Callable[..., Any]) -> dict[str, str]:
    """The string constants that the function and its helpers name, by name."""
    found: dict[str, str] = {}
    for owner, name in _constants(function):
        text = owner.__globals__.get(name)
        if isinstance(text, str):
            key = name if found.get(name, text) == text else f"{owner.__module__}.{name}"
            found[key] = text
    return found


@lru_cache(maxsize=512)
def _constants(function: Callable[..., Any]) -> tuple[tuple[FunctionType, str], ...]:
    """The names in capitals that the function and its helpers use, each with who uses it."""
    owners: tuple[Any, ...] = (function, *_helpers(function))
    return tuple((owner, name) for owner in owners for name in _names(owner.__code__) if name.isupper())


@lru_cache(maxsize=512)
def _helpers(function: Callable[..., Any]) -> tuple[FunctionType, ...]:
    """The functions of its package that the function's body names, those of classes, and those they name."""
    package = function.__module__.rpartition(".")[0]
    found: dict[FunctionType, None] = {}
    waiting: list[Any] = [function]
    while waiting:
        owner = waiting.pop()
        for name in _names(owner.__code__):
            for helper in _functions(owner.__globals__.get(name)):
                home = helper.__module__
                near = home == function.__module__ or (package and home.rpartition(".")[0] == package)
                if near and helper is not function and helper not in found:
                    found[helper] = None
                    waiting.append(helper)
    return tuple(sorted(found, key=lambda f: (f.__module__, f.__qualname__)))


def _functions(named: object) -> list[FunctionType]:
    """What runs when something is used: a function, the methods of a class, the function of a team."""
    if isinstance(named, Team):
        named = named.function
    named = getattr(named, "__wrapped__", named)  # a function that remembers its results
    members = vars(named).values() if isinstance(named, type) else (named,)
    return [member for member in members if isinstance(member, FunctionType)]


@lru_cache(maxsize=512)
def _names(code: Any) -> list[str]:
    """The names that a piece of code and the functions within it use, sorted."""
    inner = (c for c in code.co_consts if inspect.iscode(c))
    return sorted({*code.co_names}.union(*(_names(c) for c in inner)))


def team_identity(team: "Team[...]") -> str:
    """Hash of source, prompts, knobs and cast."""
    function = team.function
    cast = {name: [_member(m) for m in members] for name, members in sorted(team.parts.items())}
    knobs = msgspec.to_builtins(dict(sorted(team.knobs.items())), enc_hook=_plain)
    return digest(_sources(function), prompts_of(function), knobs, cast)


@lru_cache(maxsize=512)
def _sources(function: Callable[..., Any]) -> msgspec.Raw:
    """The sources of the function and its helpers as a JSON list."""
    return msgspec.Raw(msgspec.json.encode([source_of(f) for f in (function, *_helpers(function))]))


def _plain(knob: Any) -> str:
    """A knob that is no data; a function is its source, since its address changes with every process."""
    return source_of(knob) if isinstance(inspect.unwrap(knob), FunctionType) else repr(knob)


def _member(member: "Agent | Team[...]") -> Any:
    if isinstance(member, Team):
        return team_identity(member)
    memory = type(member.memory).__name__ if member.memory else ""
    return [member.model.identity, member.instructions, member.sampling, memory]  # type: ignore[union-attr]
