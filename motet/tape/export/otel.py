"""OpenTelemetry spans by the semantic conventions for generative AI.

A run is a trace: `invoke_workflow` is its root, each call a `chat` span, each use of a tool an
`execute_tool` span. A link from a call to each call whose text it used keeps the flow of information.
Ids are hashes of Motet's own, so the same run always gives the same spans.
"""

from collections.abc import Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec

from motet.errors import MissingExtra, MotetError
from motet.tape.events import Called, Scored, ToolUsed
from motet.tape.tape import Tape
from motet.types import Failure, Media, Message, Part, Text, ToolCall, ToolResult

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Link, SpanContext, Status

PROVIDERS = {
    "azure": "azure.ai.inference",
    "azureopenai": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "vertexai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""The conventions' word for a family of model names, where it is not the same word."""


OURS = ("local", "scripted", "sim", "program", "team")
"""Families whose full name is the model's name."""


def to_otel(runs: Sequence[Tape]) -> str:
    """One line of OTLP JSON, as collectors read it from files and over HTTP."""
    from motet.tape.export.otlp import encode

    return encode([span for tape in runs for span in spans(tape)])


def send(runs: Sequence[Tape], exporter: "SpanExporter") -> None:
    """Hand the spans to an exporter of OpenTelemetry's.

    Raises:
        MotetError: the exporter says that it failed.
    """
    from opentelemetry.sdk.trace.export import SpanExportResult

    if exporter.export([span for tape in runs for span in spans(tape)]) is not SpanExportResult.SUCCESS:
        raise MotetError(f"{type(exporter).__name__} could not deliver the spans")


def spans(tape: Tape) -> "list[ReadableSpan]":
    """The spans of a run, the root first.

    Raises:
        MissingExtra: opentelemetry-sdk is not installed.
    """
    try:
        import opentelemetry.sdk.trace  # noqa: F401
    except ImportError:
        raise MissingExtra("opentelemetry-sdk", "export") from None
    made = _Spans(tape)
    return [made.run(), *map(made.call, tape.calls), *(made.tool(i, t) for i, t in enumerate(tape.tools))]


class _Spans:
    """Makes the spans of one tape."""

    def __init__(self, tape: Tape) -> None:
        self.tape = tape

    def run(self) -> "ReadableSpan":
        started, ended = self.tape.started, self.tape.ended
        usage = self.tape.usage()
        facts = {
            "gen_ai.operation.name": "invoke_workflow",
            "gen_ai.workflow.name": started.team,
            "gen_ai.conversation.id": self.tape.run,
            "gen_ai.input.messages": _messages([Message.say("user", started.task.prompt)]),
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "motet.seed": started.seed,
            "motet.team_id": started.team_id,
            **{f"motet.knob.{name}": str(value) for name, value in started.knobs.items()},
        }
        if ended and ended.answer is not None:
            facts["gen_ai.output.messages"] = _messages([Message.say("assistant", ended.answer)], "stop")
        return self._span(
            f"invoke_workflow {started.team}", "", facts,
            at=(started.at, ended.wall_s if ended else self._last() - started.at),
            failure=ended.failure if ended else None,
            links=ended.parents if ended else (),
            scores=[score for score in self.tape.scores if not score.call],
        )  # fmt: skip

    def _last(self) -> float:
        """When the last thing on the tape of an unfinished run was over."""
        return max(e.at + getattr(e, "latency_s", 0.0) for e in self.tape.events)

    def call(self, call: Called) -> "ReadableSpan":
        usage, sampling = call.usage, call.sampling
        path = self.tape.path(call.prompt)
        system = [part for m in path if m.role == "system" for part in m.parts]
        facts: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _provider(call.model),
            "gen_ai.request.model": _bare(call.model),
            "gen_ai.response.model": call.answered_by or _bare(call.model),
            "gen_ai.response.id": f"{self.tape.run}/{call.id}",
            "gen_ai.response.finish_reasons": (str(call.stop),),
            "gen_ai.agent.name": call.voice,
            "gen_ai.conversation.id": self.tape.run,
            "gen_ai.usage.input_tokens": usage.input_tokens,
            "gen_ai.usage.output_tokens": usage.output_tokens,
            "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
            "gen_ai.usage.reasoning.output_tokens": usage.reasoning_tokens,
            "gen_ai.request.temperature": sampling.temperature,
            "gen_ai.request.top_p": sampling.top_p,
            "gen_ai.request.top_k": sampling.top_k,
            "gen_ai.request.max_tokens": sampling.max_tokens,
            "gen_ai.request.seed": sampling.seed,
            "gen_ai.request.stop_sequences": sampling.stop or None,
            "gen_ai.system_instructions": _json([_part(p) for p in system]) if system else None,
            "gen_ai.input.messages": _messages([m for m in path if m.role != "system"]),
            "motet.cached": call.cached,
            "motet.cost_usd": call.cost,
        }
        if node := self.tape.nodes.get(call.node):
            facts["gen_ai.output.messages"] = _messages([Message(node.role, node.parts)], str(call.stop))
        return self._span(
            f"chat {_bare(call.model)}", call.id, facts, at=(call.at, 0.0 if call.cached else call.latency_s),
            failure=call.failure, links=call.parents,
            scores=[score for score in self.tape.scores if score.call == call.id],
        )  # fmt: skip

    def tool(self, number: int, tool: ToolUsed) -> "ReadableSpan":
        facts = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.type": "function",
            "gen_ai.tool.call.arguments": tool.arguments,
            "gen_ai.tool.call.result": tool.result,
            "gen_ai.agent.name": tool.voice,
        }
        return self._span(
            f"execute_tool {tool.name}", f"{tool.call}/tool/{number}", facts, at=(tool.at, tool.latency_s),
            failure=tool.failure, links=(tool.call,),
        )  # fmt: skip

    def _span(
        self,
        name: str,
        number: str,
        facts: dict[str, Any],
        *,
        at: tuple[float, float],
        failure: Failure | None,
        links: Sequence[str] = (),
        scores: Sequence[Scored] = (),
    ) -> "ReadableSpan":
        from opentelemetry.sdk.trace import Event, ReadableSpan
        from opentelemetry.trace import SpanKind

        start, end = (round(moment * 1e9) for moment in (at[0], sum(at)))
        if failure:
            facts["error.type"] = str(failure.kind)
        return ReadableSpan(
            name=name,
            context=_context(self.tape.run, number),
            parent=_context(self.tape.run, "") if number else None,
            resource=_resource(),
            attributes={key: value for key, value in facts.items() if value is not None},
            events=[Event("gen_ai.evaluation.result", _score(s), round(s.at * 1e9)) for s in scores],
            links=[self._link(parent) for parent in links],
            kind=SpanKind.CLIENT if name.startswith("chat ") else SpanKind.INTERNAL,
            status=_status(failure),
            start_time=start,
            end_time=end,
            instrumentation_scope=_scope(),
        )

    def _link(self, parent: str) -> "Link":
        from opentelemetry.trace import Link

        run, _, number = parent.rpartition("/")
        return Link(_context(run or self.tape.run, number), {"motet.link": "used"})


def _context(run: str, number: str) -> "SpanContext":
    from opentelemetry.trace import SpanContext, TraceFlags

    trace = int.from_bytes(blake2b(run.encode(), digest_size=16).digest())
    span = int.from_bytes(blake2b(f"{run}/{number}".encode(), digest_size=8).digest())
    return SpanContext(trace, span, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _status(failure: Failure | None) -> "Status":
    from opentelemetry.trace import Status, StatusCode

    return Status(StatusCode.ERROR, failure.message) if failure else Status(StatusCode.UNSET)


def _resource() -> Any:
    from opentelemetry.sdk.resources import Resource

    return Resource({"service.name": "motet"})


def _scope() -> Any:
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    from motet import __version__

    return InstrumentationScope("motet", __version__)


def _score(score: Scored) -> dict[str, Any]:
    return {
        "gen_ai.evaluation.name": score.scorer,
        "gen_ai.evaluation.score.value": score.value,
        "gen_ai.evaluation.explanation": score.detail,
    }


def _provider(model: str) -> str:
    family = model.partition(":")[0]
    return PROVIDERS.get(family, family)


def _bare(model: str) -> str:
    """The name as its server knows it, without what says where that is."""
    family, _, name = model.partition(":")
    if family in ("http", "https"):
        return model.rpartition("#")[2]
    return model if family in OURS or not name else name


def _messages(messages: Sequence[Message], finish: str = "") -> str:
    ending = {"finish_reason": finish} if finish else {}
    return _json([{"role": m.role, "parts": [_part(p) for p in m.parts], **ending} for m in messages])


def _part(part: Part) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "content": part.text}
        case ToolCall():
            return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
        case ToolResult():
            return {"type": "tool_call_response", "id": part.id, "response": part.text}
        case Media():
            return {
                "type": "file",
                "modality": part.kind,
                "mime_type": part.media_type,
                "file_id": part.digest,
            }


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()
