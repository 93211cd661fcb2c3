"""The arguments of a tool call as an object, for formats that want one."""

from typing import Any

import msgspec


def read_arguments(written: str) -> dict[str, Any]:
    """What a model wrote as a JSON object; under the one key `arguments` when it is none."""
    try:
        return msgspec.json.decode(written or "{}", type=dict[str, Any])
    except msgspec.DecodeError:
        return {"arguments": written}
