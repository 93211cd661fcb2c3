"""One string names a model everywhere: in Python, on the command line, on the tape."""

import os
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from motet.errors import BadInput, UnknownName
from motet.models.protocol import Model

WEIGHTS = (".safetensors", ".gguf")


class Kind(NamedTuple):
    """A family of model names: how it is written, what it is, and how one is made.

    Those that are `shared` are made once a process, so that all voices keep one set of limits.
    """

    form: str
    about: str
    make: Callable[[str], Model]
    shared: bool = True


def _local(name: str) -> Model:
    from motet.models.embedded.model import Local

    return Local(name)


def _openai(name: str) -> Model:
    from motet.models.openai_api import openai_model
    from motet.models.wrappers.retry import Retry

    return Retry(openai_model(name.partition(":")[2]))


def _http(name: str) -> Model:
    from motet.models.openai_api import http_model
    from motet.models.wrappers.retry import Retry

    return Retry(http_model(name))


def _provider(name: str) -> Model:
    from motet.models.providers import provider_model
    from motet.models.wrappers.retry import Retry

    return Retry(provider_model(name))


def _scripted(name: str) -> Model:
    from motet.models.scripted import Scripted

    return Scripted.read(name.partition(":")[2])


def _sim(name: str) -> Model:
    from motet.models.sim import Sim

    return Sim.parse(name)


def _torch(name: str) -> Model:
    from motet.models.trainable.model import Torch

    return Torch(name.partition(":")[2])


def _kvcomm(name: str) -> Model:
    from motet.models.trainable.model import Torch
    from motet.models.trainable.reuse import KvPool

    return Torch(name.partition(":")[2], reuse=KvPool())


def _person(name: str) -> Model:
    from motet.models.person import Person

    return Person(name)


def _program(name: str) -> Model:
    from motet.models.program import Program

    return Program(name.partition(":")[2])


def _agent(name: str) -> Model:
    from motet.models.remote import RemoteAgent

    return _known(RemoteAgent, name.partition(":")[2], os.getenv("MOTET_AGENT_TOKEN", ""))


def _a2a(name: str) -> Model:
    from motet.models.a2a import A2A

    return _known(A2A, name.partition(":")[2], os.getenv("MOTET_AGENT_TOKEN", ""))


@lru_cache(maxsize=256)
def _known(make: Callable[..., Model], address: str, token: str) -> Model:
    """An agent elsewhere, made once for each token: one that is set later is shown from then on."""
    return make(address, token=token)


KINDS: dict[str, Kind] = {
    "local": Kind(
        "local, local:NAME, local:FILE.gguf, local:hf:REPO/FILE, local:BASE+ADAPTER.gguf",
        "the embedded engine",
        _local,
    ),
    "openai": Kind("openai:NAME", "OpenAI's own endpoint (OPENAI_API_KEY)", _openai),
    "http": Kind("http://HOST:PORT/v1#NAME", "any OpenAI-compatible server (MOTET_API_KEY)", _http),
    "https": Kind("https://HOST/v1#NAME", "the same, over TLS", _http),
    "scripted": Kind("scripted:FILE.jsonl", "replies from a file", _scripted, shared=False),
    "sim": Kind("sim:KEY=VALUE,…", "a simulated solver of known skill", _sim),
    "torch": Kind(
        "torch:FOLDER, torch:FILE.safetensors, torch:smollm2-135m, torch:tiny", "trainable weights", _torch
    ),
    "kvcomm": Kind(
        "kvcomm:NAME", "the same, with keys and values of shared texts computed once (KVCOMM)", _kvcomm
    ),
    "person": Kind("person", "somebody at the terminal", _person),
    "agent": Kind(
        "agent:http://HOST:PORT", "an agent in another process (MOTET_AGENT_TOKEN)", _agent, shared=False
    ),
    "a2a": Kind(
        "a2a:http://HOST:PORT", "an agent behind the A2A protocol (MOTET_AGENT_TOKEN)", _a2a, shared=False
    ),
    "program": Kind("program:COMMAND", "a program: the prompt on stdin, the reply on stdout", _program),
}
"""The families of names; any other PROVIDER:NAME goes to the provider library."""


def model(name: str) -> Model:
    """Make a model from its name.

    Raises:
        BadInput: the name has no such form. MissingExtra: its backend is not installed.

    >>> model("sim:skill=0.8").name
    'sim:skill=0.8'
    """
    family, colon, rest = name.partition(":")
    if kind := KINDS.get(family):
        if family not in ("local", "person") and not (colon and rest):
            raise BadInput(f"{name!r} is no model name; it is written {kind.form}")
        return _shared(kind.make, name, _written(rest)) if kind.shared else kind.make(name)
    if colon and rest:
        return _shared(_provider, name, 0)
    raise UnknownName("model", name, [*KINDS, "PROVIDER:NAME"])


@lru_cache(maxsize=256)
def _shared(make: Callable[[str], Model], name: str, written: int) -> Model:
    return make(name)


def _written(name: str) -> int:
    """When the weights in a file were written: those that were written over are another model."""
    try:
        return Path(name).stat().st_mtime_ns if name.endswith(WEIGHTS) else 0
    except OSError:
        return 0


def as_model(given: "Model | str | Callable[..., object]") -> Model:
    """A model from a name, a model, or a plain function of the messages (a rule)."""
    if isinstance(given, str):
        return model(given)
    if isinstance(given, Model):
        return given
    if callable(given):
        from motet.models.rule import Rule

        return Rule(given)
    raise BadInput(f"{given!r} is no model: expected a name, a model, or a function of the messages")
