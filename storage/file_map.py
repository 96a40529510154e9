"""What a run's workspace held at a moment, as paths and hashes: told by its journal and its checkpoints, never by the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..graph.events import Event, EventType
from ..graph.paths import WorkspacePath
from .checkpoints import Checkpoint
from .persist_records import PersistSnapshot

FileMap = dict[WorkspacePath, str]
"""The SHA-256 of each file, by its path in the run's folder."""


def files_after(lent: PersistSnapshot, events: Iterable[Event], load: Callable[[str], Checkpoint]) -> FileMap:
    """The files once these events, from the run's first on, had been written; raises what `load` raises.

    `lent` is what the chat lent the run at its start. A change whose checkpoint is not journalled has not happened yet.
    """
    files: FileMap = {stamp.path: stamp.sha256 for stamp in lent.files}
    for event in events:
        if event.type == EventType.CHECKPOINT_CREATED:
            files.update({stamp.path: stamp.sha256 for stamp in load(event.payload["checkpointId"]).files})
    return files
