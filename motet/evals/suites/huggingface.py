"""Suites from the Hugging Face hub: `hf:DATASET[:split]?prompt=COL&target=COL`. Needs a network."""

from collections.abc import Mapping
from typing import Any

from motet.errors import BadInput, MissingExtra
from motet.evals.suites.files import FIELDS, read_rows
from motet.types import Task


def read_hub(place: str, options: Mapping[str, str]) -> tuple[Task, ...]:
    """Read a dataset of the hub.

    Args:
        place: `DATASET` or `DATASET:SPLIT`; the split is `test` unless told.
        options: which column is which field (`prompt`, `target`, `id`, `choices`, `tests`), and the `kind`
            of all items and the `config` of the dataset.

    Raises:
        MissingExtra: the package `datasets` is not installed.
        BadInput: there is no such dataset, split or column, or a row makes no task.
    """
    try:
        from datasets import load_dataset  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError as error:
        raise MissingExtra("datasets", "hf") from error
    dataset, _, split = place.partition(":")
    columns = {field: options.get(field, field) for field in FIELDS if field not in ("meta", "kind")}
    unknown = set(options) - set(columns) - {"kind", "config"}
    if unknown:
        raise BadInput(f"hf:{place}: unknown option {sorted(unknown)}; known: {[*columns, 'kind', 'config']}")
    try:
        rows = list(load_dataset(dataset, options.get("config"), split=split or "test"))
    except (OSError, ValueError) as error:
        raise BadInput(f"hf:{place} cannot be loaded: {error}") from error

    def fields(row: Mapping[str, Any]) -> dict[str, Any]:
        kind = {"kind": options["kind"]} if "kind" in options else {}
        named = {field: row[column] for field, column in columns.items() if column in row}
        missing = [column for field, column in columns.items() if field in options and column not in row]
        if missing:
            raise BadInput(f"hf:{place}: no column {missing}; the dataset has {sorted(row)}")
        return named | kind

    return read_rows(f"hf:{place}", ((f"row {i}", fields(row)) for i, row in enumerate(rows)))
