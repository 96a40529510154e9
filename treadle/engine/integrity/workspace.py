"""The files of a run's workspace: each change begins where the one before it ended, and the disk is where the last did."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field

from ...graph.errors import InvalidData, NotFound, StorageFailed, TreadleError
from ...graph.events import EventType
from ...graph.jsontext import Json
from ...graph.paths import ROOTS, WorkspacePath
from ...storage.file_map import FileMap, files_after
from ...storage.persist import ROOT as PERSIST
from ...storage.workspace import FolderWorkspace
from .evidence import Evidence
from .journal_lines import Line
from .report import Finding

OUTSIDE = "changed outside the run"
_RESTORE = "put the file back from the run's checkpoints, or leave it: the run reads what is there"
_LEFTOVER = "somebody put it there, or a crash left it; it is in nobody's way"
_REWOUND = "_rollback_"


@dataclass(slots=True)
class _Walk:
    """How far the journal was followed."""

    held: FileMap
    pending: dict[str, tuple[Json, str]] = field(default_factory=dict[str, tuple[Json, str]])
    """By path: what a change that was begun and not kept finds, and what it leaves."""


def workspace(evidence: Evidence) -> Generator[Finding]:
    if evidence.is_slim:
        return
    try:
        walk = _Walk(files_after(evidence.lent, (), evidence.checkpoint))
        for index, line in enumerate(evidence.lines):
            yield from _follow(evidence, walk, line, index)
    except (NotFound, InvalidData, StorageFailed) as error:
        yield Finding(
            "checkpoints", "records that tell what the workspace held", error.message, "see the check checkpoints"
        )
        return
    if not evidence.under_way:
        yield from _on_disk(evidence, walk)


def _follow(evidence: Evidence, walk: _Walk, line: Line, index: int) -> Generator[Finding]:
    event = line.event
    match event.type:
        case EventType.TOOL_CALL_STARTED if "effect" in event.payload:
            effect = event.payload["effect"]
            before = walk.held.get(effect["path"])
            if effect["preSha256"] != before:
                found = f"{effect['path']} was {OUTSIDE}: it began with {effect['preSha256'] or 'no file'}"
                yield line.finding(before or "no file", found, _RESTORE, "$.payload.effect.preSha256")
            walk.pending[effect["path"]] = effect["preSha256"], effect["postSha256"]
        case EventType.WORKSPACE_FILE_WRITTEN | EventType.WORKSPACE_PATCH_APPLIED:
            _, after = walk.pending.get(event.payload["path"], (None, None))
            if event.payload["sha256"] != after:
                found = f"tells {event.payload['sha256']}"
                yield line.finding(f"{after}, what the call was to leave", found, path="$.payload.sha256")
        case EventType.CHECKPOINT_CREATED:
            yield from _kept(evidence, walk, line)
        case _ if _REWOUND in event.type:
            walk.held = files_after(evidence.lent, evidence.events[: index + 1], evidence.checkpoint)
            walk.pending.clear()
        case _:
            pass


def _kept(evidence: Evidence, walk: _Walk, line: Line) -> Generator[Finding]:
    """A checkpoint keeps what the change left, or for a commit, what is there."""
    for stamp in evidence.checkpoint(line.event.payload["checkpointId"]).files:
        _, after = walk.pending.pop(stamp.path, (None, walk.held.get(stamp.path)))
        if stamp.sha256 != after:
            found = f"{stamp.path} was {OUTSIDE}: it keeps {stamp.sha256}"
            yield line.finding(after or "no file", found, _RESTORE)
        walk.held[stamp.path] = stamp.sha256


def _on_disk(evidence: Evidence, walk: _Walk) -> Generator[Finding]:
    disk = FolderWorkspace(evidence.folder, evidence.services.disk)
    for path in sorted({*walk.held, *walk.pending}):
        allowed = {*walk.pending[path]} if path in walk.pending else {walk.held.get(WorkspacePath(path))}
        try:
            found = disk.sha256(WorkspacePath(path))
        except TreadleError as error:
            yield Finding(path, _one_of(allowed), f"{OUTSIDE}: {error.message}", _RESTORE)
            continue
        if found not in allowed:
            yield Finding(path, _one_of(allowed), f"{OUTSIDE}: {found or 'no file'}", _RESTORE)
    yield from _unexplained(evidence, {*walk.held, *walk.pending})


def _unexplained(evidence: Evidence, told: set[str]) -> Generator[Finding]:
    """A persistent file that was lent before a crash could write down which is no stranger."""
    begun = any(True for _ in evidence.of(EventType.PERSISTENT_PROJECTION_INITIALIZED))
    for root in ROOTS:
        if root == PERSIST and not begun:
            continue
        for file in sorted((evidence.folder / root).rglob("*")):
            path = file.relative_to(evidence.folder).as_posix()
            if path not in told and (file.is_symlink() or not file.is_dir()):
                yield Finding(path, "an event that tells of it", "none does", _LEFTOVER, is_fault=False)


def _one_of(allowed: set[Json]) -> str:
    return " or ".join(sorted(str(sha256 or "no file") for sha256 in allowed))
