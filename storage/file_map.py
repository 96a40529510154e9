"""What a run's workspace held at a moment, as paths and hashes: told by its journal and its checkpoints, never by the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..graph.events import Event, EventType
from ..graph.jsontext import Json
from ..graph.paths import WorkspacePath
from .checkpoints import Checkpoint
from .persist_records import PersistSnapshot

FileMap = dict[WorkspacePath, str]
"""The SHA-256 of each file, by its path in the run's folder."""


def files_after(lent: PersistSnapshot, events: Iterable[Event], load: Callable[[str], Checkpoint]) -> FileMap:
    """The files once these events, from the run's first on, had been written; raises what `load` raises.

    `lent` is what the chat lent the run at its start. A change whose checkpoint is not journalled has not happened yet,
    and neither has a rollback that is not journalled as completed.
    """
    files: FileMap = {stamp.path: stamp.sha256 for stamp in lent.files}
    intended: list[Json] = []
    for event in events:
        match event.type:
            case EventType.CHECKPOINT_CREATED:
                files.update({stamp.path: stamp.sha256 for stamp in load(event.payload["checkpointId"]).files})
            case EventType.WORKSPACE_ROLLBACK_STARTED:
                intended = event.payload["files"]
            case EventType.WORKSPACE_ROLLBACK_COMPLETED:
                _put_back(files, intended)
            case _:
                pass
    return files


def _put_back(files: FileMap, intended: list[Json]) -> None:
    """`intended` names every file that was not already as it was at the checkpoint."""
    for told in intended:
        path, sha256 = WorkspacePath(told["path"]), told["postSha256"]
        if sha256 is None:
            files.pop(path, None)
        else:
            files[path] = sha256
