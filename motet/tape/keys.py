"""Hashes: what makes two messages, two requests or two teams the same."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import msgspec

from motet.types import Media, Message, Part, Sampling, Text

_encode = msgspec.json.Encoder(order="deterministic").encode


def digest(*fields: Any) -> str:
    """Hash anything that has a JSON form; 32 hexadecimal digits."""
    return blake2b(_encode(fields), digest_size=16).hexdigest()


def without_bytes(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts as they lie on the tape: media by their hash alone."""
    if len(parts) == 1 and type(parts[0]) is Text:
        return parts
    return tuple(
        msgspec.structs.replace(p, data=None) if isinstance(p, Media) and p.data is not None else p
        for p in parts
    )


def node_key(parent: str, message: Message, ids: Sequence[int] = ()) -> str:
    """Key of a message below `parent`. Equal texts that were sampled as different ids stay apart."""
    return blake2b(
        _encode((parent, message.role, without_bytes(message.parts), ids)), digest_size=16
    ).hexdigest()


def request_key(identity: str, prompt: str, sampling: Sampling, seed: int) -> str:
    """Key of a request: the model, the node it continues, the sampling and the run's seed."""
    return blake2b(_encode((identity, prompt, sampling, seed)), digest_size=16).hexdigest()


def sample_key(request: str, index: int) -> str:
    """Key of the `index`-th sample of a request: cache key, resume key and re-run key in one."""
    return f"{request}/{index}"
