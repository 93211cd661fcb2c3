"""A log for Inspect (inspect_ai): each run is a sample, with its calls, tools and marks as events."""

from collections.abc import Sequence
from datetime import UTC, datetime
from statistics import fmean
from typing import TYPE_CHECKING

from motet.errors import BadInput, MissingExtra
from motet.tape.events import Called, Scored, ToolUsed
from motet.tape.export.arguments import read_arguments
from motet.tape.tape import Tape, total_cost
from motet.types import Media, Message, Part, StopReason, ToolResult, Usage

if TYPE_CHECKING:
    from inspect_ai.event import Event, ModelEvent, ScoreEvent, ToolEvent
    from inspect_ai.log import EvalLog, EvalSample, EvalScore
    from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

STOPS = {
    StopReason.END: "stop",
    StopReason.STOP: "stop",
    StopReason.LENGTH: "max_tokens",
    StopReason.TOOL_CALLS: "tool_calls",
    StopReason.FILTER: "content_filter",
    StopReason.ERROR: "unknown",
}


def to_inspect(runs: Sequence[Tape]) -> str:
    """The text of a log; in a file that ends in `.json`, Inspect's `read_eval_log` and viewer read it.

    Raises:
        MissingExtra: inspect-ai is not installed. BadInput: there are no runs.
    """
    return eval_log(runs).model_dump_json(indent=2, exclude_none=True) + "\n"


def eval_log(runs: Sequence[Tape]) -> "EvalLog":
    """The same as an object of Inspect's."""
    try:
        from inspect_ai.log import (
            EvalConfig,
            EvalDataset,
            EvalLog,
            EvalPlan,
            EvalResults,
            EvalSpec,
            EvalStats,
        )
    except ImportError:
        raise MissingExtra("inspect-ai", "export") from None
    if not runs:
        raise BadInput("a log of no runs cannot be written; name at least one")
    samples = [_sample(tape) for tape in runs]
    voices = dict.fromkeys(who for tape in runs for who in tape.started.voices.values())
    return EvalLog(
        status="success" if all(tape.ended for tape in runs) else "cancelled",
        eval=EvalSpec(
            created=_when(min(tape.started.at for tape in runs)),
            task="+".join(dict.fromkeys(tape.started.team for tape in runs)),
            dataset=EvalDataset(name="motet", samples=len(runs), sample_ids=[tape.run for tape in runs]),
            model=" + ".join(voices) or "none",
            config=EvalConfig(),
            packages={"motet": runs[0].started.motet},
        ),
        plan=EvalPlan(),
        results=EvalResults(
            total_samples=len(runs),
            completed_samples=sum(sample.error is None for sample in samples),
            scores=_means(runs),
        ),
        stats=EvalStats(
            started_at=_when(min(tape.started.at for tape in runs)),
            completed_at=_when(max(tape.events[-1].at for tape in runs)),
            model_usage=_usages([call for tape in runs for call in tape.calls], "model"),
        ),
        samples=samples,
    )


def _sample(tape: Tape) -> "EvalSample":
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ModelOutput

    started, ended = tape.started, tape.ended
    last = next((c for c in reversed(tape.calls) if c.node and (not ended or c.id in ended.parents)), None)
    error = None
    if ended and ended.failure:
        error = EvalError(message=str(ended.failure), traceback="", traceback_ansi="")
    return EvalSample(
        id=tape.run,
        epoch=1,
        input=started.task.prompt,
        choices=list(started.task.choices) or None,
        target=started.task.target or "",
        messages=[_message(m) for m in tape.path(last.node)] if last else [],
        output=ModelOutput.from_content(last.model if last else "none", (ended and ended.answer) or ""),
        scores={score.scorer: _score(score) for score in tape.scores if not score.call} or None,
        metadata={"method": started.team, "seed": started.seed, "item": started.task.id,
                  "voices": started.voices, "knobs": tape.knobs},
        events=_events(tape),
        model_usage=_usages(tape.calls, "model"),
        role_usage=_usages(tape.calls, "voice"),
        started_at=_when(started.at),
        completed_at=_when(ended.at) if ended else None,
        total_time=ended.wall_s if ended else None,
        error=error,
        uuid=tape.run,
    )  # fmt: skip


def _events(tape: Tape) -> "list[Event]":
    """The events in the order in which they began."""
    made: list[tuple[float, Event]] = []
    for event in tape.events:
        match event:
            case Called():
                made.append((event.at, _call(tape, event)))
            case ToolUsed():
                made.append((event.at, _tool(tape, event, len(made))))
            case Scored():
                made.append((event.at, _scored(tape, event)))
    return [event for _, event in sorted(made, key=lambda timed: timed[0])]


def _call(tape: Tape, call: Called) -> "ModelEvent":
    from inspect_ai.event import ModelEvent
    from inspect_ai.model import GenerateConfig

    sampling = call.sampling
    return ModelEvent(
        uuid=f"{tape.run}/{call.id}",
        timestamp=_moment(call.at),
        working_start=call.at - tape.started.at,
        working_time=call.latency_s,
        completed=_moment(call.at + call.latency_s * (not call.cached)),
        model=call.model,
        role=call.voice,
        input=[_message(m) for m in tape.path(call.prompt)],
        tools=[],
        tool_choice="auto",
        config=GenerateConfig(
            temperature=sampling.temperature, top_p=sampling.top_p, top_k=sampling.top_k,
            max_tokens=sampling.max_tokens, seed=sampling.seed, stop_seqs=list(sampling.stop) or None,
        ),
        output=_output(tape, call),
        error=str(call.failure) if call.failure else None,
        cache="read" if call.cached else None,
        metadata={"parents": list(call.parents), "key": call.key},
    )  # fmt: skip


def _output(tape: Tape, call: Called) -> "ModelOutput":
    from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput

    choices = []
    if node := tape.nodes.get(call.node):
        said = _message(Message("assistant", node.parts))
        assert isinstance(said, ChatMessageAssistant), "the role decides the class"
        choices = [ChatCompletionChoice(message=said, stop_reason=STOPS[call.stop])]  # type: ignore[arg-type]
    return ModelOutput(
        model=call.answered_by or call.model,
        choices=choices,
        usage=_usage(call.usage, call.cost),
        time=call.latency_s,
        error=str(call.failure) if call.failure else None,
    )


def _tool(tape: Tape, tool: ToolUsed, number: int) -> "ToolEvent":
    from inspect_ai.event import ToolEvent
    from inspect_ai.tool import ToolCallError

    return ToolEvent(
        uuid=f"{tape.run}/tool/{number}",
        timestamp=_moment(tool.at),
        working_start=tool.at - tape.started.at,
        working_time=tool.latency_s,
        completed=_moment(tool.at + tool.latency_s),
        id=f"{tool.call}/{number}",
        function=tool.name,
        arguments=read_arguments(tool.arguments),
        result=tool.result,
        error=ToolCallError("unknown", tool.failure.message) if tool.failure else None,
        agent=tool.voice,
    )


def _scored(tape: Tape, score: Scored) -> "ScoreEvent":
    from inspect_ai.event import ScoreEvent

    return ScoreEvent(
        timestamp=_moment(score.at),
        working_start=score.at - tape.started.at,
        score=_score(score),
        target=tape.started.task.target,
        scorer=score.scorer,
        intermediate=bool(score.call),
    )


def _score(score: Scored) -> "Score":
    from inspect_ai.scorer import Score

    return Score(value=score.value, explanation=score.detail or None)


def _message(message: Message) -> "ChatMessage":
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageTool, ChatMessageUser
    from inspect_ai.tool import ToolCall

    words = "\n".join(filter(None, map(_words, message.parts)))
    match message.role:
        case "system":
            return ChatMessageSystem(content=words)
        case "user":
            return ChatMessageUser(content=words)
        case "tool":
            result = next((p for p in message.parts if isinstance(p, ToolResult)), None)
            return ChatMessageTool(
                content=words,
                tool_call_id=result.id if result else None,
                function=result.name if result else None,
            )
        case "assistant":
            wanted = [ToolCall(c.id, c.name, read_arguments(c.arguments)) for c in message.tool_calls]
            return ChatMessageAssistant(content=words, tool_calls=wanted or None)


def _words(part: Part) -> str:
    if isinstance(part, Media):
        return f"[{part.kind} {part.media_type} {part.digest}]"
    return Message("user", (part,)).text


def _usages(calls: Sequence[Called], of: str) -> "dict[str, ModelUsage]":
    groups: dict[str, list[Called]] = {}
    for call in calls:
        groups.setdefault(getattr(call, of), []).append(call)
    return {
        name: _usage(sum((c.usage for c in group), Usage()), total_cost(group))
        for name, group in groups.items()
    }


def _usage(usage: Usage, cost: float | None) -> "ModelUsage":
    from inspect_ai.model import ModelUsage

    return ModelUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        total_tokens=usage.tokens,
        input_tokens_cache_read=usage.cached_tokens or None,
        reasoning_tokens=usage.reasoning_tokens or None,
        total_cost=cost,
    )


def _means(runs: Sequence[Tape]) -> "list[EvalScore]":
    """The mean mark by scorer, over the runs that it marked."""
    from inspect_ai.log import EvalMetric, EvalScore

    values: dict[str, list[float]] = {}
    for tape in runs:
        last = {score.scorer: score.value for score in tape.scores if not score.call}
        for scorer, value in last.items():
            values.setdefault(scorer, []).append(value)
    return [
        EvalScore(
            name=scorer, scorer=scorer, scored_samples=len(marks), unscored_samples=len(runs) - len(marks),
            metrics={"mean": EvalMetric(name="mean", value=fmean(marks))},
        )
        for scorer, marks in values.items()
    ]  # fmt: skip


def _moment(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _when(at: float) -> str:
    return _moment(at).isoformat()
