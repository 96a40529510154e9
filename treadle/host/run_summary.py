"""A run in a few facts, gathered from its record, its journal and its files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ..graph.events import TERMINAL_EVENTS, Event, EventType
from ..graph.jsontext import Json
from ..graph.paths import ROOTS
from ..storage.runs import RunRecord
from ..views import own_events
from .ending import committed_message, failure


@dataclass(frozen=True, slots=True)
class Summary:
    record: RunRecord
    folder: Path
    events: int
    rounds: int
    attempts: int
    tool_calls: int
    refused_calls: int
    checkpoints: int
    commits: int
    message_id: str | None
    seconds: float
    files: tuple[str, ...]
    """What stands in the workspace, by path."""
    error: Json

    def to_json(self) -> dict[str, Json]:
        """The run record, and beside it the facts under their own names."""
        return {
            **self.record.to_json(),
            "runFolder": str(self.folder),
            "eventCount": self.events,
            "roundCount": self.rounds,
            "attemptCount": self.attempts,
            "toolCallCount": self.tool_calls,
            "refusedToolCallCount": self.refused_calls,
            "checkpointCount": self.checkpoints,
            "commitCount": self.commits,
            "messageId": self.message_id,
            "seconds": self.seconds,
            "files": list(self.files),
            "error": self.error,
        }


def summary(record: RunRecord, folder: Path, events: Sequence[Event]) -> Summary:
    def count(*types: EventType) -> int:
        return sum(event.type in types for event in events)

    return Summary(
        record=record,
        folder=folder,
        events=len(events),
        rounds=count(EventType.MODEL_REQUEST_CREATED),
        attempts=count(EventType.MODEL_CALL_ATTEMPT_STARTED),
        tool_calls=count(EventType.TOOL_CALL_COMPLETED, EventType.TOOL_CALL_FAILED),
        refused_calls=count(EventType.TOOL_CALL_FAILED),
        checkpoints=count(EventType.CHECKPOINT_CREATED),
        commits=sum(event.type == EventType.CHAT_COMMIT_COMPLETED for event in own_events(events)),
        message_id=committed_message(events),
        seconds=_seconds(own_events(events)),
        files=workspace_files(folder),
        error=failure(events),
    )


def workspace_files(folder: Path) -> tuple[str, ...]:
    """The paths of all files below the roots that a model may see."""
    found = (path for root in ROOTS for path in (folder / root).rglob("*") if path.is_file())
    return tuple(sorted(path.relative_to(folder).as_posix() for path in found))


def _seconds(events: Sequence[Event]) -> float:
    if not events:
        return 0.0
    end = next((event for event in events if event.type in TERMINAL_EVENTS), events[-1])  # a rollback may follow it
    first, last = (datetime.fromisoformat(event.timestamp) for event in (events[0], end))
    return round((last - first).total_seconds(), 3)
