"""The index of runs, read again and again: only files that have changed since the last look are opened."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ..graph.identity import ChatRef, RunId, WorkspaceId
from ..graph.jsontext import loads
from ..graph.status import RunStatus
from .disk import Disk, storage_failed
from .runs import INDEX, NO_RECORD, RECORD, RunRecord, run_record

REMEMBERED = 100_000
"""So many runs are kept in memory between two looks, about a kilobyte each; those beyond are read each time."""


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What an index file tells of a run, as far as runs are sorted and chosen by it."""

    id: RunId
    workspace_id: WorkspaceId
    stable_chat_id: str
    chat_ref: ChatRef
    status: RunStatus
    created_at: str
    updated_at: str


@dataclass(frozen=True, slots=True)
class Damaged:
    """A file that tells nothing of its run: its path below the tree of runs, and why."""

    id: str
    file: str
    reason: str

    def to_json(self) -> dict[str, str]:
        return {"runId": self.id, "file": self.file, "reason": self.reason}


class IndexLook(NamedTuple):
    entries: tuple[IndexEntry, ...]
    """Newest first: by createdAt, then id."""
    damaged: tuple[Damaged, ...]
    """By id."""


_Identity = tuple[int, int, int]
"""Of a file that is only ever replaced whole: time of change in ns, size, inode."""


class _Known(NamedTuple):
    identity: _Identity
    told: IndexEntry | Damaged


class RunIndex:
    """Right also where other processes add, change and remove runs. Blocking; safe to call from several threads."""

    def __init__(self, root: Path, disk: Disk, *, remembered: int = REMEMBERED) -> None:
        self._root = root
        self._folder = root / INDEX
        self._disk = disk
        self._remembered = remembered
        self._known: dict[str, _Known] = {}
        self._ahead: dict[RunId, _Known] = {}
        """What the records of runs under way tell."""
        self._look: IndexLook | None = None
        """The last look, for as long as no file changes."""
        self._lock = threading.Lock()

    def look(self) -> IndexLook:
        """Every run of the index, as it is now; raises StorageFailed where the folder can't be read."""
        with self._lock:
            try:
                known, is_same = self._scanned()
            except OSError as error:
                raise storage_failed(error, "reading the index of runs") from error
            if self._look is None or not is_same:
                self._look = _sorted(known)
                self._known = self._cut(known)
            look = self._look
            if len(self._known) < len(known):
                self._look = None
            return look

    def newest(self, entry: IndexEntry) -> IndexEntry:
        """The entry, or what the run's own record tells where the run has not ended: that is written first."""
        if entry.status.is_terminal:
            return entry
        path = self._root / f"chats/{entry.workspace_id}/runs/{entry.id}/{RECORD}"
        with self._lock:
            known = self._ahead.pop(entry.id, None)
            try:
                identity = _identity(path.stat())
                if known is None or known.identity != identity:
                    known = _Known(identity, self._read(path, entry.id))
            except OSError:
                return entry  # whoever reads the run itself is told
            self._ahead[entry.id] = known
            if len(self._ahead) > self._remembered:
                del self._ahead[next(iter(self._ahead))]
        return known.told if isinstance(known.told, IndexEntry) else entry

    def _scanned(self) -> tuple[dict[str, _Known], bool]:
        """What each index file tells, and whether all is as it was."""
        known: dict[str, _Known] = {}
        is_same = True
        before = self._known
        for file in _files(self._folder):
            name = file.name
            if not name.endswith(".json"):
                continue
            try:
                identity = _identity(file.stat())
                was = before.get(name)
                if was is None or was.identity != identity:
                    is_same = False
                    was = _Known(identity, self._read(self._folder / name, name[: -len(".json")]))
            except FileNotFoundError:
                continue
            known[name] = was
        return known, is_same and len(known) == len(before)

    def _read(self, path: Path, stem: str) -> IndexEntry | Damaged:
        """Raises FileNotFoundError where the file is gone meanwhile."""
        try:
            record = run_record(loads(self._disk.read(path)))
        except FileNotFoundError:
            raise
        except OSError as error:
            return self._damaged(path, stem, error.strerror or str(error))
        except NO_RECORD as error:
            return self._damaged(path, stem, f"it is not a run record: {error}")
        if record.id != stem:
            return self._damaged(path, stem, f"it is the record of run {record.id}")
        return _entry(record)

    def _damaged(self, path: Path, stem: str, reason: str) -> Damaged:
        return Damaged(stem, path.relative_to(self._root).as_posix(), reason)

    def _cut(self, known: dict[str, _Known]) -> dict[str, _Known]:
        if len(known) <= self._remembered:
            return known
        newest = sorted(known.items(), key=lambda item: _age(item[1].told), reverse=True)
        return dict(newest[: self._remembered])


def _files(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return list(found)
    except FileNotFoundError:
        return []


def _identity(status: os.stat_result) -> _Identity:
    return status.st_mtime_ns, status.st_size, status.st_ino


def _entry(record: RunRecord) -> IndexEntry:
    return IndexEntry(
        record.id, record.workspace_id, record.stable_chat_id, record.chat_ref, record.status, record.created_at,
        record.updated_at,
    )  # fmt: skip


def _sorted(known: dict[str, _Known]) -> IndexLook:
    told = [each.told for each in known.values()]
    entries = [each for each in told if isinstance(each, IndexEntry)]
    damaged = [each for each in told if isinstance(each, Damaged)]
    entries.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
    return IndexLook(tuple(entries), tuple(sorted(damaged, key=lambda each: each.id)))


def _age(told: IndexEntry | Damaged) -> tuple[str, str]:
    return (told.created_at, told.id) if isinstance(told, IndexEntry) else ("", told.id)
