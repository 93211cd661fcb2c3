"""Tapes in the formats of other tools: one small file per format."""

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from motet.errors import MotetError, UnknownName
from motet.tape.export.adp import to_adp
from motet.tape.export.inspect import to_inspect
from motet.tape.export.jsonl import import_jsonl, to_jsonl
from motet.tape.export.openrlhf import to_openrlhf
from motet.tape.export.otel import to_otel
from motet.tape.export.trl import to_trl_dpo, to_trl_kto, to_trl_sft
from motet.tape.export.verifiers import to_verifiers
from motet.tape.export.verl import to_verl
from motet.tape.tape import Tape

__all__ = ["EXPORTERS", "Exporter", "export", "import_jsonl", "write"]

Exporter = Callable[[Sequence[Tape]], str]
"""Runs in, the text of a file out."""

EXPORTERS: dict[str, Exporter] = {
    "adp": to_adp,
    "inspect": to_inspect,
    "jsonl": to_jsonl,
    "openrlhf": to_openrlhf,
    "otel": to_otel,
    "trl-dpo": to_trl_dpo,
    "trl-kto": to_trl_kto,
    "trl-sft": to_trl_sft,
    "verifiers": to_verifiers,
    "verl": to_verl,
}


def export(runs: Sequence[Tape], to: str, out: str | Path | None = None) -> str:
    """Write runs in the format of another tool. Media are named by their digest; their bytes stay here.

    Args:
        runs: tapes, such as `store.load("last")` or `run.tape`.
        to: a key of `EXPORTERS`.
        out: the file to write, whole or not at all; its folder is made.

    Returns:
        The text of the file.

    Raises:
        UnknownName: there is no such format. MissingExtra: it needs a package that is not installed.
        MotetError: the file cannot be written.
    """
    if to not in EXPORTERS:
        raise UnknownName("format", to, EXPORTERS)
    text = EXPORTERS[to](runs)
    if out is not None:
        write(Path(out), text)
    return text


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all; its folder is made.

    Raises:
        MotetError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            Path(scratch).replace(path)
        except BaseException:
            Path(scratch).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise MotetError(f"cannot write {path}: {error.strerror}") from error
