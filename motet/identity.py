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
    try:
        return inspect.getsource(function)
    except (OSError, TypeError):
        return function.__code__.co_code.hex()


def prompts_of(function: Callable[..., Any]) -> dict[str, str]:
    """The string constants of the function's module that its body names (and those it calls, one deep)."""
    module = function.__globals__
    owners = (function, *_helpers(function))
    named = [n for owner in owners for n in _names(owner.__code__) if n.isupper()]
    return {n: module[n] for n in named if isinstance(module.get(n), str)}


def _helpers(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The plain functions of the same module that the body names."""
    module = function.__globals__
    named = (module.get(n) for n in _names(function.__code__))
    return [f for f in named if isinstance(f, FunctionType) and f.__module__ == function.__module__]


@lru_cache(maxsize=512)
def _names(code: Any) -> list[str]:
    """The names that a piece of code and the functions within it use, sorted."""
    inner = (c for c in code.co_consts if inspect.iscode(c))
    return sorted({*code.co_names}.union(*(_names(c) for c in inner)))


def team_identity(team: "Team[...]") -> str:
    """Hash of source, prompts, knobs and cast."""
    function = team.function
    sources = [source_of(f) for f in (function, *_helpers(function))]
    cast = {name: [_member(m) for m in members] for name, members in sorted(team.parts.items())}
    knobs = msgspec.to_builtins(dict(sorted(team.knobs.items())), enc_hook=_plain)
    return digest(sources, prompts_of(function), knobs, cast)


def _plain(knob: Any) -> str:
    """A knob that is no data; a function is its source, since its address changes with every process."""
    return source_of(knob) if isinstance(knob, FunctionType) else repr(knob)


def _member(member: "Agent | Team[...]") -> Any:
    if isinstance(member, Team):
        return team_identity(member)
    memory = type(member.memory).__name__ if member.memory else ""
    return [member.model.identity, member.instructions, member.sampling, memory]  # type: ignore[union-attr]
