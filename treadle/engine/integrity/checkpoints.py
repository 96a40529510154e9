"""The checkpoints of a run: each that the journal tells has its record, and its contents are what their names say."""

from __future__ import annotations

from collections.abc import Generator

from ...graph.errors import InvalidData, NotFound, StorageFailed
from ...graph.events import EventType
from ...graph.text import sha256_bytes
from ...storage.checkpoints import CONTENT, FOLDER, RECORD, Checkpoint, checkpoint_id
from .evidence import Evidence
from .journal_lines import Line
from .report import Finding

_LOST = "put it back from a copy; until then the run can't be rewound past it"
_LEFTOVER = "a crash may have left it; the next checkpoint of that name takes its place"

CAUSES: dict[str, EventType] = {
    "tool_workspace_write": EventType.WORKSPACE_FILE_WRITTEN,
    "tool_workspace_patch": EventType.WORKSPACE_PATCH_APPLIED,
    "chat_commit": EventType.CHAT_COMMIT_STARTED,
}
"""The event that a checkpoint belongs to, by its reason; of other reasons there is no telling."""


def checkpoints(evidence: Evidence) -> Generator[Finding]:
    if evidence.is_slim:
        return
    named: set[str] = set()
    for number, line in enumerate(evidence.of(EventType.CHECKPOINT_CREATED), start=1):
        wanted, id = checkpoint_id(number), line.event.payload["checkpointId"]
        if id != wanted:
            yield line.finding(f"checkpoint {wanted}", f"tells of {id}")
        file = f"{FOLDER}/{id}/{RECORD}"
        try:
            stored = evidence.checkpoint(id)
        except (NotFound, InvalidData, StorageFailed) as error:
            yield Finding(file, f"the record that event {line.event.seq} tells of", error.message, _LOST)
            continue
        named.update(stamp.sha256 for stamp in stored.files)
        yield from _record(evidence, line, stored, file)
        yield from _contents(evidence, stored, file)
    yield from _kept_before(evidence, named)
    if not evidence.under_way:
        yield from _unexplained(evidence, named)


def _record(evidence: Evidence, line: Line, stored: Checkpoint, file: str) -> Generator[Finding]:
    reason = line.event.payload["reason"]
    number = int(stored.id.removeprefix("cp_")) if stored.id.removeprefix("cp_").isdecimal() else None
    rows = (
        ("$.id", line.event.payload["checkpointId"], stored.id),
        ("$.seq", number, stored.seq),
        ("$.runId", evidence.run_id, stored.run_id),
        ("$.reason", reason, stored.reason),
    )
    for place, expected, found in rows:
        if expected != found:
            yield Finding(file, f"{expected!r}, as event {line.event.seq} tells", repr(found), _LOST, path=place)
    cause = CAUSES.get(reason)
    if cause is None:
        return
    at = next((each for each in evidence.lines if each.event.seq == stored.event_seq), None)
    paths = {stamp.path for stamp in stored.files}
    if at is None or at.event.type != cause or at.event.seq > line.event.seq:
        found = f"{stored.event_seq}, {'no event' if at is None else at.event.type}"
        yield Finding(file, f"the seq of its {cause}", found, _LOST, path="$.eventSeq")
    elif paths != {at.event.payload["path"]}:
        yield Finding(file, f"the file {at.event.payload['path']}", repr(sorted(paths)), _LOST, path="$.files")


def _contents(evidence: Evidence, stored: Checkpoint, file: str) -> Generator[Finding]:
    for index, stamp in enumerate(stored.files):
        where = f"{FOLDER}/{CONTENT}/{stamp.sha256}"
        data = yield from _content(evidence, stamp.sha256, f"the content of {stamp.path} in {stored.id}")
        if data is not None and len(data) != stamp.bytes:
            yield Finding(
                file, f"{len(data)}, the size of {where}", str(stamp.bytes), _LOST, path=f"$.files[{index}].bytes"
            )


def _content(evidence: Evidence, sha256: str, what: str) -> Generator[Finding, None, bytes | None]:
    where = f"{FOLDER}/{CONTENT}/{sha256}"
    try:
        data = evidence.read(where)
    except (NotFound, StorageFailed) as error:
        yield Finding(where, what, error.message, _LOST)
        return None
    if sha256_bytes(data) != sha256:
        yield Finding(where, "bytes of the hash that is its name", f"bytes of sha256 {sha256_bytes(data)}", _LOST)
    return data


def _kept_before(evidence: Evidence, named: set[str]) -> Generator[Finding]:
    """What a file held before its first change is kept too."""
    for line in evidence.of(EventType.TOOL_CALL_STARTED):
        before = line.event.payload.get("effect", {}).get("preSha256")
        if before is not None and before not in named:
            named.add(before)
            yield from _content(evidence, before, f"what the file held before event {line.event.seq}")


def _unexplained(evidence: Evidence, named: set[str]) -> Generator[Finding]:
    told = {line.event.payload["checkpointId"] for line in evidence.of(EventType.CHECKPOINT_CREATED)}
    folder = evidence.folder / FOLDER
    for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
        if entry.name != CONTENT and entry.name not in told:
            where = f"{FOLDER}/{entry.name}"
            yield Finding(where, "an event that tells of it", "none does", _LEFTOVER, is_fault=False)
    kept = folder / CONTENT
    for entry in sorted(kept.iterdir()) if kept.is_dir() else ():
        if entry.name not in named:
            where = f"{FOLDER}/{CONTENT}/{entry.name}"
            yield Finding(where, "a checkpoint that names it", "none does", "it is in nobody's way", is_fault=False)
