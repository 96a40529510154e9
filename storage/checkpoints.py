"""Checkpoints of a run: after each effect, a copy of the files it touched and a record of their bytes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..graph.errors import InvalidData, NotFound
from ..graph.jsontext import Json, dumps, loads
from ..graph.paths import WorkspacePath
from ..graph.ports import Clock
from ..graph.text import sha256_bytes
from .disk import Disk, storage_failed
from .runs import timestamp
from .workspace import FolderWorkspace

FOLDER = "checkpoints"
RECORD = "checkpoint.json"

_ID = re.compile(r"cp_(\d{6,})")


@dataclass(frozen=True, slots=True)
class FileStamp:
    """A file at one moment; `path` is relative to the run's folder, `bytes` its size."""

    path: WorkspacePath
    sha256: str
    bytes: int

    def to_json(self) -> dict[str, Json]:
        return {"path": self.path, "sha256": self.sha256, "bytes": self.bytes}


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """What `checkpoint.json` says of a checkpoint."""

    id: str
    seq: int
    run_id: str
    created_at: str
    reason: str
    event_seq: int
    files: tuple[FileStamp, ...]

    def to_json(self) -> dict[str, Json]:
        return {
            "id": self.id,
            "seq": self.seq,
            "runId": self.run_id,
            "createdAt": self.created_at,
            "reason": self.reason,
            "eventSeq": self.event_seq,
            "files": [stamp.to_json() for stamp in self.files],
        }


def checkpoint_id(seq: int) -> str:
    """`cp_000001` for a run's first."""
    return f"cp_{seq:06d}"


def file_stamp(stored: Json) -> FileStamp:
    """A stamp read back; raises KeyError or TypeError where it is none."""
    return FileStamp(WorkspacePath(stored["path"]), stored["sha256"], stored["bytes"])


class CheckpointStore:
    """The checkpoints of one run. Blocking; who drives the run is the only one to create."""

    def __init__(self, run_dir: Path, run_id: str, disk: Disk, clock: Clock) -> None:
        self._folder = run_dir / FOLDER
        self._run_id = run_id
        self._disk = disk
        self._clock = clock
        self._workspace = FolderWorkspace(run_dir, disk)

    def create(self, *, checkpoint_id: str, reason: str, event_seq: int, paths: Sequence[WorkspacePath]) -> Checkpoint:
        """Copy the files as they are now; the record is written last, so a folder without one is half made.

        The same again gives the first one's record. A folder of this id that says otherwise was left by a crash whose
        events are lost, and is replaced: an id whose `checkpoint_created` is journalled must not be created anew.
        Raises FileMissing for a missing source, StorageFailed.
        """
        seq = _seq(checkpoint_id)
        contents = {path: self._workspace.read_bytes(path) for path in paths}
        stamps = tuple(FileStamp(path, sha256_bytes(data), len(data)) for path, data in contents.items())
        made = Checkpoint(checkpoint_id, seq, self._run_id, timestamp(self._clock.now()), reason, event_seq, stamps)
        folder = self._folder / checkpoint_id
        try:
            if folder.exists():
                stored = self._stored(checkpoint_id)
                if stored is not None and _same(stored, made):
                    return stored
                self._disk.remove(folder)
            self._copy(folder, contents)
            self._disk.replace(folder / RECORD, dumps(made.to_json(), pretty=True))
        except OSError as error:
            raise storage_failed(error, f"making checkpoint {checkpoint_id}") from error
        return made

    def load(self, id: str) -> Checkpoint:
        """Raises NotFound where there is none, or only a half-made one; InvalidData where the record is damaged."""
        stored = self._stored(id) if _ID.fullmatch(id) else None
        if stored is None:
            raise NotFound(f"run {self._run_id} has no checkpoint {id}")
        return stored

    def list(self) -> tuple[Checkpoint, ...]:
        """By seq; half-made ones are left out."""
        if not self._folder.is_dir():
            return ()
        found = (self._stored(folder.name) for folder in self._folder.iterdir() if _ID.fullmatch(folder.name))
        return tuple(sorted((each for each in found if each is not None), key=lambda each: each.seq))

    def _copy(self, folder: Path, contents: dict[WorkspacePath, bytes]) -> None:
        for above in {(folder / path).parent: None for path in contents} or {folder: None}:
            self._disk.make_folder(above)
        for path, data in contents.items():
            self._disk.append(folder / path, data)  # a new file: until the record stands, nobody reads it

    def _stored(self, id: str) -> Checkpoint | None:
        try:
            return _checkpoint(loads(self._disk.read(self._folder / id / RECORD)))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise storage_failed(error, f"reading checkpoint {id}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidData(f"{FOLDER}/{id}/{RECORD} is damaged: {error}") from error


def _checkpoint(stored: Json) -> Checkpoint:
    files = tuple(file_stamp(each) for each in stored["files"])
    return Checkpoint(
        stored["id"], stored["seq"], stored["runId"], stored["createdAt"], stored["reason"], stored["eventSeq"], files
    )


def _same(first: Checkpoint, second: Checkpoint) -> bool:
    return (first.run_id, first.reason, first.event_seq, first.files) == (
        second.run_id,
        second.reason,
        second.event_seq,
        second.files,
    )


def _seq(id: str) -> int:
    match = _ID.fullmatch(id)
    if match is None:
        raise InvalidData(f"{id!r} is not a checkpoint's id")
    return int(match[1])
