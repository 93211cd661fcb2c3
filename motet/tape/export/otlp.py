"""OTLP's JSON form of spans: hexadecimal ids, 64-bit integers as strings, values with their type."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan

KINDS = {"INTERNAL": 1, "SERVER": 2, "CLIENT": 3, "PRODUCER": 4, "CONSUMER": 5}


def encode(spans: "Sequence[ReadableSpan]") -> str:
    """A request of the trace service (`resourceSpans`), on one line with its line end."""
    if not spans:
        return '{"resourceSpans":[]}\n'
    scope = spans[0].instrumentation_scope
    assert scope is not None, "motet names its scope"
    request = {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes(spans[0].resource.attributes)},
                "scopeSpans": [
                    {
                        "scope": {"name": scope.name, "version": scope.version},
                        "spans": [_span(span) for span in spans],
                    }
                ],
            }
        ]
    }
    return msgspec.json.encode(request).decode() + "\n"


def _span(span: "ReadableSpan") -> dict[str, Any]:
    context = span.get_span_context()
    assert context is not None, "motet gives every span a context"
    made: dict[str, Any] = {
        "traceId": f"{context.trace_id:032x}",
        "spanId": f"{context.span_id:016x}",
        "name": span.name,
        "kind": KINDS[span.kind.name],
        "startTimeUnixNano": str(span.start_time),
        "endTimeUnixNano": str(span.end_time),
        "attributes": _attributes(span.attributes or {}),
        "events": [
            {"timeUnixNano": str(e.timestamp), "name": e.name, "attributes": _attributes(e.attributes or {})}
            for e in span.events
        ],
        "links": [
            {
                "traceId": f"{link.context.trace_id:032x}",
                "spanId": f"{link.context.span_id:016x}",
                "attributes": _attributes(link.attributes or {}),
            }
            for link in span.links
        ],
        "status": {"code": span.status.status_code.value},
    }
    if span.status.description:
        made["status"]["message"] = span.status.description
    if span.parent:
        made["parentSpanId"] = f"{span.parent.span_id:016x}"
    return made


def _attributes(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case str():
            return {"stringValue": value}
    return {"arrayValue": {"values": [_value(item) for item in value]}}
