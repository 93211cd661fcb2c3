"""What makes two teams the same: source, prompts, knobs and cast, as one hash."""

import inspect
from collections.abc import Callable
from functools import lru_cache
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
    found: dict[str, str] = {}
    for code_owner in (function, *_helpers(function)):
        names = _names(code_owner.__code__)
        module = code_owner.__globals__
        found |= {n: module[n] for n in sorted(names) if n.isupper() and isinstance(module.get(n), str)}
    return found


def _helpers(function: Callable[..., Any]) -> list[Callable[..., Any]]:
    """The plain functions of the same module that the body names."""
    module = function.__globals__
    named = (module.get(n) for n in sorted(_names(function.__code__)))
    return [f for f in named if inspect.isfunction(f) and f.__module__ == function.__module__]


@lru_cache(maxsize=512)
def _names(code: Any) -> set[str]:
    inner = (c for c in code.co_consts if inspect.iscode(c))
    return set(code.co_names).union(*(_names(c) for c in inner))


def team_identity(team: "Team[...]") -> str:
    """Hash of source, prompts, knobs and cast."""
    function = team.function
    sources = [source_of(f) for f in (function, *_helpers(function))]
    cast = {name: [_member(m) for m in members] for name, members in sorted(team.parts.items())}
    knobs = msgspec.to_builtins(dict(sorted(team.knobs.items())), enc_hook=repr)
    return digest(sources, prompts_of(function), knobs, cast)


def _member(member: "Agent | Team[...]") -> Any:
    if isinstance(member, Team):
        return team_identity(member)
    memory = type(member.memory).__name__ if member.memory else ""
    return [member.model.identity, member.instructions, member.sampling, memory]  # type: ignore[union-attr]
