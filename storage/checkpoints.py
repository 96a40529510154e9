"""Checkpoints of a run: after each effect, a record of the files it touched; their content is kept once, by its hash.

`checkpoints/cp_000001/checkpoint.json` is the record, `checkpoints/content/<sha256>` a content that any number of
records name.
"""

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
CONTENT = "content"

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
        """Keep the files as they are now; the record is written last, so a folder without one is half made.

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
            for stamp in stamps:
                self._keep(stamp.sha256, contents[stamp.path])
            self._disk.replace(folder / RECORD, dumps(made.to_json(), pretty=True))
        except OSError as error:
            raise storage_failed(error, f"making checkpoint {checkpoint_id}") from error
        return made

    def keep(self, path: WorkspacePath) -> str:
        """Keep a file's content as it is now, without a checkpoint; gives its SHA-256. Raises as `create` does."""
        return self.keep_content(self._workspace.read_bytes(path))

    def keep_content(self, data: bytes) -> str:
        """Keep a content, if it is not kept yet; gives its SHA-256. Raises StorageFailed."""
        sha256 = sha256_bytes(data)
        try:
            self._keep(sha256, data)
        except OSError as error:
            raise storage_failed(error, "keeping a file's content") from error
        return sha256

    def keeps(self, sha256: str) -> bool:
        """Whether a content of this hash is kept."""
        return (self._folder / CONTENT / sha256).exists()

    def content(self, sha256: str) -> bytes:
        """A kept content; raises NotFound where it is not kept, InvalidData where it is not what its name says."""
        try:
            data = self._disk.read(self._folder / CONTENT / sha256)
        except FileNotFoundError as error:
            raise NotFound(f"run {self._run_id} keeps no content {sha256}") from error
        except OSError as error:
            raise storage_failed(error, f"reading content {sha256}") from error
        if sha256_bytes(data) != sha256:
            raise InvalidData(f"{FOLDER}/{CONTENT}/{sha256} is damaged: its bytes have another hash")
        return data

    def file(self, id: str, path: WorkspacePath) -> bytes:
        """A file as a checkpoint kept it; raises NotFound where the checkpoint is not of this file, and as `content`."""
        stamp = next((stamp for stamp in self.load(id).files if stamp.path == path), None)
        if stamp is None:
            raise NotFound(f"checkpoint {id} is not of {path}")
        return self.content(stamp.sha256)

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

    def _keep(self, sha256: str, data: bytes) -> None:
        if not self.keeps(sha256):
            self._disk.replace(self._folder / CONTENT / sha256, data)

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
