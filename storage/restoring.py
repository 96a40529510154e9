"""A workspace put back as it was: planned, journalled, carried out, and carried to its end after a crash. Blocking.

The intent names each file with its hash before and after, so after a crash the file itself tells whether it was put
back. Nothing is lost by it: what a file holds that is to be overwritten is kept as a content first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..graph.errors import EffectUnknown, InvalidData
from ..graph.events import EventType
from ..graph.jsontext import Json
from ..graph.paths import ROOTS, WorkspacePath
from ..graph.text import sha256_bytes
from .checkpoints import CONTENT, FOLDER, CheckpointStore
from .contents import Contents
from .file_map import FileMap
from .folder import Do, Log, RunFolder
from .workspace import FolderWorkspace

_DEEPEST = 4096


@dataclass(frozen=True, slots=True)
class Restored:
    """A file that a rollback puts back; None where there is, or was, no such file."""

    path: WorkspacePath
    pre_sha256: str | None
    post_sha256: str | None

    def to_json(self) -> dict[str, Json]:
        return {"path": self.path, "preSha256": self.pre_sha256, "postSha256": self.post_sha256}


def restored(told: Json) -> tuple[Restored, ...]:
    """The files of a `workspace_rollback_started`; raises KeyError or TypeError where it is none."""
    return tuple(Restored(WorkspacePath(each["path"]), each["preSha256"], each["postSha256"]) for each in told["files"])


def standing(workspace: FolderWorkspace) -> dict[WorkspacePath, bytes]:
    """Every file of the workspace as it is now; raises PathEscapes for a link in it."""
    entries = workspace.scan(None, ROOTS, _DEEPEST)
    return {entry.path: workspace.read_bytes(entry.path) for entry in entries if entry.kind == "file"}


def plan(now: FileMap, known: FileMap, wanted: FileMap) -> tuple[Restored, ...]:
    """What must be put back: whatever is not as wanted, on disk or by what the journal tells, in the order of paths."""
    paths = sorted(now.keys() | known.keys() | wanted.keys())
    return tuple(
        Restored(path, now.get(path), wanted.get(path))
        for path in paths
        if not now.get(path) == known.get(path) == wanted.get(path)
    )


def restore(
    folder: RunFolder,
    contents: Contents,
    checkpoint_id: str,
    files: Sequence[Restored],
    now: Mapping[WorkspacePath, bytes],
) -> None:
    """Journal the intent, put the files back, journal that it is done; `now` is what stands there, as it was planned by.

    Raises InvalidData, with nothing changed, where a content that is needed is kept nowhere.
    """
    kept = contents.kept
    changed = [file for file in files if file.pre_sha256 != file.post_sha256]
    wanted = [_needed(contents, file.path, file.post_sha256) for file in changed if file.post_sha256 is not None]
    overwritten = [now[file.path] for file in changed if file.pre_sha256 is not None]

    def keep() -> None:
        for data in (*overwritten, *wanted):
            kept.keep_content(data)

    intent = {"checkpointId": checkpoint_id, "files": [file.to_json() for file in files]}
    folder.rewind(
        Do(keep), Log(EventType.WORKSPACE_ROLLBACK_STARTED, intent), *_effect(folder, kept, checkpoint_id, files)
    )


def finish(folder: RunFolder, kept: CheckpointStore, started: Json) -> None:
    """Carry to its end what a crash interrupted; raises EffectUnknown for a file that is neither as before nor after."""
    folder.rewind(*_effect(folder, kept, started["checkpointId"], restored(started)))


def _needed(contents: Contents, path: WorkspacePath, sha256: str) -> bytes:
    data = contents.find(path, sha256)
    if data is None:
        raise InvalidData(
            f"{path} can't be put back: what it held then ({sha256}) is kept nowhere. Nothing was changed.",
            code="agent.content_not_kept",
        )
    return data


def _effect(folder: RunFolder, kept: CheckpointStore, checkpoint_id: str, files: Sequence[Restored]) -> list[Log | Do]:
    told = {"checkpointId": checkpoint_id, "fileCount": len(files)}
    return [
        Do(lambda: _put_back(FolderWorkspace(folder.path, folder.disk), kept, files)),
        Log(EventType.WORKSPACE_ROLLBACK_COMPLETED, told),
    ]


def _put_back(workspace: FolderWorkspace, kept: CheckpointStore, files: Sequence[Restored]) -> None:
    """Safe to be made again, from any place where it broke off."""
    due = [file for file in files if _is_due(workspace, file)]
    wanted = {file.path: kept.content(file.post_sha256) for file in due if file.post_sha256 is not None}
    for file in files:
        if file.post_sha256 is None:
            if workspace.kind(file.path) == "file":
                workspace.remove(file.path)
            _remove_empty_folders(workspace, file.path)
    for path, data in wanted.items():
        if workspace.kind(path) == "directory":
            workspace.remove(path)
        workspace.write_bytes(path, data, durable=True)


def _is_due(workspace: FolderWorkspace, file: Restored) -> bool:
    now = sha256_bytes(workspace.read_bytes(file.path)) if workspace.kind(file.path) == "file" else None
    if now == file.post_sha256:
        return False
    if now == file.pre_sha256:
        return True
    before = "no file" if file.pre_sha256 is None else f"{FOLDER}/{CONTENT}/{file.pre_sha256}"
    raise EffectUnknown(
        f"{file.path} was changed while a rollback was interrupted: it is neither as it was before nor as the rollback "
        f"leaves it. Put your own text elsewhere and {before} in its place, then try again.",
        details={"path": file.path},
    )


def _remove_empty_folders(workspace: FolderWorkspace, path: WorkspacePath) -> None:
    """Those above a file that is gone, but never a root."""
    parts = path.split("/")[:-1]
    while len(parts) > 1:
        above = WorkspacePath("/".join(parts))
        if workspace.kind(above) == "directory":
            if workspace.scan(above, (), 0):
                return
            workspace.remove(above)
        parts.pop()
