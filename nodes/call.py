"""One call's way through the pipeline: argument file, gates, the tool itself, its effect, its result.

Blocking; dispatch runs it in a thread, one hop a call. A call that a crash cut short is taken up where the journal
says it stood.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ..graph.errors import (
    EffectUnknown,
    InvalidData,
    InvalidInput,
    RunCancelled,
    StorageFailed,
    ToolRefused,
    TreadleError,
)
from ..graph.events import Event, EventType, Level
from ..graph.jsontext import Json
from ..graph.messages import Finish, ModelResponse, ToolCall, ToolResult, tool_result
from ..graph.ports import Clock
from ..graph.status import RunStatus
from ..storage.folder import Change, Do, Enter, Log, Put, pretty
from ..storage.runs import PROMPT_SNAPSHOT
from . import approval
from .arguments.check import check_arguments
from .deps import Run
from .rounds import arguments_path, result_path
from .tool import Answer, Bench, CommitAsked, FileChange, LoopEnded, Tool, ToolOutcome


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a call stands, and what was spent before it."""

    round: int
    call: ToolCall
    answer: ModelResponse
    calls_made: int
    calls_per_tool: Mapping[str, int]
    commit_count: int
    approved: bool = False
    """A person was asked, and allowed it."""
    edited: Json = None
    """What a person put in the place of the model's arguments; None where nobody did."""

    @property
    def arguments(self) -> Json:
        """What the call runs with."""
        return self.call.arguments if self.edited is None else self.edited


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """The call waits for a person."""


@dataclass(frozen=True, slots=True)
class Dispatched:
    """How a call went: `outcome` is None where it was refused."""

    outcome: ToolOutcome | ApprovalAsked | None
    counted: bool
    """Whether it was started: refused calls don't count against the budgets."""


def dispatch(run: Run, seat: Seat, clock: Clock) -> Dispatched:
    """Run one call to its stored result (a commit: to its start), or to the question that a person must answer.

    Raises TreadleError for what ends the run, RunCancelled where a cancel came before the call was begun.
    """
    if _find(run, seat, EventType.TOOL_RESULT_STORED) is not None:
        return _taken_up(run, seat)
    began = clock.monotonic()
    try:
        _gate(run, seat)
        seat = with_decision(run, seat)
    except ToolRefused as refusal:
        _make(run, seat, *_refused(run, seat, refusal, began, clock, started=False))
        return Dispatched(None, counted=False)
    tool = run.tools[seat.call.name]
    waits = approval.needed(run.profile, tool.spec) and not seat.approved
    was_started = _find(run, seat, EventType.TOOL_CALL_STARTED) is not None
    if _works_at_once(tool) and not waits:
        # it plans nothing that the start must tell, so the start is told while it works
        _make(run, seat, *_opening(run, seat), *_started(run, seat))
    try:
        if was_started and tool.acts_outside and not tool.is_repeatable:
            raise _unknown_effect(seat)
        planned = _plan(run, seat, waits=waits)
    except ToolRefused as refusal:
        _make(run, seat, *_refused(run, seat, refusal, began, clock, started=True))
        return Dispatched(None, counted=True)
    except RunCancelled:
        run.folder.apply(_failed(seat, "the run was cancelled"))
        raise
    except TreadleError as error:
        run.folder.apply(*_opening(run, seat), *_started(run, seat), _failed(seat, str(error)))
        raise
    if isinstance(planned, ApprovalAsked):
        _make(run, seat, *_opening(run, seat), *_asking(seat))
        return Dispatched(planned, counted=False)
    try:
        _perform(run, seat, planned, began, clock)
    except (InvalidInput, InvalidData, StorageFailed) as error:
        if _find(run, seat, EventType.TOOL_CALL_STARTED) is not None:
            run.folder.apply(_failed(seat, str(error)))
        raise
    return Dispatched(planned, counted=True)


def with_decision(run: Run, seat: Seat) -> Seat:
    """The seat with what a person said of its call, if one was asked; raises ToolRefused where the person denied it."""
    decision = approval.decided(run, seat.round, seat.call.id)
    if decision is None:
        return seat
    if decision.type == EventType.TOOL_CALL_DENIED:
        raise approval.denial(seat.call, decision.payload)
    return replace(seat, approved=True, edited=approval.edited_arguments(run, seat.round, seat.call.id))


def bench(run: Run, commit_count: int) -> Bench:
    return Bench(
        workspace=run.workspace,
        profile=run.profile,
        reads=run.reads,
        commit_count=commit_count,
        chat=run.chat,
        chat_messages=run.folder.record.chat_head.message_count,
        snapshot=lambda: run.folder.read_json(PROMPT_SNAPSHOT),
        mcp=run.mcp,
        skills=run.skills,
        skill_spending=run.skill_spending,
    )


def result_changes(run: Run, seat: Seat, result: ToolResult, elapsed_ms: int) -> list[Change]:
    """T6 and T7: the result's file and the two events; the result is kept for the next request."""
    run.conversation.results[result.call_id] = result
    path = result_path(run, seat.round, result.call_id)
    return [
        Put(path, pretty(result.to_json())),
        Log(EventType.TOOL_RESULT_STORED, {"round": seat.round, "callId": result.call_id, "path": path}),
        _ended(seat, result, elapsed_ms),
    ]


def answered(call: ToolCall, answer: Answer) -> ToolResult:
    return ToolResult(call.id, call.name, answer.content, answer.structured, resource_refs=answer.resource_refs)


def refusal_result(call: ToolCall, refusal: ToolRefused) -> ToolResult:
    error = {"error": {"code": refusal.code, "message": refusal.message}}
    return ToolResult(call.id, call.name, refusal.message, error, is_error=True, error_code=refusal.code)


def elapsed_ms(began: float, clock: Clock) -> int:
    return round((clock.monotonic() - began) * 1000)


def _gate(run: Run, seat: Seat) -> None:
    """Why a call may not start, if it may not."""
    call, profile = seat.call, run.profile
    if seat.answer.finish is Finish.LENGTH:
        raise ToolRefused(
            "tool.invalid_arguments",
            "The answer was cut off at its length limit, so none of its calls was run. Send the calls again, shorter.",
        )
    if call.name not in run.tools:
        known = ", ".join(spec.model_name for spec in run.specs)
        raise ToolRefused("model.unknown_tool_call", f"There is no tool {call.model_name!r}. The tools are: {known}.")
    if call.name not in profile.visible_tools:
        raise ToolRefused("agent.tool_policy_denied", f"The profile does not allow {call.model_name}.")
    if seat.calls_made >= profile.max_calls_per_run:
        raise ToolRefused(
            "agent.tool_budget_exhausted", f"This run's {profile.max_calls_per_run} tool calls are used up."
        )
    limit = profile.max_calls_per_tool.get(call.name)
    if limit is not None and seat.calls_per_tool.get(call.name, 0) >= limit:
        raise ToolRefused("agent.tool_budget_exhausted", f"This run's {limit} calls of {call.model_name} are used up.")


def _plan(run: Run, seat: Seat, *, waits: bool) -> ToolOutcome | ApprovalAsked:
    """What the call comes to, or that a person must be asked: of a call that would be refused nobody is."""
    tool = run.tools[seat.call.name]
    if waits and _works_at_once(tool):
        check_arguments(tool, seat.arguments)
        return ApprovalAsked()  # it works where others plan, so it must not run yet
    planned = _planned(run, seat)
    if planned is None:
        check_arguments(tool, seat.arguments)
        planned = tool.run(seat.arguments, bench(run, seat.commit_count))
    return ApprovalAsked() if waits else planned


def _works_at_once(tool: Tool) -> bool:
    """Whether running it is all there is to the call, where others plan a change that is made after."""
    return tool.spec.annotations.read_only or tool.acts_outside


def _make(run: Run, seat: Seat, *changes: Change) -> None:
    """Make the changes; a call that was not begun before a cancel is not begun after it."""
    begun = _find(run, seat, EventType.TOOL_CALL_STARTED) is not None
    run.folder.apply(*changes, unless_cancelling=not begun)


def _find(run: Run, seat: Seat, event_type: EventType) -> Event | None:
    return run.folder.ledger.find(event_type, round=seat.round, callId=seat.call.id)


def _opening(run: Run, seat: Seat) -> list[Change]:
    """T1 and T2, unless they were made before."""
    if _find(run, seat, EventType.TOOL_CALL_REQUESTED) is not None:
        return []
    path = arguments_path(run, seat.round, seat.call.id)
    requested = {
        "round": seat.round,
        "callId": seat.call.id,
        "name": seat.call.name,
        "argumentsRef": path,
        "providerMetadata": seat.call.metadata,
    }
    return [Put(path, pretty(seat.call.arguments)), Log(EventType.TOOL_CALL_REQUESTED, requested)]


def _started(run: Run, seat: Seat, effect: dict[str, Json] | None = None) -> list[Change]:
    """T3 and T4; of a call that a person was asked about, T3 stands before the question."""
    started: dict[str, Json] = {"round": seat.round, "callId": seat.call.id, "name": seat.call.name}
    if effect is not None:
        started["effect"] = effect
    asked = _find(run, seat, EventType.TOOL_CALL_AWAITING_APPROVAL) is not None
    entered = Enter(RunStatus.DISPATCHING_TOOL, unless=(EventType.TOOL_CALL_STARTED, started))
    begun = Log(EventType.TOOL_CALL_STARTED, started)
    return [begun] if asked else [entered, begun]


def _asking(seat: Seat) -> list[Change]:
    """T3 and the question, in place of T4."""
    asked = approval.question(seat.round, seat.call.id, seat.call.name)
    return [
        Enter(RunStatus.DISPATCHING_TOOL, unless=(EventType.TOOL_CALL_AWAITING_APPROVAL, asked)),
        Log(EventType.TOOL_CALL_AWAITING_APPROVAL, asked),
    ]


def _ended(seat: Seat, result: ToolResult, elapsed: int) -> Log:
    payload = {
        "round": seat.round,
        "callId": result.call_id,
        "name": result.name,
        "isError": result.is_error,
        "errorCode": result.error_code,
        "message": result.content if result.is_error else None,
        "elapsedMs": elapsed,
        "resourceRefs": list(result.resource_refs),
    }
    if result.is_error:
        return Log(EventType.TOOL_CALL_FAILED, payload, Level.WARN)
    return Log(EventType.TOOL_CALL_COMPLETED, payload)


def _unknown_effect(seat: Seat) -> ToolRefused:
    return ToolRefused(
        "mcp.effect_unknown",
        f"A crash came between this call of {seat.call.model_name} and its answer. Whether it was carried out is not known, "
        "and it was not made again. Find out before you repeat it.",
    )


def _failed(seat: Seat, message: str) -> Log:
    """What ends the run: the short form, and no result."""
    failed = {"round": seat.round, "callId": seat.call.id, "name": seat.call.name, "message": message}
    return Log(EventType.TOOL_CALL_FAILED, failed, Level.ERROR)


def _refused(run: Run, seat: Seat, refusal: ToolRefused, began: float, clock: Clock, *, started: bool) -> list[Change]:
    result = refusal_result(seat.call, refusal)
    run.observe(seat.arguments, result, None)
    begun = _started(run, seat) if started else []
    return [*_opening(run, seat), *begun, *result_changes(run, seat, result, elapsed_ms(began, clock))]


def _perform(run: Run, seat: Seat, planned: ToolOutcome, began: float, clock: Clock) -> None:
    opening = _opening(run, seat)
    match planned:
        case CommitAsked():
            _make(run, seat, *opening, *_started(run, seat))
        case Answer() | LoopEnded():
            result = answered(seat.call, planned if isinstance(planned, Answer) else planned.answer)
            result_file, *told = result_changes(run, seat, result, elapsed_ms(began, clock))
            _make(run, seat, result_file, *opening, *_started(run, seat), *told)
            run.observe(seat.arguments, result, None)
        case FileChange():
            _change(run, seat, planned, opening, began, clock)


def _change(run: Run, seat: Seat, change: FileChange, opening: list[Change], began: float, clock: Clock) -> None:
    """Intent, effect, result. The result's file goes first: after a crash it is the plan that was being carried out.

    What the file held before is kept, if no checkpoint has it: a run can be rewound to before its first change.
    """
    result = answered(seat.call, change.answer)
    result_file, *told = result_changes(run, seat, result, elapsed_ms(began, clock))
    effect = {"path": change.path, "preSha256": change.pre_sha256, "postSha256": change.post_sha256}
    write = [] if _is_made(run, seat, change) else [Do(lambda: run.workspace.write_bytes(change.path, change.data))]
    _make(run, seat, *_kept_before(run, change), result_file, *opening, *_started(run, seat, effect), *write, *told)
    run.observe(seat.arguments, result, change.pre_sha256)


def _is_made(run: Run, seat: Seat, change: FileChange) -> bool:
    """Whether a crash came after the file was written: then it is not written again."""
    begun = _find(run, seat, EventType.TOOL_CALL_STARTED) is not None
    return begun and run.workspace.sha256(change.path) == change.post_sha256


def _kept_before(run: Run, change: FileChange) -> list[Change]:
    if change.pre_sha256 is None or run.checkpoints.keeps(change.pre_sha256):
        return []

    def keep() -> None:
        run.checkpoints.keep(change.path)

    return [Do(keep)]


def _taken_up(run: Run, seat: Seat) -> Dispatched:
    """The call's result is stored: nothing runs again, and only events that are missing are written."""
    result = tool_result(run.folder.read_json(result_path(run, seat.round, seat.call.id)))
    run.conversation.results[result.call_id] = result
    run.folder.apply(_ended(seat, result, 0))
    started = _find(run, seat, EventType.TOOL_CALL_STARTED)
    if result.is_error:
        return Dispatched(None, counted=started is not None)
    answer = Answer(result.content, result.structured, result.resource_refs)
    effect = started.payload.get("effect") if started is not None else None
    if effect is not None:
        return Dispatched(_made(seat, answer, effect), counted=True)
    if seat.call.name == "workspace.finish":
        return Dispatched(LoopEnded(answer), counted=True)
    return Dispatched(answer, counted=True)


def _planned(run: Run, seat: Seat) -> ToolOutcome | None:
    """A change that was journalled but whose result was not: made already, still to make, or past telling."""
    started = _find(run, seat, EventType.TOOL_CALL_STARTED)
    effect = started.payload.get("effect") if started is not None else None
    if effect is None:
        return None
    now = run.workspace.sha256(effect["path"])
    if now == effect["postSha256"]:
        stored = tool_result(run.folder.read_json(result_path(run, seat.round, seat.call.id)))
        return _made(seat, Answer(stored.content, stored.structured, stored.resource_refs), effect, run)
    if now == effect["preSha256"]:
        return None  # nothing was changed: the tool plans the same change again
    raise EffectUnknown(f"{effect['path']} is neither as it was before call {seat.call.id} nor as the call leaves it")


def _made(seat: Seat, answer: Answer, effect: dict[str, Json], run: Run | None = None) -> FileChange:
    """The change as planned, for a file that holds it already."""
    patched = seat.call.name == "workspace.apply_patch"
    return FileChange(
        path=effect["path"],
        pre_sha256=effect["preSha256"],
        post_sha256=effect["postSha256"],
        data=run.workspace.read_bytes(effect["path"]) if run is not None else b"",
        event=EventType.WORKSPACE_PATCH_APPLIED if patched else EventType.WORKSPACE_FILE_WRITTEN,
        payload=answer.structured,
        answer=answer,
    )
