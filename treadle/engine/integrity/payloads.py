"""What an event must tell so that a run can be checked, resumed and read by it; other fields are not looked at."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from types import NoneType, UnionType

from ...graph.events import EventType
from ...graph.jsontext import is_object
from .journal_lines import Line
from .report import Finding

Kind = type | UnionType

_CALL: Mapping[str, Kind] = {"round": int, "callId": str, "name": str}
_COMMIT: Mapping[str, Kind] = {"commitId": str, "callId": str, "path": str, "mode": str}
_CHANGED: Mapping[str, Kind] = {"round": int, "callId": str, "path": str, "sha256": str}
_ATTEMPT: Mapping[str, Kind] = {"round": int, "attempt": int}
_TEXT: Kind = str | NoneType

_T = EventType
TOLD: dict[str, Mapping[str, Kind]] = {
    _T.RUN_CREATED: {"workspaceId": str, "stableChatId": str, "presentation": str},
    _T.PROFILE_RESOLVED: {"profileId": _TEXT},
    _T.STATUS_CHANGED: {"status": str},
    _T.WORKSPACE_INITIALIZED: {"workspaceId": str, "stableChatId": str},
    _T.CONTEXT_ASSEMBLED: {"request": dict, "maxRounds": int},
    _T.CONTEXT_TOOL_RESULT_HYDRATED: {"round": int, "callId": str, "path": str},
    _T.MODEL_REQUEST_CREATED: {"round": int},
    _T.MODEL_CALL_ATTEMPT_STARTED: _ATTEMPT,
    _T.MODEL_CALL_ATTEMPT_FAILED: _ATTEMPT,
    _T.MODEL_CALL_RETRY_SCHEDULED: {"round": int},
    _T.MODEL_RESPONSE_STORED: {"round": int, "path": str},
    _T.PROVIDER_STATE_UPDATED: {"round": int, "providerState": dict},
    _T.MODEL_COMPLETED: {"round": int, "modelResponsePath": str, "toolCallCount": int},
    _T.TOOL_CALL_REQUESTED: {**_CALL, "argumentsRef": str},
    _T.TOOL_CALL_STARTED: _CALL,
    _T.TOOL_RESULT_STORED: {"round": int, "callId": str, "path": str},
    _T.TOOL_CALL_COMPLETED: {**_CALL, "isError": bool, "resourceRefs": list},
    _T.TOOL_CALL_FAILED: {**_CALL, "message": str},
    _T.TOOL_CALL_AWAITING_APPROVAL: _CALL,
    _T.TOOL_CALL_APPROVED: _CALL,
    _T.TOOL_CALL_DENIED: _CALL,
    _T.WORKSPACE_FILE_WRITTEN: _CHANGED,
    _T.WORKSPACE_PATCH_APPLIED: _CHANGED,
    _T.CHECKPOINT_CREATED: {"checkpointId": str, "reason": str},
    _T.CHAT_COMMIT_STARTED: _COMMIT,
    _T.CHAT_COMMIT_REQUESTED: {**_COMMIT, "sha256": str, "checkpointId": str, "runId": str},
    _T.CHAT_COMMIT_COMPLETED: {**_COMMIT, "messageId": _TEXT},
    _T.CHAT_COMMIT_FAILED: _COMMIT,
    _T.CHAT_COMMIT_RECORDED: {
        "commitId": str, "commitCount": int, "path": str, "mode": str, "messageId": _TEXT, "round": int,
    },
    _T.AGENT_LOOP_FINISHED: {"commitCount": int},
    _T.RUN_PARTIAL_SUCCESS: {"preservedCommitCount": int},
    _T.PERSISTENT_CHANGES_COMMITTED: {"stateId": str, "changeCount": int, "changes": list},
    _T.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED: {"updateId": str, "messageId": _TEXT, "stateId": str},
    _T.PERSISTENT_STATE_METADATA_UPDATED: {"updateId": str, "messageId": _TEXT, "stateId": str},
    _T.PERSISTENT_STATE_METADATA_UPDATE_FAILED: {"updateId": str, "messageId": _TEXT, "stateId": str},
}  # fmt: skip
"""The fields, and the types that they may have."""

_EFFECT: Mapping[str, Kind] = {"path": str, "preSha256": _TEXT, "postSha256": str}
_REMEDY = "the line is damaged, or another program wrote it; put the journal back from a copy"


def misfit(line: Line) -> Generator[Finding]:
    """What the event does not tell."""
    event = line.event
    for key, kind in TOLD.get(event.type, {}).items():
        if not is_object(event.payload) or not _is(event.payload.get(key, ...), kind):
            yield _lacks(line, f"$.payload.{key}")
    if event.type == EventType.TOOL_CALL_STARTED and is_object(event.payload) and "effect" in event.payload:
        effect = event.payload["effect"]
        for key, kind in _EFFECT.items():
            if not is_object(effect) or not _is(effect.get(key, ...), kind):
                yield _lacks(line, f"$.payload.effect.{key}")
    edited = event.payload.get("editedArgumentsRef", "") if is_object(event.payload) else ""
    edited = event.payload.get("editedArgumentsRef", "") if is_object(event.payload) else ""
    if event.type == EventType.TOOL_CALL_APPROVED and not isinstance(edited, str):
        yield _lacks(line, "$.payload.editedArgumentsRef")


def _lacks(line: Line, path: str) -> Finding:
    return line.finding("what such an event tells", f"does not tell {path.rpartition('.')[2]}", _REMEDY, path)


def _is(value: object, kind: Kind) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, kind)
