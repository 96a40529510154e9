"""What must come before what in a journal: an intent before its effect, an effect before its result, one end."""

from __future__ import annotations

from collections.abc import Generator, Mapping

from ...graph.events import REWINDS, TERMINAL_EVENTS, EventType
from ...graph.jsontext import Json, is_object
from ...graph.status import STATUS_OF_END, RunStatus, StatusRefused, follow
from ...storage.database_glance import Glance
from ...storage.ledger import key_of
from .evidence import Evidence
from .report import Finding

_T = EventType
_CALL = ("round", "callId")

_REQUESTED, _STARTED = (_T.TOOL_CALL_REQUESTED, _CALL), (_T.TOOL_CALL_STARTED, _CALL)
_STORED, _ANSWERED = (_T.TOOL_RESULT_STORED, _CALL), (_T.MODEL_RESPONSE_STORED, ("round",))
_ASKED = (_T.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED, ("updateId",))

Need = tuple[EventType, tuple[str, ...]]

NEEDS: Mapping[str, tuple[Need, ...]] = {
    _T.MODEL_CALL_ATTEMPT_STARTED: ((_T.MODEL_REQUEST_CREATED, ("round",)),),
    _T.MODEL_CALL_ATTEMPT_FAILED: ((_T.MODEL_CALL_ATTEMPT_STARTED, ("round", "attempt")),),
    _T.MODEL_CALL_RETRY_SCHEDULED: ((_T.MODEL_CALL_ATTEMPT_FAILED, ("round",)),),
    _T.MODEL_RESPONSE_STORED: ((_T.MODEL_CALL_ATTEMPT_STARTED, ("round",)),),
    _T.PROVIDER_STATE_UPDATED: (_ANSWERED,),
    _T.MODEL_COMPLETED: (_ANSWERED,),
    _T.TOOL_CALL_REQUESTED: ((_T.MODEL_COMPLETED, ("round",)),),
    _T.TOOL_CALL_AWAITING_APPROVAL: (_REQUESTED,),
    _T.TOOL_CALL_APPROVED: ((_T.TOOL_CALL_AWAITING_APPROVAL, _CALL),),
    _T.TOOL_CALL_DENIED: ((_T.TOOL_CALL_AWAITING_APPROVAL, _CALL),),
    _T.TOOL_CALL_STARTED: (_REQUESTED,),
    _T.TOOL_RESULT_STORED: (_REQUESTED,),
    _T.TOOL_CALL_COMPLETED: (_STARTED, _STORED),
    _T.TOOL_CALL_FAILED: (_REQUESTED,),
    _T.WORKSPACE_FILE_WRITTEN: (_STARTED, _STORED),
    _T.WORKSPACE_PATCH_APPLIED: (_STARTED, _STORED),
    _T.CONTEXT_TOOL_RESULT_HYDRATED: (_STORED,),
    _T.CHAT_COMMIT_STARTED: ((_T.TOOL_CALL_STARTED, ("callId",)),),
    _T.CHAT_COMMIT_REQUESTED: ((_T.CHAT_COMMIT_STARTED, ("commitId", "callId", "path", "mode")),),
    _T.CHAT_COMMIT_COMPLETED: ((_T.CHAT_COMMIT_REQUESTED, ("commitId", "callId", "path", "mode")),),
    _T.CHAT_COMMIT_FAILED: ((_T.CHAT_COMMIT_REQUESTED, ("commitId", "callId", "path", "mode")),),
    _T.CHAT_COMMIT_RECORDED: ((_T.CHAT_COMMIT_COMPLETED, ("commitId", "path", "mode", "messageId")),),
    _T.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED: ((_T.PERSISTENT_CHANGES_COMMITTED, ("stateId",)),),
    _T.PERSISTENT_STATE_METADATA_UPDATED: (_ASKED,),
    _T.PERSISTENT_STATE_METADATA_UPDATE_FAILED: (_ASKED,),
}  # fmt: skip
"""The events that must stand before one, each with the fields in which both agree."""

_MAY_FOLLOW_THE_END = REWINDS | {EventType.JOURNAL_TAIL_REPAIRED}
_LOST = "events were lost or moved; put the journal back from a copy, or keep the run as evidence"


def order(evidence: Evidence) -> Generator[Finding]:
    yield from _beginning(evidence)
    yield from _intents(evidence)
    yield from _statuses(evidence)
    yield from _end(evidence)


def _beginning(evidence: Evidence) -> Generator[Finding]:
    for line in evidence.lines[:1]:
        if line.event.seq == 1 and line.event.type != EventType.RUN_CREATED:
            yield line.finding("run_created as the first event", "stands there", _LOST)


def _intents(evidence: Evidence) -> Generator[Finding]:
    """Every result after its intent, and nothing told twice that happens once."""
    seen: set[tuple[object, ...]] = set()
    once: set[tuple[object, ...]] = set()
    for line in evidence.lines:
        event = line.event
        key = key_of(event.type, event.payload)
        if key is not None and key in once:
            yield line.finding("each effect told once", "tells again what an earlier event tells", _LOST)
        if key is not None:
            once.add(key)
        for earlier, fields in NEEDS.get(event.type, ()):
            if (str(earlier), *_values(event.payload, fields)) not in seen:
                yield line.finding(f"{earlier} of the same {', '.join(fields)} before it", "comes without", _LOST)
        seen.update(_offered(event.type, event.payload))


def _offered(event_type: str, payload: Json) -> Generator[tuple[object, ...]]:
    """What later events may need of this one."""
    for fields in _FIELDS.get(event_type, ()):
        yield event_type, *_values(payload, fields)


def _values(payload: Json, fields: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(str(payload.get(field)) for field in fields) if is_object(payload) else ()


_FIELDS: Mapping[str, frozenset[tuple[str, ...]]] = {
    str(earlier): frozenset(fields for needs in NEEDS.values() for other, fields in needs if other is earlier)
    for needs in NEEDS.values()
    for earlier, _ in needs
}


def _statuses(evidence: Evidence) -> Generator[Finding]:
    """The order of the machine; a resumed run may enter its step's status from any that is not an end."""
    current, resumed = RunStatus.CREATED, False
    elsewhere = isinstance(evidence.database, Glance) and evidence.database.newest_state is None
    for line in evidence.lines:
        event = line.event
        if event.type == EventType.RUN_RESUMED:
            resumed = True
        elif event.type == EventType.STATUS_CHANGED:
            wanted = _STATUSES.get(event.payload["status"])
            if wanted is None:
                yield line.finding("a status that there is", f"tells {event.payload['status']!r}", _LOST)
                continue
            # a graph of somebody else's goes on without a word of it in the journal
            fault = _refused(current, wanted, resumed=resumed or elsewhere)
            if fault:
                yield line.finding("a status that may follow the one before it", f"tells that {fault}", _LOST)
            current, resumed = wanted, False


_STATUSES = {str(status): status for status in RunStatus}


def _refused(current: RunStatus, wanted: RunStatus, *, resumed: bool) -> str | None:
    try:
        return None if follow(current, wanted, resumed=resumed) else f"a run that is {current} becomes {wanted}"
    except StatusRefused as refused:
        return refused.message


def _end(evidence: Evidence) -> Generator[Finding]:
    end = evidence.end
    if end is None:
        return
    for line in evidence.lines:
        event = line.event
        if event.seq <= end.event.seq:
            continue
        if event.type in TERMINAL_EVENTS:
            yield line.finding("one terminal event", f"is a second one, after event {end.event.seq}", _LOST)
        elif event.type not in _MAY_FOLLOW_THE_END:
            yield line.finding("nothing of the run after its terminal event", "comes after the end", _LOST)
    told = [line for line in evidence.of(EventType.STATUS_CHANGED) if line.event.seq < end.event.seq]
    status = STATUS_OF_END[EventType(end.event.type)]
    if not told or told[-1].event.payload["status"] != status:
        yield end.finding(f"the status {status} told before it", "comes without", _LOST)
