"""Structured output: from a Python type or a JSON schema to a schema for the model, and back to data."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, cast

import msgspec

from motet.errors import BadInput, MissingExtra, SchemaMismatch

Shape = type | dict[str, Any]
"""A msgspec Struct, dataclass, TypedDict, pydantic model or any annotation, or a JSON schema as a dict."""

_FENCED = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)


def json_schema(shape: Shape) -> dict[str, Any]:
    """The JSON schema of a shape, with references inlined so that every backend takes it.

    A class gives the same dict each time: it is not to be changed.
    """
    if isinstance(shape, dict):
        return shape
    # Annotations that are equal may still list their words in another order, so only classes are remembered.
    return _schema_of_class(shape) if isinstance(shape, type) else _schema_of(shape)


def _schema_of(shape: Any) -> dict[str, Any]:
    if hasattr(shape, "model_json_schema"):
        schema: dict[str, Any] = shape.model_json_schema()
        return cast("dict[str, Any]", _inline(schema, schema.pop("$defs", {})))
    try:
        (schema,), parts = msgspec.json.schema_components([shape], ref_template="#/$defs/{name}")
    except TypeError as error:
        raise BadInput(f"schema={shape!r} has no JSON schema ({error}); give a type or a dict") from error
    return cast("dict[str, Any]", _inline(schema, parts))


_schema_of_class = lru_cache(maxsize=512)(_schema_of)


def _inline(schema: Any, parts: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline(item, parts) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline(parts[schema["$ref"].rpartition("/")[2]], parts)
    return {key: _inline(value, parts) for key, value in schema.items() if key != "discriminator"}


def parse(text: str, shape: Shape) -> Any:
    """Read data of the wanted shape out of a reply's text; code fences and words around it are forgiven.

    Raises:
        SchemaMismatch: says where the text departs from the schema.
    """
    last = SchemaMismatch(f"no JSON in {text[:200]!r}")
    for candidate in _candidates(text):
        try:
            return _decode(candidate, shape)
        except SchemaMismatch as error:
            last = error
    raise last


def _candidates(text: str) -> Iterator[str]:
    yield text.strip()
    for block in _FENCED.findall(text):
        yield block.strip()
    for opening, closing in ("{}", "[]"):
        first, last = text.find(opening), text.rfind(closing)
        if 0 <= first < last:
            yield text[first : last + 1]


def _decode(text: str, shape: Shape) -> Any:
    try:
        if isinstance(shape, dict):
            return _validated(json.loads(text), shape)
        if hasattr(shape, "model_validate_json"):
            return shape.model_validate_json(text)
        return msgspec.json.decode(text, type=shape)
    except ValueError as error:  # JSON, msgspec and pydantic errors are all ValueErrors
        raise SchemaMismatch(f"{text[:200]!r} does not fit the schema: {error}") from error


def _validated(data: Any, schema: dict[str, Any]) -> Any:
    try:
        import jsonschema
    except ImportError:
        raise MissingExtra("jsonschema", "tools") from None
    try:
        jsonschema.validate(data, schema)
    except jsonschema.ValidationError as error:
        raise SchemaMismatch(f"at {error.json_path}: {error.message}") from error
    return data
