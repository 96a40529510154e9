"""The journal's vocabulary: event types, their levels, and the envelope."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .jsontext import Json


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class EventType(StrEnum):
    """Names are the contract (docs/events.md)."""

    RUN_CREATED = "run_created"
    PROFILE_RESOLVED = "profile_resolved"
    GENERATION_INTENT_RECORDED = "generation_intent_recorded"
    STATUS_CHANGED = "status_changed"
    WORKSPACE_INITIALIZED = "workspace_initialized"
    PERSISTENT_PROJECTION_INITIALIZED = "persistent_projection_initialized"
    CONTEXT_ASSEMBLED = "context_assembled"
    CONTEXT_TOOL_RESULT_HYDRATED = "context_tool_result_hydrated"
    MODEL_REQUEST_CREATED = "model_request_created"
    MODEL_CALL_ATTEMPT_STARTED = "model_call_attempt_started"
    MODEL_CALL_ATTEMPT_FAILED = "model_call_attempt_failed"
    MODEL_CALL_RETRY_SCHEDULED = "model_call_retry_scheduled"
    MODEL_RESPONSE_STORED = "model_response_stored"
    PROVIDER_SWITCHED = "provider_switched"
    PROVIDER_SESSION_REPLAYED = "provider_session_replayed"
    PROVIDER_STATE_UPDATED = "provider_state_updated"
    MODEL_COMPLETED = "model_completed"
    DRIFT_RECOVERY_ATTEMPTED = "drift_recovery_attempted"
    TOOL_CALL_REQUESTED = "tool_call_requested"
    TOOL_CALL_STARTED = "tool_call_started"
    TOOL_RESULT_STORED = "tool_result_stored"
    TOOL_CALL_COMPLETED = "tool_call_completed"
    TOOL_CALL_FAILED = "tool_call_failed"
    TOOL_CALL_AWAITING_APPROVAL = "tool_call_awaiting_approval"
    TOOL_CALL_APPROVED = "tool_call_approved"
    TOOL_CALL_DENIED = "tool_call_denied"
    WORKSPACE_FILE_WRITTEN = "workspace_file_written"
    WORKSPACE_PATCH_APPLIED = "workspace_patch_applied"
    CHECKPOINT_CREATED = "checkpoint_created"
    CHAT_COMMIT_STARTED = "chat_commit_started"
    CHAT_COMMIT_REQUESTED = "chat_commit_requested"
    CHAT_COMMIT_COMPLETED = "chat_commit_completed"
    CHAT_COMMIT_FAILED = "chat_commit_failed"
    CHAT_COMMIT_RECORDED = "chat_commit_recorded"
    AGENT_LOOP_FINISHED = "agent_loop_finished"
    PERSISTENT_CHANGES_COMMITTED = "persistent_changes_committed"
    PERSISTENT_CHANGES_COMMIT_FAILED = "persistent_changes_commit_failed"
    PERSISTENT_STATE_METADATA_UPDATE_REQUESTED = "persistent_state_metadata_update_requested"
    PERSISTENT_STATE_METADATA_UPDATED = "persistent_state_metadata_updated"
    PERSISTENT_STATE_METADATA_UPDATE_FAILED = "persistent_state_metadata_update_failed"
    RUN_RESUMED = "run_resumed"
    RUN_FORKED = "run_forked"
    RUN_CANCEL_REQUESTED = "run_cancel_requested"
    RUN_COMPLETED = "run_completed"
    RUN_PARTIAL_SUCCESS = "run_partial_success"
    RUN_FAILED = "run_failed"
    RUN_CANCELLED = "run_cancelled"
    WORKSPACE_ROLLBACK_STARTED = "workspace_rollback_started"
    WORKSPACE_ROLLBACK_COMPLETED = "workspace_rollback_completed"
    COMMITTED_MESSAGE_ROLLBACK_REQUESTED = "committed_message_rollback_requested"
    COMMITTED_MESSAGE_ROLLBACK_COMPLETED = "committed_message_rollback_completed"
    COMMITTED_MESSAGE_ROLLBACK_FAILED = "committed_message_rollback_failed"
    JOURNAL_TAIL_REPAIRED = "journal_tail_repaired"


TERMINAL_EVENTS = frozenset(
    {EventType.RUN_COMPLETED, EventType.RUN_PARTIAL_SUCCESS, EventType.RUN_FAILED, EventType.RUN_CANCELLED}
)

REWINDS = frozenset(
    {
        EventType.WORKSPACE_ROLLBACK_STARTED,
        EventType.WORKSPACE_ROLLBACK_COMPLETED,
        EventType.COMMITTED_MESSAGE_ROLLBACK_REQUESTED,
        EventType.COMMITTED_MESSAGE_ROLLBACK_COMPLETED,
        EventType.COMMITTED_MESSAGE_ROLLBACK_FAILED,
    }
)
"""What may be told of a run that has ended: that it was rewound. They change no status."""

_DEBUG = frozenset(
    {
        EventType.CONTEXT_TOOL_RESULT_HYDRATED,
        EventType.MODEL_CALL_ATTEMPT_STARTED,
        EventType.MODEL_RESPONSE_STORED,
        EventType.PROVIDER_SESSION_REPLAYED,
        EventType.PROVIDER_STATE_UPDATED,
        EventType.TOOL_RESULT_STORED,
    }
)
_WARN = frozenset(
    {
        EventType.MODEL_CALL_RETRY_SCHEDULED,
        EventType.DRIFT_RECOVERY_ATTEMPTED,
        EventType.RUN_PARTIAL_SUCCESS,
        EventType.JOURNAL_TAIL_REPAIRED,
    }
)
_ERROR = frozenset(
    {
        EventType.CHAT_COMMIT_FAILED,
        EventType.COMMITTED_MESSAGE_ROLLBACK_FAILED,
        EventType.PERSISTENT_CHANGES_COMMIT_FAILED,
        EventType.PERSISTENT_STATE_METADATA_UPDATE_FAILED,
        EventType.RUN_FAILED,
    }
)


def level_of(event_type: EventType) -> Level:
    """The level an event has unless its writer says otherwise (attempt and tool failures do)."""
    if event_type in _DEBUG:
        return Level.DEBUG
    if event_type in _WARN:
        return Level.WARN
    return Level.ERROR if event_type in _ERROR else Level.INFO


@dataclass(frozen=True, slots=True)
class Event:
    """One line of `events.jsonl`; `seq` starts at 1 and has no gaps."""

    seq: int
    id: str
    run_id: str
    timestamp: str
    level: str
    type: str
    payload: Json

    def to_json(self) -> dict[str, Json]:
        return {
            "seq": self.seq, "id": self.id, "runId": self.run_id, "timestamp": self.timestamp, "level": self.level,
            "type": self.type, "payload": self.payload,
        }  # fmt: skip


def event(stored: Json) -> Event:
    """An event read back from its line; raises KeyError or TypeError where it is none."""
    return Event(
        seq=stored["seq"], id=stored["id"], run_id=stored["runId"], timestamp=stored["timestamp"], level=stored["level"],
        type=stored["type"], payload=stored.get("payload"),
    )  # fmt: skip
