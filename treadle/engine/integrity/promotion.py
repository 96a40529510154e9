"""What a run gave back to its chat: the state that it wrote says what the journal tells, of files that the run held."""

from __future__ import annotations

from collections.abc import Generator

from ...graph.errors import InvalidData, NotFound
from ...graph.events import EventType
from ...graph.jsontext import Json, is_object
from ...storage.file_map import files_after
from ...storage.persist import MANIFEST, STATES
from ...storage.persist_records import promotion_of
from .evidence import Evidence, parsed, read_file
from .journal_lines import Line
from .report import Finding

_COPY = "put the file back from a copy; later runs of the chat begin with what it names"
_LOST = "events were lost or changed; put the journal back from a copy"


def promotion(evidence: Evidence) -> Generator[Finding]:
    committed: dict[str, Json] = {}
    for line in evidence.of(EventType.PERSISTENT_CHANGES_COMMITTED):
        committed = line.event.payload
        yield from _state(evidence, line)
        if not evidence.is_slim:
            yield from _held(evidence, line)
    for line in evidence.of(EventType.PERSISTENT_STATE_METADATA_UPDATE_REQUESTED):
        for key in ("stateId", "baseStateId", "changeCount", "changes"):
            if line.event.payload.get(key) != committed.get(key):
                expected = f"the {key} that was committed"
                yield line.finding(expected, "tells another", _LOST, f"$.payload.{key}")


def _state(evidence: Evidence, line: Line) -> Generator[Finding]:
    told: Json = line.event.payload
    if told["stateId"] != evidence.run_id:
        yield line.finding(f"the state {evidence.run_id}", f"tells {told['stateId']!r}", _LOST, "$.payload.stateId")
        return
    if told["changeCount"] != len(told["changes"]):
        found = f"tells {told['changeCount']}"
        yield line.finding(f"{len(told['changes'])} changes", found, _LOST, "$.payload.changeCount")
    name = f"{STATES}/{evidence.run_id}/{MANIFEST}"
    try:
        kept = promotion_of(parsed(read_file(evidence.services, evidence.folder.parent.parent / name, name), name))
    except (NotFound, InvalidData) as error:
        yield Finding(name, f"the state that event {line.event.seq} tells of", error.message, _COPY)
        return
    rows: tuple[tuple[str, Json, Json], ...] = (
        ("$.stateId", told["stateId"], kept.state_id),
        ("$.baseStateId", told.get("baseStateId"), kept.base_state_id),
        ("$.changes", told["changes"], [change.announced() for change in kept.changes]),
    )
    for path, expected, found in rows:
        if expected != found:
            yield Finding(name, f"{expected!r}, as event {line.event.seq} tells", repr(found), _COPY, path=path)


def _held(evidence: Evidence, line: Line) -> Generator[Finding]:
    before = [each.event for each in evidence.lines if each.event.seq < line.event.seq]
    held = {str(path): sha256 for path, sha256 in files_after(evidence.lent, before, evidence.checkpoint).items()}
    changes: list[Json] = line.event.payload["changes"]
    for index, change in enumerate(changes):
        path = change.get("path") if is_object(change) else None
        if path is None or held.get(path) != change.get("sha256"):
            expected = f"sha256 {held.get(path or '')} of {path}, as the run held it"
            yield line.finding(expected, "tells another", _LOST, f"$.payload.changes[{index}]")
