"""What the words of the command line mean: teams, voices, knobs, budgets."""

import inspect
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, get_args, get_type_hints

import msgspec

from motet.agent import Agent
from motet.budget import Budget
from motet.errors import BadInput, UnknownName
from motet.teams import Team


def find_team(name: str) -> Team[...]:
    """The method of this name, or the team NAME of `FILE.py:NAME` (`FILE.py` will do when it holds one team).

    Knobs may follow, as in `debate:n=3:r=1`. Teams whose runs builders of tuning data read (`motet tune`)
    have names too.

    Raises:
        UnknownName: there is no such method, team or knob. BadInput: the file cannot be loaded.
    """
    name, *settings = re.split(r":(?=\w+=)", name)
    return configure(_plain_team(name), settings)


def _plain_team(name: str) -> Team[...]:
    if name.endswith(".py"):
        path, attribute = name, ""
    else:
        path, _, attribute = name.rpartition(":")
    if path.endswith(".py"):
        return _team_in(_load(Path(path)), path, attribute)
    from motet.methods import METHODS

    if name in METHODS:
        return METHODS[name].team
    from motet.train.builders import COLLECTORS

    collectors = {team.name: team for team in COLLECTORS.values()}
    if name not in collectors:
        raise UnknownName("method", name, METHODS)
    return collectors[name]


def _load(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadInput(f"there is no file {str(path)!r}; a team of your own is written FILE.py:NAME")
    module_name = f"motet_file_{path.stem}"
    spec = spec_from_file_location(module_name, path)
    assert spec and spec.loader, f"{path} ends in .py"
    module = module_from_spec(spec)
    sys.modules[module_name] = module
    sys.path.insert(
        0, str(path.parent.absolute())
    )  # its neighbours can be imported, as with `python FILE.py`
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError) as error:
        raise BadInput(f"{path} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(str(path.parent.absolute()))
    return module


def _team_in(module: ModuleType, path: str, attribute: str) -> Team[...]:
    teams = {name: value for name, value in vars(module).items() if isinstance(value, Team)}
    if not attribute and len(teams) == 1:
        return next(iter(teams.values()))
    if not attribute:
        raise BadInput(f"{path} holds {', '.join(teams) or 'no team'}; say which: {path}:NAME")
    if attribute not in teams:
        raise UnknownName(f"team in {path}", attribute, teams)
    return teams[attribute]


def cast(team: Team[...], model: str | None, voices: Sequence[str], system: str = "") -> Team[...]:
    """The team with everybody cast.

    Args:
        model: who sings each voice that is not cast; `local` when left out.
        voices: `NAME=MODEL`; a name given several times makes a group.
        system: instructions of those that are cast here.

    Raises:
        BadInput: a pair is not NAME=MODEL, or a model's name is wrong. UnknownName: no such voice.
    """
    groups: dict[str, list[Agent]] = defaultdict(list)
    for given in voices:
        name, value = pair("voice", given, "NAME=MODEL")
        groups[name].append(Agent(value, system))
    team = team.cast(**{name: group[0] if len(group) == 1 else group for name, group in groups.items()})
    if all(voice in team.parts for voice in team.voices):
        return team
    return team.cast(Agent(model or "local", system))


def pair(option: str, given: str, form: str) -> tuple[str, str]:
    """The two sides of `NAME=VALUE`."""
    name, equals, value = given.partition("=")
    if not (name and equals and value):
        raise BadInput(f"--{option} is {given!r}; expected {form}")
    return name.strip(), value


def value_of(text: str) -> Any:
    """A number, true, false, a list or an object as JSON has them, or the text itself."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text


def configure(team: Team[...], settings: Sequence[str]) -> Team[...]:
    """The team with knobs set from `K=V`, each read by the knob's type.

    Raises:
        UnknownName: no such knob. BadInput: the value is not of its type.
    """
    knobs = dict(pair("set", given, "KNOB=VALUE") for given in settings)
    for name in knobs:
        if name not in team.knobs:
            raise UnknownName(f"knob of {team.name}", name, team.knobs)
    return team.configured(**{name: _read(team, name, value) for name, value in knobs.items()})


def _read(team: Team[...], knob: str, value: str) -> Any:
    default = inspect.signature(team.function).parameters[knob].default
    wanted = get_type_hints(team.function).get(knob) or (Any if default is None else type(default))
    try:
        return msgspec.convert(value, wanted, strict=False)
    except msgspec.ValidationError:
        pass
    try:
        decoded = value_of(value)
        _check_fields(f"{knob} of {team.name}", decoded, wanted)
        return msgspec.convert(decoded, wanted, strict=False, dec_hook=_from_file)
    except msgspec.ValidationError as error:
        problem = error
    raise BadInput(f"{knob} of {team.name} is {value!r}, its default is {default!r}: {problem}") from problem


def _from_file(kind: Any, value: Any) -> Any:
    """A knob that lives in a file: its type says how it is `kept_in` one."""
    if not (isinstance(value, str) and hasattr(kind, "kept_in")):
        raise TypeError(f"Expected `{kind.__name__}`, got `{type(value).__name__}`")
    return kind.kept_in(value)


def _check_fields(what: str, decoded: Any, wanted: Any) -> None:
    """A misspelt field of a struct would be left out in silence."""
    structs = [kind for kind in (get_args(wanted) or (wanted,)) if hasattr(kind, "__struct_fields__")]
    for name in decoded if structs and isinstance(decoded, dict) else ():
        known = [field for kind in structs for field in kind.__struct_encode_fields__]
        if name not in known:
            raise UnknownName(f"field of {what}", name, known)


def read_meta(given: Sequence[str]) -> dict[str, Any]:
    """What comes with a task, from `KEY=VALUE`: a value as JSON or as it is; `@FILE` for what the file holds
    (data, if it is JSON), `@FOLDER` for the texts in it.

    Raises:
        BadInput: the file cannot be read as text or, where its name says so, as JSON.
    """
    pairs = dict(pair("meta", one, "KEY=VALUE, KEY=@FILE or KEY=@FOLDER") for one in given)
    return {key: read(value[1:]) if value[0] == "@" else value_of(value) for key, value in pairs.items()}


def read(path: str) -> Any:
    """The text of a file, the data of a JSON file, or the texts of a folder's .md, .rst and .txt files.

    Raises:
        BadInput: it cannot be read so.
    """
    from motet.tools.search import SUFFIXES

    try:
        if Path(path).is_dir():
            files = sorted(file for file in Path(path).rglob("*") if file.suffix in SUFFIXES)
            return [file.read_text(encoding="utf-8") for file in files]
        text = Path(path).read_text(encoding="utf-8")
        return msgspec.json.decode(text) if path.endswith(".json") else text
    except (OSError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise BadInput(f"@{path} cannot be read: {error}") from error


def read_budget(given: str) -> Budget:
    """A budget from `tokens=2000,calls=10`.

    Raises:
        UnknownName: there is no such limit. BadInput: the value is no number, or less than 0.
    """
    limits = dict(
        pair("budget", part, "tokens=N,calls=N,money=DOLLARS,seconds=N") for part in given.split(",")
    )
    for name in limits:
        if name not in Budget.__struct_fields__:
            raise UnknownName("limit of a budget", name, Budget.__struct_fields__)
    try:
        return msgspec.convert({k: v.replace("_", "") for k, v in limits.items()}, Budget, strict=False)
    except msgspec.ValidationError as error:
        raise BadInput(f"--budget is {given!r}; expected numbers, as in tokens=2000,money=0.5") from error
