"""The files a chat keeps from run to run: lent to a run when it starts, given back when it finishes.

A promotion that has been decided stands in `promotion.json` until it is done; whoever next takes the chat's lock
finishes it first, so a crash between two copies is never seen.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from ..graph.errors import InvalidData, RunFailed, StorageFailed
from ..graph.jsontext import Json, dumps, loads
from ..graph.paths import WorkspacePath
from ..graph.text import sha256_bytes
from .checkpoints import FileStamp
from .disk import Disk, RealDisk, storage_failed
from .folder_lock import folder_lock
from .persist_records import SNAPSHOT, Change, PersistSnapshot, Promotion, persist_snapshot, promotion_of
from .runs import timestamp
from .workspace import FileMissing, FolderWorkspace

ROOT = WorkspacePath("persist")
STATES = "persistent-states"
MANIFEST = "manifest.json"
INTENT = "promotion.json"

_DEEPEST = 4096
_TICK = timedelta(milliseconds=1)
_DOING = "keeping the chat's persistent files"


class PersistConflict(RunFailed):
    """Another run changed the same persistent files meanwhile; nothing was promoted."""

    code = "agent.persistent_workspace_conflict"


class PromotionUnfinished(StorageFailed):
    """A promotion that was decided could not be carried out whole; whoever next takes the chat's lock finishes it."""


class PersistDeleteUnsupported(RunFailed):
    """A persistent file is gone from the run's workspace, and deleting them is not supported."""

    code = "agent.persistent_delete_unsupported"


def project(chat_dir: Path, run_dir: Path, disk: Disk) -> PersistSnapshot:
    """Copy the chat's `persist/` into the run's and write down what was copied; once done, only reads that.

    Raises InvalidData for a link or anything that is neither file nor folder, StorageFailed.
    """
    with _held(chat_dir, disk):
        _settle(chat_dir, disk)
        stored = _read_json(run_dir / SNAPSHOT, disk)
        if stored is not None:
            return persist_snapshot(stored)
        disk.remove(run_dir / ROOT)  # copies of a start that did not get to the end
        disk.make_folder(run_dir / ROOT)
        target = FolderWorkspace(run_dir, disk)
        stamps: list[FileStamp] = []
        for stamp, data in _files(FolderWorkspace(chat_dir, disk)):
            target.write_bytes(stamp.path, data)
            stamps.append(stamp)
        snapshot = PersistSnapshot(newest_state_id(chat_dir, disk), tuple(stamps))
        disk.replace(run_dir / SNAPSHOT, dumps(snapshot.to_json(), pretty=True))
        return snapshot


def promote(
    chat_dir: Path,
    run_dir: Path,
    *,
    run_id: str,
    workspace_id: str,
    stable_chat_id: str,
    created_at: str,
    disk: Disk,
) -> Promotion:
    """Copy what the run changed below `persist/` into the chat's, and write the state's manifest, changes or none.

    All or nothing, and once: a repeated call finishes what was begun, or gives the first answer. `created_at` is
    RFC 3339 UTC; the state is written down as later than those before it, also where the clock was set back. Raises PersistConflict, PersistDeleteUnsupported, InvalidData, StorageFailed; PromotionUnfinished
    where the disk refused when it was decided already, so that it has not failed.
    """
    with _held(chat_dir, disk), _decided_or_not(chat_dir, run_id):
        _settle(chat_dir, disk, run_dir=run_dir, run_id=run_id)
        stored = _read_json(_manifest_path(chat_dir, run_id), disk)
        if stored is not None:
            return promotion_of(stored)
        snapshot = _required_snapshot(run_dir, disk)
        files = [stamp for stamp, _ in _files(FolderWorkspace(run_dir, disk))]
        changes = _changes(snapshot, files)
        _refuse_conflicts(FolderWorkspace(chat_dir, disk), snapshot, changes)
        base = {} if snapshot.base_state_id is None else {"baseStateId": snapshot.base_state_id}
        manifest = {
            "version": 1,
            "stateId": run_id,
            "runId": run_id,
            "workspaceId": workspace_id,
            "stableChatId": stable_chat_id,
            **base,
            "createdAt": _after_the_newest(chat_dir, created_at, disk),
            "files": [stamp.to_json() for stamp in files],
            "changes": [change.to_json() for change in changes],
        }
        if changes:
            disk.replace(chat_dir / STATES / INTENT, dumps(manifest, pretty=True), durable=True)
        _carry_out(manifest, chat_dir, run_dir, disk)
        return Promotion(run_id, snapshot.base_state_id, changes)


def finish_promotion(chat_dir: Path, disk: Disk) -> None:
    """Carry a promotion to its end that a crash interrupted, if there is one: it needs its run's files as they are.

    Raises InvalidData, StorageFailed.
    """
    if (chat_dir / STATES / INTENT).exists():
        with _held(chat_dir, disk):
            _settle(chat_dir, disk)


def newest_state_id(chat_dir: Path, disk: Disk | None = None) -> str | None:
    """The id of the state that was written last, None before the first; raises InvalidData for a damaged manifest."""
    newest = _newest(chat_dir, disk or RealDisk())
    return None if newest is None else newest[1]


def _newest(chat_dir: Path, disk: Disk) -> tuple[tuple[datetime, int], str] | None:
    """The age and the id of the state that was written last."""
    states = chat_dir / STATES
    found = [(_age(path, disk), path.parent.name) for path in states.glob(f"*/{MANIFEST}")] if states.is_dir() else []
    return max(found, default=None)


def _after_the_newest(chat_dir: Path, created_at: str, disk: Disk) -> str:
    """The states of a chat are known by their times to follow one another, whatever the clock says."""
    newest = _newest(chat_dir, disk)
    if newest is None or datetime.fromisoformat(created_at) > newest[0][0]:
        return created_at
    return timestamp((newest[0][0] + _TICK).timestamp())


def settle(chat_dir: Path, disk: Disk) -> None:
    """Finish the promotion that a crash interrupted, if there is one; raises InvalidData where its files have changed."""
    with _held(chat_dir, disk):
        _settle(chat_dir, disk)


def pending_promotion(chat_dir: Path, disk: Disk) -> str | None:
    """The id of the run whose promotion was begun and is not done: its files are still needed. Raises InvalidData,
    StorageFailed."""
    try:
        intent = _read_json(chat_dir / STATES / INTENT, disk)
    except OSError as error:
        raise storage_failed(error, f"reading {INTENT}") from error
    if intent is None:
        return None
    owner = promotion_of(intent).state_id
    return None if _manifest_path(chat_dir, owner).exists() else owner


@contextmanager
def _held(chat_dir: Path, disk: Disk) -> Generator[None]:
    try:
        with folder_lock(chat_dir):
            yield
    except OSError as error:
        raise storage_failed(error, _DOING) from error


@contextmanager
def _decided_or_not(chat_dir: Path, run_id: str) -> Generator[None]:
    """What the disk refuses once the promotion is decided is no failure of the promotion."""
    try:
        yield
    except (OSError, StorageFailed) as error:
        if not (chat_dir / STATES / INTENT).exists() and not _manifest_path(chat_dir, run_id).exists():
            raise
        failed = storage_failed(error, _DOING) if isinstance(error, OSError) else error
        raise PromotionUnfinished(failed.message, details=failed.details) from error


def _settle(chat_dir: Path, disk: Disk, *, run_dir: Path | None = None, run_id: str | None = None) -> None:
    """Finish the promotion that a crash interrupted, whosever it was."""
    intent = _read_json(chat_dir / STATES / INTENT, disk)
    if intent is None:
        return
    owner = promotion_of(intent).state_id
    if _read_json(_manifest_path(chat_dir, owner), disk) is not None:
        disk.remove(chat_dir / STATES / INTENT)
        return
    source = run_dir if run_dir is not None and owner == run_id else chat_dir / "runs" / owner
    _carry_out(intent, chat_dir, source, disk)


def _carry_out(manifest: dict[str, Json], chat_dir: Path, run_dir: Path, disk: Disk) -> None:
    base, source = FolderWorkspace(chat_dir, disk), FolderWorkspace(run_dir, disk)
    promotion = promotion_of(manifest)
    for change in promotion.changes:
        if base.sha256(change.path) != change.sha256:
            base.write_bytes(change.path, _promised(source, change), durable=True)
    disk.replace(_manifest_path(chat_dir, promotion.state_id), dumps(manifest, pretty=True), durable=True)
    if promotion.changes:
        disk.remove(chat_dir / STATES / INTENT)


def _promised(source: FolderWorkspace, change: Change) -> bytes:
    try:
        data = source.read_bytes(change.path)
    except FileMissing:
        data = None
    if data is None or sha256_bytes(data) != change.sha256:
        raise InvalidData(
            f"a promotion was interrupted and {change.path} of its run has changed since; "
            f"remove {STATES}/{INTENT} from the chat's folder to give it up"
        )
    return data


def _changes(snapshot: PersistSnapshot, files: list[FileStamp]) -> tuple[Change, ...]:
    before = {stamp.path: stamp.sha256 for stamp in snapshot.files}
    missing = sorted(before.keys() - {stamp.path for stamp in files})
    if missing:
        raise PersistDeleteUnsupported(
            f"persistent files can't be deleted: {', '.join(missing)}", details={"paths": missing}
        )
    return tuple(
        Change(stamp.path, "modified" if stamp.path in before else "added", stamp.sha256, stamp.bytes)
        for stamp in files
        if before.get(stamp.path) != stamp.sha256
    )


def _refuse_conflicts(base: FolderWorkspace, snapshot: PersistSnapshot, changes: tuple[Change, ...]) -> None:
    before = {stamp.path: stamp.sha256 for stamp in snapshot.files}
    lost = [change.path for change in changes if _standing(base, change.path) != before.get(change.path)]
    if lost:
        raise PersistConflict(
            f"changed by another run since this one began: {', '.join(lost)}", details={"paths": lost}
        )


def _standing(base: FolderWorkspace, path: WorkspacePath) -> str | None:
    """The sha of the file there; "blocked" where a folder stands there, or a file in place of a folder above it."""
    parts = path.split("/")
    above = (WorkspacePath("/".join(parts[:count])) for count in range(1, len(parts)))
    if base.kind(path) == "directory" or any(base.kind(folder) == "file" for folder in above):
        return "blocked"
    return base.sha256(path)


def _files(workspace: FolderWorkspace) -> Iterator[tuple[FileStamp, bytes]]:
    """Every file below `persist/`, by path."""
    if workspace.kind(ROOT) is None:
        return
    if workspace.kind(ROOT) == "file":
        raise InvalidData(f"{ROOT} is a file, not a folder")
    for entry in workspace.scan(ROOT, (), _DEEPEST):
        if entry.kind == "file" and not entry.path.endswith("/.DS_Store"):
            data = workspace.read_bytes(entry.path)
            yield FileStamp(entry.path, sha256_bytes(data), len(data)), data


def _manifest_path(chat_dir: Path, state_id: str) -> Path:
    return chat_dir / STATES / state_id / MANIFEST


def _required_snapshot(run_dir: Path, disk: Disk) -> PersistSnapshot:
    stored = _read_json(run_dir / SNAPSHOT, disk)
    if stored is None:
        raise InvalidData(f"the run has no {SNAPSHOT}: what it was lent is not known")
    return persist_snapshot(stored)


def _age(manifest: Path, disk: Disk) -> tuple[datetime, int]:
    try:
        stored = loads(disk.read(manifest))
        created = datetime.fromisoformat(stored["createdAt"])
        if created.tzinfo is None:
            raise ValueError(f"createdAt {stored['createdAt']!r} names no time zone")
        return created, manifest.stat().st_mtime_ns
    except OSError as error:
        raise storage_failed(error, "reading a persistent state") from error
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidData(f"{manifest.parent.name}/{MANIFEST} is damaged: {error}") from error


def _read_json(path: Path, disk: Disk) -> Json:
    """The file's value, None where there is no file."""
    try:
        return loads(disk.read(path))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InvalidData(f"{path.name} is not JSON: {error}") from error
