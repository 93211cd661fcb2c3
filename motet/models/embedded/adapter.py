"""LoRA adapters for the embedded engine: `local:BASE+ADAPTER.gguf`, as `motet.train.to_gguf` writes them."""

from pathlib import Path

from msgspec import Struct

from motet.errors import BadInput
from motet.models.weights import WHEELS, Weights, fingerprint, source_of

OF_BASE = "motet.base"
"""In an adapter: the hash of the weights that it was tuned on; in a model: that of its own weights."""
BASE_NAME = "motet.base_name"
"""What those weights are called after `torch:`."""

_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
_TEXT = 8


class Adapter(Struct, frozen=True):
    """An adapter's file, and the sha256 of its content."""

    path: Path
    sha256: str


def parted(name: str) -> tuple[str, str]:
    """The model's name without its adapter, and the adapter's file or "".

    >>> parted("local:smollm2-135m+tuned.gguf")
    ('local:smollm2-135m', 'tuned.gguf')
    >>> parted("local:a+b.gguf")
    ('local:a+b.gguf', '')
    """
    base, plus, file = name.rpartition("+")
    source = base.partition(":")[2]
    if plus and file.endswith(".gguf") and (source in WHEELS or source.endswith(".gguf")):
        return base, file
    return name, ""


def resolve_adapter(name: str, file: str, weights: Weights) -> Adapter:
    """Find an adapter and see that it belongs to the weights called `name`.

    The engine itself refuses one whose layers have other shapes; here one that would fit and was tuned on
    other weights is refused, as far as both files say whose they are.

    Raises:
        BadInput: there is no such file, it is no adapter, or it is of another base.
    """
    path = Path(file).expanduser()
    if not path.is_file():
        raise BadInput(f"there is no adapter {file!r}; expected a GGUF file written by adapter_gguf")
    told, source = header(path), source_of(name)
    if told.get("general.type") != "adapter":
        raise BadInput(f"{file!r} is no adapter (general.type is {told.get('general.type')!r})")
    wanted, called = told.get(OF_BASE), told.get(BASE_NAME)
    own = header(weights.path).get(OF_BASE)
    other = called not in (None, source) if source in WHEELS else bool(wanted and own and wanted != own)
    if other:
        raise BadInput(
            f"the adapter {file!r} was tuned on {called!r} ({wanted}), and {name} is other weights "
            f"({own or source}); use it with its own base: local:BASE+{file}"
        )
    return Adapter(path, fingerprint(path))


def refuse_adapter(name: str, weights: Weights) -> Weights:
    """The weights, if they are a model's and no adapter's.

    Raises:
        BadInput: they are an adapter, which runs only on its base; or the file is no GGUF.
    """
    told = header(weights.path)
    if told.get("general.type") != "adapter":
        return weights
    base, file = told.get(BASE_NAME, ""), source_of(name)
    called = base if base in WHEELS else "BASE"
    raise BadInput(
        f"{name!r} is an adapter (for a base of architecture {told.get('general.architecture')!r}"
        f"{f', {base}' * bool(base)}) and no whole model; name it with its base: local:{called}+{file}"
    )


def header(path: Path) -> dict[str, str]:
    """The texts at the beginning of a GGUF file, up to its first list; gguf's own reader takes seconds.

    Raises:
        BadInput: it is no GGUF file.
    """
    found: dict[str, str] = {}
    with path.open("rb") as file:

        def number(size: int = 8) -> int:
            return int.from_bytes(file.read(size), "little")

        def text() -> str:
            return file.read(min(number(), 1 << 16)).decode("utf-8", "replace")

        if file.read(4) != b"GGUF":
            raise BadInput(f"{str(path)!r} is no GGUF file")
        file.seek(16)
        for _ in range(number()):
            key, kind = text(), number(4)
            if kind == _TEXT:
                found[key] = text()
            elif kind in _SIZES:
                file.seek(_SIZES[kind], 1)
            else:
                break
    return found
