"""A run's record: the same in its folder and in the index, and as its journal tells it."""

from __future__ import annotations

from collections.abc import Generator

from ...graph.errors import NotFound, TreadleError
from ...graph.events import EventType
from ...graph.identity import workspace_id
from ...graph.jsontext import Json
from ...graph.status import FOLLOWERS, STATUS_OF_END, RunStatus
from ...storage.runs import EVENTS, RunRecord
from .evidence import RECORD, Evidence, read_file
from .report import Finding

_DOCTOR = "treadle doctor --repair"
_GO_ON = "treadle resume RUN goes on from the journal"
_COPY = "the record is damaged; put it back from a copy"


def record(evidence: Evidence) -> Generator[Finding]:
    held = evidence.record
    yield from _index(evidence)
    if isinstance(held, TreadleError):
        yield Finding(RECORD, "the run's record", held.message, "put it back from the index copy: index/runs/RUN.json")
        return
    yield from _identity(evidence, held)
    yield from _as_begun(evidence, held)
    if not evidence.under_way:
        yield from _status(evidence, held)


def _index(evidence: Evidence) -> Generator[Finding]:
    """Both are written from the same bytes, `run.json` first."""
    name = f"index/runs/{evidence.run_id}.json"
    try:
        copy = read_file(evidence.services, evidence.services.store.root / name, name)
        own = evidence.read(RECORD)
    except NotFound as error:
        yield Finding(name, "a copy of run.json", error.message, _DOCTOR)
        return
    if copy != own and not evidence.under_way:
        yield Finding(name, "the bytes of run.json", "others", f"{_DOCTOR} makes it again from run.json")


def _identity(evidence: Evidence, held: RunRecord) -> Generator[Finding]:
    rows: tuple[tuple[str, Json, Json], ...] = (
        ("$.id", evidence.run_id, held.id),
        ("$.workspaceId", evidence.folder.parent.parent.name, held.workspace_id),
        ("$.workspaceId", workspace_id(held.chat_ref.kind, held.stable_chat_id), held.workspace_id),
    )
    for path, expected, found in rows:
        if expected != found:
            yield Finding(RECORD, repr(expected), repr(found), _COPY, path=path)


def _as_begun(evidence: Evidence, held: RunRecord) -> Generator[Finding]:
    """What the first events tell of the run is what its record says."""
    kept: dict[str, Json] = {
        "workspaceId": held.workspace_id,
        "stableChatId": held.stable_chat_id,
        "persistBaseStateId": held.persist_base_state_id,
        "presentation": held.presentation,
        "profileId": held.profile_id,
    }
    for line in evidence.of(EventType.RUN_CREATED, EventType.PROFILE_RESOLVED, EventType.WORKSPACE_INITIALIZED):
        told: dict[str, Json] = line.event.payload
        for key in kept.keys() & told.keys():
            if told[key] != kept[key]:
                yield line.finding(
                    f"{kept[key]!r}, as {RECORD} has it", f"tells {told[key]!r}", path=f"$.payload.{key}"
                )


def _status(evidence: Evidence, held: RunRecord) -> Generator[Finding]:
    """A run that nobody drives: its record is where its journal is, or one status ahead of it."""
    statuses = {str(status): status for status in RunStatus}
    told = [statuses.get(line.event.payload["status"]) for line in evidence.of(EventType.STATUS_CHANGED)]
    reached = next((status for status in reversed(told) if status is not None), RunStatus.CREATED)
    if evidence.end is not None:
        ended = STATUS_OF_END[EventType(evidence.end.event.type)]
        if held.status is not ended:
            yield Finding(RECORD, f"{ended}, as the journal ends", str(held.status), _DOCTOR, path="$.status")
    elif held.status.is_terminal:
        where = f"{held.status}, and {EVENTS} has no terminal event"
        remedy = "the journal could not be written at the run's end, or lost its last lines; keep the run as evidence"
        yield Finding(RECORD, "a terminal event for a terminal status", where, remedy, path="$.status")
    elif held.status is not reached and held.status not in FOLLOWERS[reached]:
        yield Finding(RECORD, f"{reached}, as the journal tells", str(held.status), _GO_ON, path="$.status")
