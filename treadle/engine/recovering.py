"""Runs that a crash or a close left behind: which there are, and going on with all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

from ..graph.errors import InvalidData, InvalidInput, TreadleError
from ..graph.events import Event, EventType
from ..graph.jsontext import Json
from ..graph.status import RunStatus
from ..nodes.deps import in_thread
from ..storage.database import RunDatabase
from ..storage.journal_tail import last_event
from ..storage.runs import DATABASE, EVENTS, RunRecord
from .services import Services

Recovery = Literal["off", "list", "resume"]
"""What an engine does about interrupted runs when it is entered."""

WaitsFor = Literal["approval", "host_commit", "host_metadata"]

_WAITS: dict[str, WaitsFor] = {
    EventType.TOOL_CALL_AWAITING_APPROVAL: "approval",
    EventType.CHAT_COMMIT_REQUESTED: "host_commit",
    EventType.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED: "host_metadata",
}
_ABOUT_RESUMES = frozenset({EventType.RUN_RESUMED, EventType.JOURNAL_TAIL_REPAIRED})


@dataclass(frozen=True, slots=True)
class InterruptedRun:
    """A run that has not ended and that nobody drives. Of one whose files are damaged, what they still tell."""

    run_id: str
    workspace_id: str | None = None
    status: RunStatus | None = None
    updated_at: str | None = None
    """RFC 3339 UTC: when the status was entered."""
    last_seq: int | None = None
    """Of its last event, resumes not counted; None for a run that was killed before its first."""
    last_type: str | None = None
    waiting_for: WaitsFor | None = None
    """Whose answer it stands at: a person's on a call, or the chat host's on a commit or on the state it left behind."""
    resumed: bool = False
    """The engine goes on with it, or has found that its journal had the end already."""
    error: TreadleError | None = None
    """Why it can't be read, or was not resumed."""

    def to_json(self) -> dict[str, Json]:
        last = None if self.last_seq is None else {"seq": self.last_seq, "type": self.last_type}
        error = None if self.error is None else {"code": self.error.error_code, "message": self.error.message}
        return {
            "runId": self.run_id,
            "workspaceId": self.workspace_id,
            "status": None if self.status is None else str(self.status),
            "updatedAt": self.updated_at,
            "lastEvent": last,
            "waitingFor": self.waiting_for,
            "resumed": self.resumed,
            "error": error,
        }


def checked_recovery(given: Recovery) -> Recovery:
    """Raises InvalidInput for a word that is none of them."""
    if given not in get_args(Recovery):
        raise InvalidInput(f"recovery must be one of {', '.join(get_args(Recovery))}, not {given!r}")
    return given


async def recover(
    services: Services, resume: Callable[[str], Awaitable[object]] | None = None
) -> tuple[InterruptedRun, ...]:
    """The interrupted runs, those first that have waited longest; each resumed, where `resume` is given.

    What is wrong with one of them stands in its `error` and stops none of the others.
    """
    found = await in_thread(lambda: sorted(_interrupted(services), key=lambda run: (run.updated_at or "", run.run_id)))
    if resume is None:
        return tuple(found)
    return tuple([await _resumed(run, resume) for run in found])


async def _resumed(run: InterruptedRun, resume: Callable[[str], Awaitable[object]]) -> InterruptedRun:
    if run.error is not None:
        return run
    try:
        await resume(run.run_id)
    except TreadleError as error:
        return replace(run, error=error)
    return replace(run, resumed=True)


def _interrupted(services: Services) -> Iterator[InterruptedRun]:
    for run_id in services.store.names():
        record = None
        try:
            record = _unended(services, run_id)
            if record is not None and not _is_driven(services, record):
                yield _told(record, _last(services, record))
        except TreadleError as error:
            known = InterruptedRun(run_id) if record is None else _told(record, None)
            yield replace(known, error=error)


def _unended(services: Services, run_id: str) -> RunRecord | None:
    """The record of a run that has not ended. Most have, and of those only the index is read."""
    indexed = services.store.indexed(run_id)
    if indexed is None or indexed.status.is_terminal:
        return None
    if not services.store.folder(indexed).is_dir():
        raise InvalidData(f"the index names run {run_id}, but its folder is gone")
    record = services.store.load(run_id)
    return None if record.status.is_terminal else record


def _is_driven(services: Services, record: RunRecord) -> bool:
    database = RunDatabase(services.store.folder(record) / DATABASE, clock=services.clock)
    try:
        return database.lease() is not None
    finally:
        database.close()


def _last(services: Services, record: RunRecord) -> Event | None:
    return last_event(services.store.folder(record) / EVENTS, services.disk, skip=_ABOUT_RESUMES)


def _told(record: RunRecord, last: Event | None) -> InterruptedRun:
    return InterruptedRun(
        record.id,
        record.workspace_id,
        record.status,
        record.updated_at,
        None if last is None else last.seq,
        None if last is None else last.type,
        None if last is None else _WAITS.get(last.type),
    )
