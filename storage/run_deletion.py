"""A run is deleted in an order that a crash can stop anywhere: first it is in no list any more, then its files go.

Its index file is moved to `index/deleting/<runId>.json`, which stands there until all else is gone: whoever comes by
next finishes what was begun.
"""

from __future__ import annotations

from pathlib import Path

from ..graph.errors import InvalidData
from ..graph.identity import RunId
from ..graph.jsontext import loads
from .disk import Disk, storage_failed
from .folder_lock import folder_lock
from .run_summaries import SUMMARIES
from .runs import NO_RECORD, RunRecord, RunStore, run_record

DELETING = Path("index") / "deleting"


def begin_deletion(store: RunStore, disk: Disk, run_id: RunId) -> None:
    """From here on there is no such run; only who holds its lease may begin. Raises StorageFailed."""
    try:
        disk.move(store.index_file(run_id), _mark(store, run_id))
    except OSError as error:
        raise storage_failed(error, f"deleting run {run_id}") from error


def finish_deletion(store: RunStore, disk: Disk, run_id: RunId) -> bool:
    """Remove what is left of a run whose deletion was begun; False where none was.

    Takes the lock of the run's chat. Raises StorageFailed, and InvalidData where the mark is damaged.
    """
    record = _marked(store, disk, run_id)
    if record is None:
        return False
    try:
        with folder_lock(store.chat_folder(record.workspace_id)):
            if _marked(store, disk, run_id) is None:  # somebody else was here first, and the id may be another run's
                return True
            disk.remove(store.folder(record))
            disk.remove(store.root / SUMMARIES / f"{run_id}.json")
            disk.remove(_mark(store, run_id))
    except OSError as error:
        raise storage_failed(error, f"deleting run {run_id}") from error
    return True


def unfinished_deletions(store: RunStore) -> list[RunId]:
    """The runs whose deletion was begun, by id."""
    folder = store.root / DELETING
    return [RunId(path.stem) for path in sorted(folder.glob("*.json"))] if folder.is_dir() else []


def forget_index(store: RunStore, disk: Disk, run_id: RunId) -> None:
    """Remove what the index holds of a run whose folder goes with its chat's; raises StorageFailed."""
    try:
        disk.remove(store.index_file(run_id))
        disk.remove(store.root / SUMMARIES / f"{run_id}.json")
        disk.remove(_mark(store, run_id))
    except OSError as error:
        raise storage_failed(error, f"removing run {run_id} from the index") from error


def _mark(store: RunStore, run_id: RunId) -> Path:
    return store.root / DELETING / f"{run_id}.json"


def _marked(store: RunStore, disk: Disk, run_id: RunId) -> RunRecord | None:
    path = _mark(store, run_id)
    try:
        return run_record(loads(disk.read(path)))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise storage_failed(error, f"reading {path.name}") from error
    except NO_RECORD as error:
        raise InvalidData(
            f"{DELETING.as_posix()}/{path.name} is damaged; remove it, and the run's folder: {error}"
        ) from error
